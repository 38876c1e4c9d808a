// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import Testing

@testable import NetlinkReachability

struct RuleMessageTests {
    private func rule(_ fixture: String, _ priority: UInt32, _ family: IPAddress.Family = .v4) -> Rule? {
        Fixture.named(fixture).rules(family).first { $0.priority == priority }
    }

    private func prefix(_ text: String, _ length: Int) -> IPPrefix? {
        IPAddress(text).flatMap { IPPrefix($0, length: length) }
    }

    @Test func `the default rules are read`() {
        for (priority, table) in [(0, 255), (32_766, 254), (32_767, 253)] as [(UInt32, UInt32)] {
            #expect(
                rule("policy", priority)
                    == Rule(family: .v4, priority: priority, action: .lookup(table: table)))
        }
        #expect(Fixture.named("multipath").rules(.v6).map(\.priority) == [0, 32_766])
    }

    @Test(arguments: Fixture.states)
    func `the rules come in the order in which ip rule prints them`(fixture: Fixture) {
        for family in IPAddress.Family.allCases {
            let priorities = fixture.rules(family).map(\.priority)
            #expect(priorities == priorities.sorted() && priorities.first == 0)
            #expect(fixture.rules(family).allSatisfy { !$0.hasUnknownSelector })
        }
    }

    @Test func `selectors of the policy are read`() {
        #expect(rule("policy", 100)?.source == prefix("10.0.0.0", 8))
        #expect(rule("policy", 100)?.action == .lookup(table: 100))
        #expect(rule("policy", 100, .v6)?.source == prefix("2001:db8::", 32))
        #expect(rule("policy", 101)?.destination == prefix("203.0.113.0", 24))
        #expect(rule("policy", 102)?.inputInterface == "lo")
        #expect(rule("policy", 102)?.outputInterface == "eth0")
        #expect(rule("policy", 103)?.mark == Masked(1, mask: 0xff))
        #expect(rule("policy", 104)?.users == 1_000...1_999)
        #expect(rule("policy", 105)?.ipProtocol == 6)
        #expect(rule("policy", 105)?.destinationPorts == 443...443)
        #expect(rule("policy", 105)?.sourcePorts == nil)
        #expect(rule("policy", 106)?.action == .unreachable)
        #expect(rule("policy", 107)?.action == .blackhole)
        #expect(rule("policy", 108)?.action == .prohibit)
        #expect(rule("policy", 109)?.action == .goto(priority: 32_766))
        #expect(rule("policy", 110)?.isInverted == true)
        #expect(rule("policy", 110)?.mark == Masked(0xca6c, mask: .max))
        #expect(rule("policy", 110)?.action == .lookup(table: 51_820))
        #expect(rule("policy", 111)?.suppressedGroup == 5)
        #expect(rule("policy", 111)?.suppressedPrefixLength == nil)
    }

    @Test(arguments: IPAddress.Family.allCases)
    func `the rules of a full tunnel are parsed for both families`(family: IPAddress.Family) {
        let main = rule("wireguard-full-tunnel", 32_764, family)
        #expect(main?.suppressedPrefixLength == 0)
        #expect(main?.action == .lookup(table: 254))
        #expect(main?.isInverted == false)
        let tunnel = rule("wireguard-full-tunnel", 32_765, family)
        #expect(tunnel?.isInverted == true)
        #expect(tunnel?.mark == Masked(0xca6c, mask: .max))
        #expect(tunnel?.suppressedPrefixLength == nil)
    }

    @Test func `actions of both families are read`() {
        #expect(rule("rule-actions", 50)?.action == .blackhole)
        #expect(rule("rule-actions", 51)?.action == .unreachable)
        #expect(rule("rule-actions", 52)?.action == .prohibit)
        #expect(rule("rule-actions", 50, .v6)?.action == .prohibit)
        #expect(rule("rule-actions", 51, .v6)?.destination == prefix("fd00::", 8))
    }

    @Test func `goto and nop rules are read`() {
        #expect(rule("goto-unresolved", 70)?.action == .goto(priority: 90))
        #expect(rule("goto-unresolved", 72)?.action == .nop)
        #expect(rule("goto-unresolved", 73)?.isInverted == true)
        #expect(rule("goto-unresolved", 73)?.action == .goto(priority: 32_766))
    }

    @Test func `the VRF's rule is read`() {
        let rule = Fixture.named("zoo-up").rules(.v4).first { $0.isL3MDev }
        #expect(rule?.priority == 1_000)
    }

    // MARK: Corners

    private func parsed(_ message: MessageBytes) -> Rule? {
        guard case .change(.rule(let rule)) = message.content else { return nil }
        return rule
    }

    @Test(arguments: [UInt16(13), 14]) func `-1, which newer kernels send, suppresses nothing`(type: UInt16) {
        let rule = parsed(.rule().adding(type, [0xff, 0xff, 0xff, 0xff]))
        #expect(rule != nil && rule?.suppressedGroup == nil && rule?.suppressedPrefixLength == nil)
    }

    @Test(arguments: [UInt16(31), 40, 0x3fff]) func `an unknown selector is reported`(type: UInt16) {
        #expect(parsed(.rule().adding(type, [1]))?.hasUnknownSelector == true)
        #expect(parsed(.rule())?.hasUnknownSelector == false)
    }

    @Test func `a flow label is reported as an unknown selector`() {
        #expect(parsed(.rule().adding(27, [0, 1, 0, 1]))?.hasUnknownSelector == true)
    }

    @Test func `the masks of ports are read`() {
        let rule = parsed(
            .rule().adding(23, [0, 16, 0, 16]).adding(28, [0, 0xff]).adding(29, [0xff, 0xff]))
        #expect(rule?.sourcePorts == 4_096...4_096)
        #expect(rule?.sourcePortMask == 0xff00 && rule?.destinationPortMask == .max)
        #expect(rule?.hasUnknownSelector == false)
        #expect(rule?.words.contains("sport 4096/0xff00") == true)
    }

    @Test func `newer selectors are read`() {
        let rule = parsed(.rule().adding(25, [0x2e]).adding(30, [0x3f]).adding(12, [0, 0, 0, 0, 0, 0, 1, 2]))
        #expect(rule?.dscp == Masked(0x2e, mask: 0x3f))
        #expect(rule?.tunnelID == 0x102)
        #expect(rule?.hasUnknownSelector == false)
    }

    @Test func `ranges are read in any order`() {
        let rule = parsed(.rule().adding(23, [0, 4, 1, 0]).adding(20, [2, 0, 0, 0, 1, 0, 0, 0]))
        #expect(rule?.sourcePorts == 1...1_024)
        #expect(rule?.users == 1...2)
    }

    @Test(arguments: [UInt8(0), 4, 5, 9, 255]) func `unknown actions are kept`(action: UInt8) {
        #expect(parsed(.rule(action: action))?.action == .other(action))
    }

    @Test func `a table above 255 comes from its attribute`() {
        #expect(parsed(.rule())?.action == .lookup(table: 254))
        #expect(parsed(.rule().adding(15, [0x6c, 0xca, 0, 0]))?.action == .lookup(table: 51_820))
    }
}
