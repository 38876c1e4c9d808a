// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import Fakes
import NetlinkRecording
import RoutingModel
import Testing

/// Corners of the lookup that no recording holds.
///
/// Each was tried on a kernel first.
struct SnapshotLookupTests {
    // MARK: IPv4

    @Test func `the longest prefix wins, then the lowest metric, then the order`() {
        let host = makeHost(
            .route("0.0.0.0/0", via: "192.0.2.1", dev: 2),
            .route("10.0.0.0/8", via: "192.0.2.2", dev: 2, metric: 20),
            .route("10.0.0.0/8", via: "192.0.2.3", dev: 2, metric: 10),
            .route("10.0.0.0/8", via: "192.0.2.4", dev: 2, metric: 10),
            .route("10.0.0.0/8", via: "192.0.2.5", dev: 2, metric: 10, .first)
        )
        #expect(host.way("10.1.1.1") == "10.0.0.0/8 192.0.2.5 dev 2")
        #expect(host.way("11.1.1.1") == "0.0.0.0/0 192.0.2.1 dev 2")
    }

    @Test func `dead nexthops and other interfaces fall back to higher metrics and shorter prefixes`() {
        let host = makeHost(
            .route("0.0.0.0/0", via: "192.0.2.1", dev: 2),
            .route("10.0.0.0/8", via: "198.51.100.1", dev: 3, metric: 5),
            .route("10.0.0.0/24", nexthops: [Nexthop(interfaceIndex: 3, flags: [.dead, .linkDown])])
        )
        #expect(host.way("10.0.0.1") == "10.0.0.0/8 198.51.100.1 dev 3")
        #expect(host.way("10.0.0.1", dev: 2) == "0.0.0.0/0 192.0.2.1 dev 2")
        #expect(host.way("10.0.0.1", dev: 1) == "errno 113")
        #expect(host.way("10.0.0.1", dev: 9) == "error 19")
    }

    @Test func `a nexthop object without a fitting nexthop leaves out all that begins at the same address`() {
        let host = makeHost(
            .nexthop(
                NexthopObject(
                    id: 1, kind: .single(Nexthop(interfaceIndex: 2, gateway: IPAddress(192, 0, 2, 1))))
            ),
            .route("10.0.0.0/24", nexthops: []) { $0.nexthopID = 1 },
            .route("10.0.0.0/24", via: "198.18.0.1", dev: 3, metric: 50),
            .route("10.0.0.0/8", via: "198.18.0.1", dev: 3),
            .route("8.0.0.0/5", via: "198.18.0.9", dev: 3)
        )
        #expect(host.way("10.0.0.1", dev: 3) == "8.0.0.0/5 198.18.0.9 dev 3")
        #expect(host.way("10.0.0.1") == "10.0.0.0/24 192.0.2.1 dev 2")
    }

    @Test
    func `local and main are one tree until the first rule, and without rules nothing is decided`() {
        var host = makeHost(
            .route("172.16.0.0/12", dev: 1) { route in
                (route.type, route.table, route.scope) = (.local, Route.localTable, .host)
            },
            .route("172.16.5.0/24", via: "192.0.2.1", dev: 2)
        )
        #expect(host.way("172.16.5.1").hasPrefix("undecided: the tables do not say whether a rule"))
        #expect(host.way("172.16.6.1") == "local 172.16.0.0/12 link dev 1")
        host.apply(.rule(.v4, 100, .lookup(table: 100)))
        #expect(host.way("172.16.5.1") == "local 172.16.0.0/12 link dev 1")
    }

    // MARK: Rules

    @Test func `goto jumps forward to an existing rule, and never loops`() {
        let host = makeHost(
            .route("0.0.0.0/0", via: "192.0.2.1", dev: 2),
            .rule(.v4, 10, .goto(priority: 5)), .rule(.v4, 5, .nop), .rule(.v4, 20, .goto(priority: 40)),
            .rule(.v4, 30, .prohibit), .rule(.v4, 40, .nop)
        )
        #expect(host.way("10.0.0.1") == "0.0.0.0/0 192.0.2.1 dev 2")
    }

    @Test func `marks, users and unknown selectors`() {
        var host = makeHost(
            .route("0.0.0.0/0", via: "192.0.2.1", dev: 2),
            .rule(.v4, 10, .prohibit) { $0.mark = Masked(0x100, mask: 0xf00) },
            .rule(.v4, 20, .blackhole) { $0.users = 1_000...1_999 },
            .rule(.v4, 30, .unreachable) { rule in
                rule.hasUnknownSelector = true
                rule.destination = NetworkChange.parsed("203.0.113.0/24")
            }
        )
        #expect(host.way("10.0.0.1").contains("do not hold the user"))
        #expect(host.way("10.0.0.1") { $0.user = 0 } == "0.0.0.0/0 192.0.2.1 dev 2")
        #expect(host.way("10.0.0.1") { $0.user = 1_500 } == "errno 22")
        #expect(host.way("10.0.0.1") { $0.mark = 0x123 } == "errno 13")
        host.askingUser = 0
        #expect(host.way("10.0.0.1") == "0.0.0.0/0 192.0.2.1 dev 2")
        #expect(host.way("203.0.113.1").contains("selector"))
    }

    @Test func `a VRF looks into its own table, through its ports, and into no other when it has none`() {
        let vrf = Link(
            index: 4, name: "red", flags: [.up, .running, .lowerUp, .master], kind: "vrf", vrfTable: 100)
        let host = makeHost(
            .link(LinkReport(vrf)), .link(LinkReport(Link(index: 3, name: "eth1", master: 4))),
            .route("0.0.0.0/0", via: "192.0.2.1", dev: 2),
            .route("10.0.0.0/8", via: "198.51.100.1", dev: 3) { $0.table = 100 },
            .rule(.v4, 1_000, .lookup(table: 0)) { $0.isL3MDev = true },
            .rule(.v6, 1_000, .lookup(table: 0)) { $0.isL3MDev = true }
        )
        #expect(host.way("10.0.0.1", dev: 4) == "10.0.0.0/8 198.51.100.1 dev 3")
        #expect(host.way("10.0.0.1", dev: 3) == "10.0.0.0/8 198.51.100.1 dev 3")
        #expect(host.way("10.0.0.1") == "0.0.0.0/0 192.0.2.1 dev 2")
        #expect(host.way("11.0.0.1", dev: 3) == "errno 101")
        #expect(host.way("fe80::1", dev: 4) == "errno 101")
    }

    // MARK: IPv6

    @Test
    func `with no usable route of the lowest metric, the best of all others is used`() {
        let host = makeHost(
            .route("2001:db8:f::/48", via: "2001:db8:1::1", dev: 2, metric: 10),
            .route("2001:db8:f::/48", via: "2001:db8:2::1", dev: 3, metric: 20) { $0.preference = .low },
            .route("2001:db8:f::/48", via: "2001:db8:2::9", dev: 3, metric: 30) { $0.preference = .high }
        )
        #expect(host.way("2001:db8:f::1") == "2001:db8:f::/48 2001:db8:1::1 dev 2")
        #expect(host.way("2001:db8:f::1", dev: 3) == "2001:db8:f::/48 2001:db8:2::9 dev 3")
    }

    @Test
    func `a source-specific route hides the plain one of its prefix from others, but not at ::/0`() {
        let source = NetworkChange.parsed("2001:db8:5::/48")
        let host = makeHost(
            .route("2607:f000::/32", via: "2001:db8::1", dev: 2),
            .route("2607:f000::/32", via: "2001:db8::2", dev: 2) { $0.source = source },
            .route("::/0", via: "2001:db8::3", dev: 2),
            .route("::/0", via: "2001:db8::4", dev: 2) { $0.source = source }
        )
        #expect(host.way("2607:f000::1") == "::/0 2001:db8::3 dev 2")
        #expect(host.way("2607:f000::1", from: "2001:db8:5::1") == "2607:f000::/32 2001:db8::2 dev 2")
        #expect(host.way("2001:db8:9::1", from: "2001:db8:5::1") == "::/0 2001:db8::4 dev 2")
    }

    @Test
    func `a bound socket leaves through its interface, and one with a source only prefers it`() {
        let host = makeHost(.route("2001:db8:1::/64", dev: 2, metric: 256))
        #expect(host.way("2001:db8:1::77", dev: 3) == "errno 101")
        #expect(host.way("2001:db8:1::77", dev: 3, from: "2001:db8:1::2") == "2001:db8:1::/64 link dev 2")
    }

    @Test func `a gateway that does not answer is avoided, not by a router, and not without another`() throws
    {
        let failed = Neighbour(interfaceIndex: 2, address: "fe80::1", state: .failed)
        var host = makeHost(
            .route("2001:db8:f::/48", via: "fe80::1", dev: 2), .route("::/0", via: "fe80::2", dev: 3),
            .neighbour(failed)
        )
        #expect(host.way("2001:db8:f::1") == "::/0 fe80::2 dev 3")
        #expect(host.way("2001:db8:f::1", dev: 2) == "2001:db8:f::/48 fe80::1 dev 2")
        host.settings.ipv6Forwards = true
        #expect(host.way("2001:db8:f::1") == "2001:db8:f::/48 fe80::1 dev 2")
        host.settings.ipv6Forwards = nil
        #expect(
            host.way("2001:db8:f::1").hasPrefix(
                "undecided: the tables do not say whether this host forwards"))
    }

    // MARK: What is not known

    @Test func `a snapshot without rules answers nothing; one without IPv6 says that there is none`() {
        #expect(NetworkSnapshot().way("10.0.0.1") == "undecided: no policy rules were recorded")
        var host = NetworkSnapshot()
        host.apply(.rule(.v4, 0, .lookup(table: 255)))
        #expect(host.way("2001:db8::1") == "errno 97")
    }

    @Test func `equal default routes are undecided only where they differ in their way`() throws {
        let stale = Neighbour(interfaceIndex: 2, address: IPAddress(192, 0, 2, 1), state: .stale)
        let routes = NetworkChange.route("0.0.0.0/0", via: "192.0.2.1", dev: 2)
        let other = NetworkChange.route("0.0.0.0/0", via: "198.51.100.1", dev: 3)
        #expect(
            makeHost(routes, other, knowsNeighbours: false).way("10.0.0.1").hasPrefix(
                "undecided: the neighbours"))
        #expect(makeHost(routes, other).way("10.0.0.1") == "0.0.0.0/0 192.0.2.1 dev 2")
        #expect(makeHost(routes, other, .neighbour(stale)).way("10.0.0.1").contains("in turn"))
        let near = NetworkChange.route("0.0.0.0/0", via: "192.0.2.9", dev: 2)
        #expect(makeHost(routes, near, knowsNeighbours: false).way("10.0.0.1") == "0.0.0.0/0 192.0.2.1 dev 2")
    }

    // The lookup that looks at `ignore_routes_with_linkdown` has ended before `fib_select_default`.
    @Test func `an equal default route over a link without a carrier follows one whose gateway fails`() {
        let failed = Neighbour(interfaceIndex: 2, address: IPAddress(192, 0, 2, 1), state: .failed)
        let first = NetworkChange.route("0.0.0.0/0", via: "192.0.2.1", dev: 2)
        let dead = Nexthop(
            interfaceIndex: 3, gateway: IPAddress(198, 51, 100, 1), flags: [.dead, .linkDown])
        let second = NetworkChange.route("0.0.0.0/0", nexthops: [dead])
        #expect(
            makeHost(first, second, .neighbour(failed)).way("10.0.0.1") == "0.0.0.0/0 198.51.100.1 dev 3")
        #expect(makeHost(first, second).way("10.0.0.1") == "0.0.0.0/0 192.0.2.1 dev 2")
        // One that is left out before the first one ends the choice.
        let third = NetworkChange.route("0.0.0.0/0", via: "192.0.2.9", dev: 2)
        #expect(
            makeHost(second, first, third, .neighbour(failed)).way("10.0.0.1")
                == "0.0.0.0/0 192.0.2.1 dev 2")
    }

    @Test func `what decides beside the snapshot is named: a hash, a turn, or what was not recorded`() throws
    {
        func choices(_ changes: NetworkChange..., to text: String = "10.0.0.1") throws -> [String] {
            var host = makeHost()
            for change in changes { host.apply(change) }
            return host.openChoices(for: RouteQuery(destination: try #require(IPAddress(text))))
        }
        func ways(_ flags: NexthopFlags) -> NetworkChange {
            let nexthops = [Nexthop(interfaceIndex: 2), Nexthop(interfaceIndex: 3, flags: flags)]
            return .route("10.0.0.0/8", nexthops: nexthops)
        }
        #expect(try choices(ways([])) == ["the kernel chooses one of 2 nexthops by a hash of the packet"])
        #expect(try choices(ways(.dead)).isEmpty)
        let stale = Neighbour(interfaceIndex: 2, address: IPAddress(192, 0, 2, 1), state: .stale)
        let turns = try choices(
            .route("0.0.0.0/0", via: "192.0.2.1", dev: 2), .route("0.0.0.0/0", via: "192.0.2.9", dev: 2),
            .neighbour(stale))
        #expect(turns.count == 1 && turns[0].contains("in turn"))
        #expect(try choices(.route("0.0.0.0/0", via: "192.0.2.1", dev: 2)).isEmpty)
    }

    @Test func `the short lookup and the full lookup agree`() throws {
        let host = makeHost(
            .route("0.0.0.0/0", via: "192.0.2.1", dev: 2), .route("10.0.0.0/8", dev: 3),
            .route("10.1.0.0/16", nexthops: []) { $0.type = .prohibit },
            .route("10.2.0.0/16", nexthops: [Nexthop(interfaceIndex: 2), Nexthop(interfaceIndex: 3)]),
            .route("192.0.2.2/32", dev: 2) { ($0.type, $0.table, $0.scope) = (.local, 255, .host) }
        )
        for text in [
            "10.9.9.9", "10.1.1.1", "10.2.2.2", "11.1.1.1", "192.0.2.2", "192.0.2.3", "224.0.0.1",
            "255.255.255.255",
        ] {
            let query = RouteQuery(destination: try #require(IPAddress(text)))
            #expect(
                try SnapshotRouting(host).answer(to: query).path == host.answer(to: query).path, "\(text)")
        }
    }
    /// The short lookup took it as an address of this host.
    @Test(arguments: ["10.3.3.3", "2001:db8:a::3"])
    func `packets of this host leave by an anycast route unless the kernel created it`(target: String) throws
    {
        let destination = try #require(IPAddress(target))
        let prefix = destination.family == .v4 ? "10.3.0.0/16" : "2001:db8:a::/48"
        func types(_ origin: UInt8) throws -> [RouteType?] {
            let host = makeHost(
                .route(prefix, dev: 2) { ($0.type, $0.origin) = (.anycast, origin) })
            let query = RouteQuery(destination: destination)
            return try [query, query.forEntry, query.forPacket].map {
                try SnapshotRouting(host).answer(to: $0).type
            }
        }
        #expect(try types(Route.bootOrigin) == [.unicast, .unicast, .unicast])
        #expect(try types(Route.kernelOrigin) == [.anycast, .anycast, .anycast])
    }
}
