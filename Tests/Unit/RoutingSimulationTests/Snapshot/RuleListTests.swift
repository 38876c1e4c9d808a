// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import TestSupport
import Testing

@testable import RoutingSimulation

/// The rules of a family, held to a plain list that looks at each of them.
struct RuleListTests {
    private static func rule(_ priority: UInt32, _ table: UInt32) -> Rule {
        Rule(family: .v4, priority: priority, action: .lookup(table: table))
    }

    private static func insert(_ rule: Rule, into list: inout [Rule]) {
        guard !list.contains(rule) else { return }
        list.insert(rule, at: list.firstIndex { $0.priority > rule.priority } ?? list.endIndex)
    }

    private static func walked(_ list: RuleList) -> [Rule] {
        var (cursor, rules) = (list.start, [Rule]())
        while let rule = list.next(&cursor) { rules.append(rule) }
        return rules
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
            #expect(list.all == twin && Self.walked(list) == twin && list.count == twin.count)
            #expect(list.chunkCounts.allSatisfy { (1...RuleList.chunkSize).contains($0) })
        }
    }

    @Test func `a jump continues at the first rule of a priority that was not passed yet`() {
        var list = RuleList()
        for number in (0..<2_000 as Range<UInt32>).reversed() {
            list.insert(Self.rule(number / 4 * 2, number))
        }
        let all = list.all
        var cursor = list.start
        for place in all.indices {
            for priority in [0, all[place].priority, all[place].priority + 1, 600, 998, 5_000] as [UInt32] {
                var found = list.first(ofPriority: priority, from: cursor)
                let rule = found.flatMap { _ in list.next(&found!) }
                #expect(rule == all[place...].first { $0.priority == priority })
            }
            _ = list.next(&cursor)
        }
        #expect(list.first(ofPriority: 0, from: cursor) == nil)
    }

    @Test func `chunks are split and not multiplied, for every order of insertion`() {
        var (rising, falling) = (RuleList(), RuleList())
        for number in 0..<10_000 as Range<UInt32> {
            rising.insert(Self.rule(number, 1))
            falling.insert(Self.rule(9_999 - number, 1))
        }
        #expect(rising.all == falling.all)
        for list in [rising, falling] {
            #expect(list.chunkCounts.count <= 10_000 / (RuleList.chunkSize / 2) + 1)
        }
    }
}
