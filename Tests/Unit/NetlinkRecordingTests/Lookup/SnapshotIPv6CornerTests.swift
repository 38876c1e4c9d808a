// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import Fakes
import NetlinkRecording
import RoutingModel
import Testing

/// What the kernel does to an IPv6 query that surprises.
///
/// Each was tried on a kernel first.
struct SnapshotIPv6CornerTests {
    private static let source = NetworkChange.parsed("2001:db8:5::/48")

    // MARK: No rule was ever added

    @Test func `until a rule is added the main table is asked, also when its own rule is gone`() {
        let routes: [NetworkChange] = [
            .route("::/0", via: "2001:db8::1", dev: 2),
            .route("2001:db8::2/128", dev: 2) { ($0.type, $0.table) = (.local, 255) },
        ]
        var host = makeHost(routes[0], routes[1])
        host.apply(.removedRule(Rule(family: .v6, priority: 32_766, action: .lookup(table: 254))))
        #expect(
            host.way("2001:db8:1::1").hasPrefix("undecided: the tables do not say whether an IPv6 rule")
        )
        #expect(host.way("2001:db8::2") == "local 2001:db8::2/128 link dev 2")
        host.apply(.rule(.v6, 90, .nop))
        #expect(host.way("2001:db8:1::1") == "errno 101")
    }

    /// After `ip -6 rule flush` the kernel asks the local table alone, and it was taken to ask the main one, too.
    @Test func `a rule that was there shows that one was added, also when it is gone`() {
        var host = makeHost(.route("::/0", via: "2001:db8::1", dev: 2), .rule(.v6, 90, .nop))
        for rule in host.rules where rule.family == .v6 && rule.priority != 0 {
            host.apply(.removedRule(rule))
        }
        #expect(host.way("2001:db8:1::1") == "errno 101")
    }

    /// The flags were wrong: a socket that is rejected looks up again from the source that it selects.
    @Test func `a rejection is not like a lost carrier where a source address can have a route`() {
        func host(_ change: NetworkChange...) -> NetworkSnapshot {
            var host = makeHost(
                .route("::/0", dev: 2) { $0.nexthops[0].flags.insert(.linkDown) },
                .removedRule(Rule(family: .v6, priority: 32_766, action: .lookup(table: 254))))
            for change in change { host.apply(change) }
            return host
        }
        #expect(host().way("2001:db8:1::1") == "::/0 link dev 2")
        let local = NetworkChange.route("2001:db8:1::/48", dev: 3) {
            ($0.source, $0.table) = (Self.source, 255)
        }
        #expect(
            host(local).way("2001:db8:1::1").hasPrefix(
                "undecided: the tables do not say whether an IPv6 rule"))
        #expect(host(local).way("2001:db8:1::1", from: "2001:db8:5::1").hasPrefix("2001:db8:1::/48"))
    }

    @Test func `without any rule IPv6 is there as long as it has addresses or routes`() {
        var host = makeHost(.route("::/0", via: "2001:db8::1", dev: 2))
        for rule in host.rules where rule.family == .v6 { host.apply(.removedRule(rule)) }
        #expect(
            host.way("2001:db8:1::1").hasPrefix("undecided: the tables do not say whether an IPv6 rule")
        )
        for route in host.routes { host.apply(.removedRoute(route)) }
        #expect(host.way("2001:db8:1::1") == "errno 97")
    }

    // MARK: Interfaces

    /// A plain query with a source only prefers its interface.
    @Test func `a bound socket with a source takes no route of another interface`() {
        let host = makeHost(
            .route("2001:db8:f::/48", via: "fe80::1", dev: 3), .route("::/0", via: "fe80::2", dev: 2)
        )
        #expect(host.way("2001:db8:f::1", dev: 2, from: "2001:db8::2") == "2001:db8:f::/48 fe80::1 dev 3")
        #expect(
            host.way("2001:db8:f::1", dev: 2, from: "2001:db8::2") { $0.isStrict = true }
                == "::/0 fe80::2 dev 2")
    }

    // MARK: VRF

    @Test func `a link-local address of a VRF's port is looked up in its table regardless of the rules`() {
        let vrf = Link(index: 4, name: "red", flags: [.up, .running, .master], kind: "vrf", vrfTable: 100)
        let host = makeHost(
            .link(LinkReport(vrf)), .link(LinkReport(Link(index: 3, name: "eth1", master: 4))),
            .route("fe80::/64", dev: 3) { $0.table = 100 },
            .route("fe80::/64", dev: 4) { $0.table = 100 }, .rule(.v6, 10, .prohibit)
        )
        #expect(host.way("fe80::9", dev: 3) == "fe80::/64 link dev 3")
        #expect(host.way("fe80::9", dev: 2) == "errno 13")
        // A VRF has no link of its own.
        #expect(host.way("fe80::9", dev: 4) == "errno 101")
    }

    // MARK: Nodes

    @Test func `on the way back a route for certain sources hides nothing`() {
        let host = makeHost(
            .route("2001:db8:f::/48", via: "fe80::1", dev: 3),
            .route("2001:db8::/32", via: "fe80::2", dev: 2),
            .route("2001:db8::/32", via: "fe80::3", dev: 2) { $0.source = Self.source }
        )
        #expect(host.way("2001:db8:f::1") == "2001:db8:f::/48 fe80::1 dev 3")
        #expect(host.way("2001:db8:f::1", dev: 2) == "2001:db8::/32 fe80::2 dev 2")
        #expect(host.way("2001:db8:e::1", dev: 2) == "errno 101")
    }

    @Test func `the longest of the sources that fit comes first`() {
        let host = makeHost(
            .route("2607:f000::/32", via: "fe80::1", dev: 2) {
                $0.source = NetworkChange.parsed("2001:db8::/32")
            },
            .route("2607:f000::/32", via: "fe80::2", dev: 2) { $0.source = Self.source }
        )
        #expect(host.way("2607:f000::1", from: "2001:db8:5::1") == "2607:f000::/32 fe80::2 dev 2")
        #expect(host.way("2607:f000::1", from: "2001:db8:6::1") == "2607:f000::/32 fe80::1 dev 2")
    }

    @Test func `a prefix with routes for certain sources alone is undecided above longer ones`() {
        let host = makeHost(
            .route("::/0", via: "fe80::9", dev: 3),
            .route("2607:f000::/32", via: "fe80::1", dev: 2) { $0.source = Self.source },
            .route("2607:f000:1::/48", via: "fe80::2", dev: 2)
        )
        #expect(host.way("2607:f000:2::1", from: "2001:db8:5::1").hasPrefix("undecided: a prefix has routes"))
        #expect(host.way("2607:f000:2::1") == "::/0 fe80::9 dev 3")
    }

    // MARK: Entries

    @Test func `rejecting routes are found on the loopback interface alone`() {
        let host = makeHost(
            .route("::/0", via: "fe80::9", dev: 3),
            .route("2001:db8:f::/48", nexthops: []) { $0.type = .prohibit }
        )
        #expect(host.way("2001:db8:f::1") == "errno 13")
        #expect(host.way("2001:db8:f::1", dev: 3) == "::/0 fe80::9 dev 3")
        #expect(host.way("2001:db8:f::1", dev: 1) == "errno 13")
    }

    @Test func `a blackhole object drops packets for every interface`() {
        let host = makeHost(
            .nexthop(NexthopObject(id: 5, kind: .blackhole)),
            .route("::/0", via: "fe80::9", dev: 3),
            .route("2001:db8:f::/48", dev: 1) { $0.nexthopID = 5 }
        )
        #expect(host.way("2001:db8:f::1") == "errno 22")
        #expect(host.way("2001:db8:f::1", dev: 3) == "errno 22")
    }

    /// A connection in a recording had the nexthop of its interface alone, which the kernel does not choose by that.
    @Test func `a bound packet takes each nexthop of an object, and one of a multipath route`() throws {
        let exits = [
            Nexthop(interfaceIndex: 2, gateway: "fe80::1"),
            Nexthop(interfaceIndex: 3, gateway: "fe80::9"),
        ]
        let host = makeHost(
            .nexthop(NexthopObject(id: 1, kind: .single(exits[0]))),
            .nexthop(NexthopObject(id: 2, kind: .single(exits[1]))),
            .nexthop(NexthopObject(id: 10, kind: .group([.init(id: 1), .init(id: 2)]))),
            .route("2001:db8:e::/48", nexthops: []) { $0.nexthopID = 10 },
            .route("2001:db8:f::/48", nexthops: exits)
        )
        func interfaces(_ destination: IPAddress) throws -> [UInt32] {
            let query = RouteQuery(destination: destination, outputInterface: 3)
            return try SnapshotRouting(host).answer(to: query.forPacket).nexthops.map(\.interfaceIndex)
        }
        #expect(try interfaces("2001:db8:e::1") == [2, 3])
        #expect(try interfaces("2001:db8:f::1") == [3])
    }

    @Test func `a lifetime that is over ends a route, unless a router may have prolonged it`() {
        for (origin, way) in [
            (UInt8(4), "::/0 fe80::9 dev 3"), (9, "undecided: the lifetime"), (2, "undecided: the lifetime"),
        ] {
            var host = makeHost(
                .route("::/0", via: "fe80::9", dev: 3),
                .route("2001:db8:f::/48", via: "fe80::1", dev: 2) { ($0.origin, $0.expires) = (origin, 500) }
            )
            #expect(host.way("2001:db8:f::1") == "2001:db8:f::/48 fe80::1 dev 2")
            host.clock += 500
            #expect(host.way("2001:db8:f::1").hasPrefix(way))
        }
    }

    @Test func `the router's preference comes before the interface that a socket with a source asks for`() {
        let host = makeHost(
            .route("2001:db8:f::/48", dev: 2, metric: 7) { $0.preference = .high },
            .route("2001:db8:f::/48", dev: 3, metric: 7) { $0.preference = .medium },
            .route("2001:db8:e::/48", dev: 2, metric: 7) { $0.preference = .low },
            .route("2001:db8:e::/48", dev: 3, metric: 7),
            .route("2001:db8:a::/48", dev: 2, metric: 7), .route("2001:db8:a::/48", dev: 3, metric: 7)
        )
        #expect(host.way("2001:db8:f::1") == "2001:db8:f::/48 link dev 2")
        #expect(host.way("2001:db8:e::1") == "2001:db8:e::/48 link dev 3")
        #expect(host.way("2001:db8:e::1", dev: 2) == "2001:db8:e::/48 link dev 2")
        #expect(host.way("2001:db8:e::1", dev: 2, from: "2001:db8:5::1") == "2001:db8:e::/48 link dev 3")
        #expect(host.way("2001:db8:f::1", dev: 3, from: "2001:db8:5::1") == "2001:db8:f::/48 link dev 2")
        #expect(host.way("2001:db8:a::1", dev: 3, from: "2001:db8:5::1") == "2001:db8:a::/48 link dev 3")
    }

    // MARK: Sources

    /// With two link-local addresses the source was not known, and the packet was taken to be answered.
    @Test func `of several addresses that no router forwards packets from, one is the source`() throws {
        let addresses = (1...2).map { low in
            NetworkChange.address(
                InterfaceAddress(
                    interfaceIndex: 2, address: IPAddress(v6High: 0xfe80 << 48, low: low), prefixLength: 64))
        }
        let host = makeHost(addresses[0], addresses[1], .route("::/0", via: "fe80::9", dev: 2))
        func source(_ destination: IPAddress) throws(ReachabilityError) -> IPAddress? {
            let answer = try SnapshotRouting(host).answer(to: RouteQuery(destination: destination).forPacket)
            guard case .taken(let match) = answer else { return nil }
            return match.source
        }
        #expect(try source(IPAddress(v6High: 0x2001_0db8 << 32, low: 1))?.isLinkLocal == true)
    }

    // MARK: Neighbours

    @Test func `without the neighbours a gateway may fail: undecided where another way is open`() {
        let route = NetworkChange.route("2001:db8:f::/48", via: "fe80::1", dev: 2)
        let near = makeHost(route, .route("::/0", via: "fe80::8", dev: 2), knowsNeighbours: false)
        #expect(near.way("2001:db8:f::1") == "2001:db8:f::/48 fe80::1 dev 2")
        var other = makeHost(route, .route("::/0", via: "fe80::9", dev: 3), knowsNeighbours: false)
        #expect(other.way("2001:db8:f::1").hasPrefix("undecided: the neighbours were not recorded"))
        other.settings.ipv6Forwards = true
        #expect(other.way("2001:db8:f::1") == "2001:db8:f::/48 fe80::1 dev 2")
    }

    @Test func `with neither the neighbours nor forwarding known the search for gateways ends`() {
        let route = NetworkChange.route("2001:db8:f::/48", via: "fe80::1", dev: 2)
        var near = makeHost(route, .route("::/0", via: "fe80::8", dev: 2), knowsNeighbours: false)
        near.settings.ipv6Forwards = nil
        #expect(near.way("2001:db8:f::1") == "2001:db8:f::/48 fe80::1 dev 2")
        var other = makeHost(route, .route("::/0", via: "fe80::9", dev: 3), knowsNeighbours: false)
        other.settings.ipv6Forwards = nil
        #expect(other.way("2001:db8:f::1").hasPrefix("undecided: the neighbours were not recorded"))
    }
}
