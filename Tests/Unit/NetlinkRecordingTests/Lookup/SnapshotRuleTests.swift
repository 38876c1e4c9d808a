// SPDX-License-Identifier: Apache-2.0

import Fakes
import RoutingModel
import Testing

@testable import NetlinkRecording

/// What policy rules take, one selector and one action at a time.
///
/// Each was tried on a kernel first.
struct SnapshotRuleTests {
    private static let default4 = "0.0.0.0/0 192.0.2.1 dev 2"
    private static let default6 = "::/0 2001:db8::1 dev 2"

    /// A host with default routes out of `eth0` and one rule of each family before its own.
    private static func host(_ change: (inout Rule) -> Void, _ changes: NetworkChange...) -> NetworkSnapshot {
        var host = makeHost(
            .route("0.0.0.0/0", via: "192.0.2.1", dev: 2), .route("::/0", via: "2001:db8::1", dev: 2),
            .rule(.v4, 100, .prohibit, change: change), .rule(.v6, 100, .prohibit, change: change)
        )
        for change in changes { host.apply(change) }
        return host
    }

    // MARK: Selectors that no plain query meets

    @Test(
        arguments: [
            { $0.tos = 0x10 }, { $0.dscp = Masked(8) }, { $0.tunnelID = 7 }, { $0.sourcePorts = 1...2 },
            { $0.destinationPorts = 53...53 }, { $0.ipProtocol = 6 }, { $0.inputInterface = "eth0" },
            { $0.outputInterface = "eth0" }, { $0.outputInterface = "gone" }, { $0.isL3MDev = true },
            { $0.mark = Masked(1) },
        ] as [@Sendable (inout Rule) -> Void])
    func `a plain query has none of these, and is taken by their opposite`(
        selector: @Sendable (inout Rule) -> Void
    ) {
        let host = Self.host(selector)
        #expect(host.way("10.0.0.1") == Self.default4)
        #expect(host.way("2001:db8:1::1") == Self.default6)
        let inverted = Self.host { rule in
            selector(&rule)
            rule.isInverted = true
        }
        #expect(inverted.way("10.0.0.1") == "errno 13")
        #expect(inverted.way("2001:db8:1::1") == "errno 13")
    }

    /// The table 0 held nothing.
    @Test func `a rule for packets of no VRF leads to the main table`() {
        let host = makeHost(
            .route("10.0.0.0/8", via: "192.0.2.1", dev: 2),
            .route("2001:db8:1::/48", via: "2001:db8::1", dev: 2),
            .rule(.v4, 50, .lookup(table: 0)) { ($0.isL3MDev, $0.isInverted) = (true, true) },
            .rule(.v6, 50, .lookup(table: 0)) { ($0.isL3MDev, $0.isInverted) = (true, true) },
            .rule(.v4, 100, .prohibit), .rule(.v6, 100, .prohibit))
        #expect(host.way("10.0.0.1") == "10.0.0.0/8 192.0.2.1 dev 2")
        #expect(host.way("2001:db8:1::1") == "2001:db8:1::/48 2001:db8::1 dev 2")
        #expect(host.way("198.51.100.1") == "errno 13")
    }

    @Test(
        arguments: [
            { $0.inputInterface = "lo" }, { $0.dscp = Masked(0) }, { $0.mark = Masked(0, mask: 0xff) },
            { _ in },
        ] as [@Sendable (inout Rule) -> Void])
    func `what this host sends comes in from lo, without a mark and for no type of service`(
        selector: @Sendable (inout Rule) -> Void
    ) {
        #expect(Self.host(selector).way("10.0.0.1") == "errno 13")
        #expect(Self.host(selector).way("2001:db8:1::1") == "errno 13")
    }

    @Test func `an outgoing interface is the one that the socket is bound to`() {
        let host = Self.host { $0.outputInterface = "eth0" }
        #expect(host.way("2001:db8:1::1", dev: 2) == "errno 13")
        #expect(host.way("2001:db8:1::1", dev: 3) == "errno 101")
    }

    @Test func `destinations are those of the prefix`() {
        let host = Self.host { rule in
            rule.destination = NetworkChange.parsed(rule.family == .v4 ? "10.0.0.0/8" : "2001:db8:1::/48")
        }
        #expect(host.way("10.0.0.1") == "errno 13")
        #expect(host.way("11.0.0.1") == Self.default4)
        #expect(host.way("2001:db8:1::1") == "errno 13")
        #expect(host.way("2001:db8:2::1") == Self.default6)
    }

    // MARK: Sources

    @Test func `without a source IPv4 compares 0.0.0.0, and IPv6 takes no rule that has one`() {
        let host = Self.host { rule in
            rule.source = NetworkChange.parsed(rule.family == .v4 ? "0.0.0.0/1" : "::/1")
        }
        #expect(host.way("10.0.0.1") == "errno 13")
        #expect(host.way("2001:db8:1::1") == Self.default6)
        #expect(host.way("2001:db8:1::1", from: "2001:db8::2") == "errno 13")
        #expect(host.way("2001:db8:1::1", from: "::") == Self.default6)
    }

    @Test func `a rule that selects the source is undecided without one, in IPv6`() {
        let host = Self.host { rule in
            rule.source = NetworkChange.parsed(rule.family == .v4 ? "192.0.2.2/32" : "2001:db8::/48")
            rule.findsSource = true
        }
        #expect(host.way("10.0.0.1") == Self.default4)
        #expect(host.way("2001:db8:1::1").hasPrefix("undecided: rule 100 selects by the source"))
        #expect(host.way("2001:db8:1::1", from: "2001:db8::2") == "errno 13")
        #expect(host.way("2001:db8:1::1", from: "2001:db9::2") == Self.default6)
    }

    @Test func `a packet to a group gets its source before the rules: the first address of its interface`() {
        func address(_ text: String, dev index: UInt32, _ flags: InterfaceAddressFlags = []) -> NetworkChange
        {
            .address(
                InterfaceAddress(
                    interfaceIndex: index, address: IPAddress(text) ?? .anyV4, prefixLength: 24, flags: flags)
            )
        }
        let rule: (inout Rule) -> Void = { $0.source = NetworkChange.parsed("192.0.2.2/32") }
        let group = NetworkChange.route("224.0.0.0/4", dev: 2)
        let host = Self.host(
            { if $0.family == .v4 { rule(&$0) } else { $0.action = .nop } }, group,
            address("192.0.2.9", dev: 2, .secondary), address("192.0.2.2", dev: 2))
        // A bound query that a rule refuses has no entry.
        #expect(host.way("224.0.1.1", dev: 2) == "errno 113")
        #expect(host.way("224.0.1.1") == "multicast 224.0.0.0/4 link dev 2")
        // An interface without an address takes that of another one.
        let other = Self.host(
            { if $0.family == .v4 { rule(&$0) } else { $0.action = .nop } },
            .route("224.0.0.0/4", dev: 3), address("192.0.2.2", dev: 2))
        #expect(other.way("224.0.1.1", dev: 3) == "errno 113")
    }

    // MARK: Actions

    @Test(arguments: [
        (Rule.Action.blackhole, 22), (.unreachable, 101), (.prohibit, 13), (.other(99), 22),
    ])
    func `an action that refuses has its errno`(action: Rule.Action, number: Int) {
        let host = Self.host { $0.action = action }
        #expect(host.way("10.0.0.1") == "errno \(number)")
        #expect(host.way("2001:db8:1::1") == "errno \(number)")
    }

    @Test(arguments: [Rule.Action.nop, .goto(priority: 7_000), .lookup(table: 999)])
    func `a nop, a dangling goto and a missing table continue with the next rule`(action: Rule.Action) {
        let host = Self.host { $0.action = action }
        #expect(host.way("10.0.0.1") == Self.default4)
        #expect(host.way("2001:db8:1::1") == Self.default6)
    }

    @Test func `goto passes over what lies between`() {
        let host = Self.host(
            { $0.action = .goto(priority: 300) }, .rule(.v4, 200, .blackhole), .rule(.v4, 300, .unreachable))
        #expect(host.way("10.0.0.1") == "errno 101")
    }

    @Test func `a hit whose prefix is short enough is suppressed`() {
        let host = Self.host(
            { ($0.action, $0.suppressedPrefixLength) = (.lookup(table: 254), 8) },
            .route("10.0.0.0/8", dev: 3), .route("10.1.0.0/16", dev: 3), .rule(.v4, 200, .blackhole))
        #expect(host.way("10.0.0.1") == "errno 22")
        #expect(host.way("10.1.0.1") == "10.1.0.0/16 link dev 3")
        #expect(host.way("2001:db8:1::1") == Self.default6)
    }

    @Test
    func `a hit through an interface of the group is suppressed; IPv6 nexthops of two groups are undecided`()
    {
        let nexthops = [Nexthop(interfaceIndex: 2), Nexthop(interfaceIndex: 3)]
        let host = Self.host(
            { ($0.action, $0.suppressedGroup) = (.lookup(table: 254), 7) },
            .link(LinkReport(Link(index: 2, name: "eth0", group: 7))),
            .route("10.0.0.0/8", dev: 3), .route("2001:db8:2::/48", nexthops: nexthops),
            .route("2001:db8:3::/48", dev: 3), .rule(.v4, 200, .blackhole), .rule(.v6, 200, .blackhole))
        #expect(host.way("11.0.0.1") == "errno 22")
        #expect(host.way("10.0.0.1") == "10.0.0.0/8 link dev 3")
        #expect(host.way("2001:db8:1::1") == "errno 22")
        #expect(host.way("2001:db8:3::1") == "2001:db8:3::/48 link dev 3")
        #expect(host.way("2001:db8:2::1").hasPrefix("undecided: rule 100 suppresses one nexthop"))
    }

    @Test func `a rule that names a VRF as its interface is undecided for what is bound to it`() {
        let vrf = Link(index: 4, name: "red", flags: [.up, .running, .master], kind: "vrf", vrfTable: 100)
        let host = Self.host(
            { $0.outputInterface = "red" }, .link(LinkReport(vrf)),
            .rule(.v4, 1_000, .lookup(table: 0)) { $0.isL3MDev = true },
            .route("10.0.0.0/8", dev: 3) { $0.table = 100 })
        #expect(host.way("10.0.0.1", dev: 4).hasPrefix("undecided: kernels differ"))
        #expect(host.way("10.0.0.1") == Self.default4)
    }

    /// The rule had matched on each kernel.
    ///
    /// Until Linux 5.17, `l3mdev_update_flow` replaced the port of a VRF by the VRF.
    @Test(arguments: [((5, 17), "10.0.0.0/8 link dev 3"), ((5, 18), "errno 13"), ((6, 18), "errno 13")])
    func `a rule that names a port of a VRF sees it from Linux 5.18 on`(release: (Int, Int), way: String) {
        let vrf = Link(index: 4, name: "red", flags: [.up, .running, .master], kind: "vrf", vrfTable: 100)
        var port = Link(index: 3, name: "eth1", flags: [.up, .running, .lowerUp])
        (port.master, port.portKind) = (4, "vrf")
        var host = Self.host(
            { $0.outputInterface = "eth1" }, .link(LinkReport(vrf)), .link(LinkReport(port)),
            .rule(.v4, 1_000, .lookup(table: 0)) { $0.isL3MDev = true },
            .route("10.0.0.0/8", dev: 3) { $0.table = 100 })
        host.kernel = KernelRelease(release.0, release.1)
        #expect(host.way("10.0.0.1", dev: 3) == way)
    }
}
