// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import TestSupport
import Testing

@testable import NetlinkRecording

/// The rules of a family, held to a plain list that looks at each of them.
struct RuleListTests {
    private static func rule(_ priority: UInt32, _ table: UInt32) -> Rule {
        Rule(family: .v4, priority: priority, action: .lookup(table: table))
    }

    private static func insert(_ rule: Rule, into list: inout [Rule]) {
        guard !list.contains(rule) else { return }
        list.insert(rule, at: list.firstIndex { $0.priority > rule.priority } ?? list.endIndex)
    }

    @Test(arguments: [1, 3, 1_000] as [UInt32])
    func `whatever comes and goes, the order is that of a plain list`(priorities: UInt32) {
        var random = SeededGenerator(seed: UInt64(priorities))
        var (list, twin) = (RuleList(), [Rule]())
        for step in 0..<4_000 {
            let priority = UInt32.random(in: 0..<priorities, using: &random)
            let rule = Self.rule(priority, .random(in: 0..<2_000, using: &random))
            // Grows for the first part and shrinks for the second.
            if Int.random(in: 0..<10, using: &random) < (step < 2_000 ? 9 : 1) {
                list.insert(rule)
                Self.insert(rule, into: &twin)
            } else {
                let gone = twin.randomElement(using: &random) ?? rule
                list.remove(gone)
                twin.removeAll { $0 == gone }
            }
            guard step % 50 == 0 else { continue }
            #expect(list.all == twin && list.count == twin.count)
            let known = Set(twin.map(\.priority))
            #expect(
                (0..<priorities).allSatisfy { list.contains(priority: $0) == known.contains($0) })
        }
    }

    @Test func `the order of insertion does not matter for rules of different priorities`() {
        var (rising, falling) = (RuleList(), RuleList())
        for number in 0..<10_000 as Range<UInt32> {
            rising.insert(Self.rule(number, 1))
            falling.insert(Self.rule(9_999 - number, 1))
        }
        #expect(rising.all == falling.all)
    }
}
