// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import Testing

/// The walk over the policy rules that every look-up shares.
struct RuleWalkTests {
    private static func rule(
        _ priority: UInt32, _ action: Rule.Action, change: (inout Rule) -> Void = { _ in }
    ) -> Rule {
        var rule = Rule(family: .v4, priority: priority, action: action)
        change(&rule)
        return rule
    }

    private static let packet = RulePacket(RouteQuery(destination: IPAddress(192, 0, 2, 9)))

    /// The priorities of the rules that a walk visits, until it comes to a table.
    private func visited(
        _ rules: [Rule], _ packet: RulePacket = packet, until table: UInt32? = nil
    ) -> [UInt32] {
        var visited: [UInt32] = []
        rules.walk(for: packet) { rule, step -> Void? in
            visited.append(rule.priority)
            return table.map { step == .table($0) } == true ? () : nil
        }
        return visited
    }

    @Test func `a rule without an action is passed over, and a refusal ends the walk`() {
        let rules = [
            Self.rule(1, .nop), Self.rule(2, .lookup(table: 7)), Self.rule(3, .prohibit),
            Self.rule(4, .lookup(table: 8)),
        ]
        #expect(visited(rules) == [2, 3])
        #expect(visited(rules, until: 7) == [2])
    }

    @Test(arguments: [(20, [10, 20]), (15, [10, 12, 20]), (5, [10, 12, 20])] as [(UInt32, [UInt32])])
    func `goto leads to a later rule of its priority, and is passed over without one`(
        target: UInt32, expected: [UInt32]
    ) {
        let rules = [
            Self.rule(5, .nop), Self.rule(10, .goto(priority: target)), Self.rule(12, .lookup(table: 7)),
            Self.rule(20, .lookup(table: 8)),
        ]
        #expect(visited(rules) == expected)
    }

    @Test func `the walk names a rule of which it is not known whether it selects the packet, and goes on`() {
        let rules = [
            Self.rule(1, .prohibit) { $0.users = 5...5 },
            Self.rule(2, .prohibit) { $0.hasUnknownSelector = true },
            Self.rule(3, .prohibit) { ($0.users, $0.mark) = (5...5, Masked(7)) },
            Self.rule(4, .lookup(table: 7)),
        ]
        #expect(visited(rules, until: 7) == [1, 2, 4])
        var known = Self.packet
        known.user = 5
        #expect(visited(rules, known) == [1])
    }

    @Test func `an inverted rule selects what its selectors do not take, also where a user is not known`() {
        let rules = [
            Self.rule(1, .lookup(table: 7)) { ($0.isInverted, $0.mark) = (true, Masked(7)) },
            Self.rule(2, .lookup(table: 8)) { ($0.isInverted, $0.users, $0.mark) = (true, 5...5, Masked(7)) },
            Self.rule(3, .lookup(table: 9)) {
                $0.isInverted = true
                $0.destination = IPPrefix(IPAddress(192, 0, 2, 0), length: 24)
            },
        ]
        #expect(visited(rules) == [1, 2])
    }

    @Test func `the table 0 is main, and l3mdev selects the packets of a VRF alone`() {
        let rules = [Self.rule(1, .lookup(table: 0)) { $0.isL3MDev = true }, Self.rule(2, .lookup(table: 0))]
        #expect(visited(rules, until: Route.mainTable) == [2])
    }

    @Test func `a hit with a short prefix or through a group is suppressed`() {
        let rule = Self.rule(1, .lookup(table: 7)) {
            ($0.suppressedPrefixLength, $0.suppressedGroup) = (8, 3)
        }
        #expect(rule.suppresses(length: 8, group: nil))
        #expect(rule.suppresses(length: 24, group: 3))
        #expect(!rule.suppresses(length: 24, group: 0))
        #expect(!Self.rule(1, .lookup(table: 7)).suppresses(length: 0, group: 0))
    }
}
