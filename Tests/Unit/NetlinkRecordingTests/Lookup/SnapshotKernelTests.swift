// SPDX-License-Identifier: Apache-2.0

import Fakes
import NetlinkRecording
import RoutingModel
import Testing

/// Which answers depend on the kernel that the snapshot belongs to.
///
/// Each was seen on that kernel.
struct SnapshotKernelTests {
    private static func host(_ kernel: KernelRelease?, _ changes: NetworkChange...) -> NetworkSnapshot {
        var host = makeHost()
        host.kernel = kernel
        for change in changes { host.apply(change) }
        return host
    }

    // MARK: 0.0.0.0/8

    @Test func `before 5.3 a destination in 0.0.0.0-8 is refused with EINVAL where there is a route`() {
        let route = NetworkChange.route("0.0.0.0/0", via: "192.0.2.1", dev: 2)
        #expect(Self.host(KernelRelease(5, 0), route).way("0.0.0.1") == "errno 22")
        #expect(Self.host(KernelRelease(5, 0), route).way("0.0.0.1", dev: 2) == "errno 22")
        #expect(Self.host(KernelRelease(5, 0), route).way("0.0.0.1", dev: 3) == "errno 22")
        #expect(Self.host(KernelRelease(5, 0), route).way("240.0.0.1") == "0.0.0.0/0 192.0.2.1 dev 2")
        #expect(Self.host(KernelRelease(5, 0)).way("0.0.0.1") == "errno 101")
        #expect(Self.host(KernelRelease(5, 3), route).way("0.0.0.1") == "0.0.0.0/0 192.0.2.1 dev 2")
        #expect(Self.host(nil, route).way("0.0.0.1") == "0.0.0.0/0 192.0.2.1 dev 2")
    }

    @Test func `a summary of 0-0-0-1 is refused like the whole answer`() throws {
        let host = Self.host(KernelRelease(5, 0), .route("0.0.0.0/0", via: "192.0.2.1", dev: 2))
        let query = RouteQuery(destination: IPAddress(0, 0, 0, 1))
        #expect(try SnapshotRouting(host).answer(to: query) == .rejected(.blackhole))
    }

    // MARK: ignore_routes_with_linkdown

    @Test func `before 5.11 the setting for all interfaces alone ignores no IPv4 route without a carrier`() {
        let address = InterfaceAddress(interfaceIndex: 3, address: IPAddress(192, 0, 2, 2), prefixLength: 24)
        func way(_ kernel: KernelRelease, interface: Bool) -> String {
            let down = Link(
                index: 3, name: "eth1", flags: [.up],
                settings: RoutingSettings(ipv4IgnoresLinkdown: interface, ipv6Forwards: false))
            return Self.host(
                kernel, .link(LinkReport(down)), .address(address),
                .settings(.ignoring(.v4, .all, false)),
                .route(
                    "10.0.0.0/8", nexthops: [Nexthop(interfaceIndex: 3, flags: .linkDown)], metric: 5),
                .route("10.0.0.0/8", dev: 2, metric: 50),
                .settings(.ignoring(.v4, .all, true))
            ).way("10.0.0.1")
        }
        #expect(way(KernelRelease(5, 10), interface: false) == "10.0.0.0/8 link dev 3")
        #expect(way(KernelRelease(5, 11), interface: false) == "10.0.0.0/8 link dev 2")
    }

    // MARK: suppress_prefixlength

    /// The rules of wg-quick without the main table's own rule: nothing follows the one that suppresses.
    private static func suppressing(_ kernel: KernelRelease?, lastTable: UInt32? = nil) -> NetworkSnapshot {
        var host = host(
            kernel, .route("::/0", via: "2001:db8::1", dev: 2), .route("0.0.0.0/0", via: "192.0.2.1", dev: 2))
        for family in IPAddress.Family.allCases {
            host.apply(
                .removedRule(
                    Rule(family: family, priority: 32_766, action: .lookup(table: Route.mainTable))))
            host.apply(
                .rule(family, 100, .lookup(table: Route.mainTable)) { $0.suppressedPrefixLength = 0 })
        }
        if let lastTable { host.apply(.rule(.v6, 200, .lookup(table: lastTable))) }
        return host
    }

    @Test func `on 5.10 a suppressed IPv6 route is used when no later rule matches`() {
        let host = Self.suppressing(KernelRelease(5, 10))
        #expect(host.way("2001:db8:1::1") == "::/0 2001:db8::1 dev 2")
        #expect(host.way("10.0.0.1") == "errno 101")
    }

    @Test func `on 5.10 a later rule with a table that exists and has no route hides the suppressed route`() {
        var host = Self.suppressing(KernelRelease(5, 10), lastTable: 7)
        #expect(host.way("2001:db8:1::1") == "::/0 2001:db8::1 dev 2")
        host.apply(.route("2001:db8:f::/48", dev: 2) { $0.table = 7 })
        #expect(host.way("2001:db8:1::1") == "errno 101")
    }

    @Test func `a suppressed route is not used from 6.1 on, and undecided between 5.11 and 6.0`() {
        #expect(Self.suppressing(KernelRelease(6, 1)).way("2001:db8:1::1") == "errno 101")
        #expect(Self.suppressing(nil).way("2001:db8:1::1") == "errno 101")
        #expect(Self.suppressing(KernelRelease(5, 15)).way("2001:db8:1::1").hasPrefix("undecided: kernels"))
    }

    // MARK: VRF

    /// A VRF `red` (4) with the port `eth1` (3), and the rule that looks into its table.
    private static func vrf(_ kernel: KernelRelease?, _ changes: NetworkChange...) -> NetworkSnapshot {
        var host = host(
            kernel, .link(LinkReport(Link(index: 4, name: "red", kind: "vrf", vrfTable: 10))),
            .link(LinkReport(Link(index: 3, name: "eth1", portKind: "vrf", master: 4))),
            .rule(.v4, 1_000, .lookup(table: 0)) { $0.isL3MDev = true },
            .route("192.0.2.2/32", dev: 2) { ($0.type, $0.table, $0.scope) = (.local, 255, .host) },
            .route("192.0.2.255/32", dev: 2) { ($0.type, $0.table, $0.scope) = (.broadcast, 255, .link) },
            .route("192.0.2.0/24", dev: 2)
        )
        for change in changes { host.apply(change) }
        return host
    }

    @Test func `before 5.3 a query bound to a VRF's port finds local addresses outside the VRF`() {
        let old = Self.vrf(KernelRelease(5, 0))
        #expect(old.way("192.0.2.2", dev: 3) == "local 192.0.2.2/32 link dev 2")
        #expect(old.way("192.0.2.255", dev: 3) == "broadcast 192.0.2.255/32 link dev 2")
        #expect(old.way("192.0.2.9", dev: 3) == "errno 101")
        let new = Self.vrf(KernelRelease(5, 3))
        #expect(new.way("192.0.2.2", dev: 3) == "errno 101")
        #expect(new.way("192.0.2.255", dev: 3) == "errno 101")
    }

    @Test func `until 5.17 a rule that names a VRF takes what is bound to its port`() {
        let rule = NetworkChange.rule(.v4, 500, .prohibit) { $0.outputInterface = "red" }
        #expect(Self.vrf(KernelRelease(5, 10), rule).way("198.51.100.1", dev: 3) == "errno 13")
        #expect(
            Self.vrf(nil, rule).way("198.51.100.1", dev: 3) == "errno 101")
    }

    @Test func `a packet whose route leads out of its VRF has a source of the VRF since 6.1`() throws {
        func address(_ index: UInt32, _ text: String, _ length: UInt8) -> NetworkChange {
            .address(
                InterfaceAddress(
                    interfaceIndex: index, address: IPAddress(text) ?? .anyV4, prefixLength: length))
        }
        let others = [
            address(2, "192.0.2.2", 24), address(2, "2001:db8::2", 64),
            .route("198.51.100.0/24", via: "192.0.2.1", dev: 2),
            .route("2001:db8:9::/48", via: "fe80::1", dev: 2),
        ]
        func sources(_ kernel: KernelRelease?, _ changes: [NetworkChange]) throws -> [String] {
            var host = Self.vrf(kernel)
            for change in others + changes { host.apply(change) }
            return try ["198.51.100.7", "2001:db8:9::7"].map {
                var query = RouteQuery(destination: IPAddress($0) ?? .anyV4)
                query.outputInterface = 4
                let answer = try SnapshotRouting(host).answer(to: query.forPacket)
                return answer.match?.source?.description ?? "\(answer)"
            }
        }
        #expect(try sources(KernelRelease(5, 15), []) == ["192.0.2.2", "2001:db8::2"])
        #expect(try sources(KernelRelease(6, 1), []) == ["0.0.0.0", "::"])
        let own = [address(4, "198.18.0.1", 32), address(3, "2001:db8:3::3", 64)]
        #expect(try sources(nil, own) == ["198.18.0.1", "2001:db8:3::3"])
    }

    /// `ip_route_output_key_hash_rcu` takes the VRF of the route's interface in place of the loopback interface.
    @Test(arguments: [(3, 10, 4), (0, 255, 1)] as [(UInt32, UInt32, UInt32)])
    func `a local route of a group leads to the VRF in whose table it is`(
        bound: UInt32, table: UInt32, receiver: UInt32
    ) throws {
        let host = Self.vrf(
            nil, .link(LinkReport(Link(index: 1, name: "lo", flags: [.up, .loopback]))),
            .route("239.1.2.3/32", dev: bound == 0 ? 2 : 3) {
                ($0.type, $0.table, $0.scope) = (.local, table, .host)
            })
        var query = RouteQuery(destination: IPAddress(239, 1, 2, 3))
        query.outputInterface = bound
        let answer = try SnapshotRouting(host).answer(to: query.forPacket)
        #expect(answer.nexthops.map(\.interfaceIndex) == [receiver])
    }
}
