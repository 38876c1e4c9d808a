// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import Fakes
import NetlinkRecording
import RoutingModel
import Testing

struct NetworkSnapshotTests {
    private func down(_ index: UInt32) -> NetworkChange {
        .link(LinkReport(Link(index: index, name: "eth\(index - 2)", flags: [])))
    }

    private func address(_ text: String, dev index: UInt32) throws -> InterfaceAddress {
        InterfaceAddress(interfaceIndex: index, address: try #require(IPAddress(text)), prefixLength: 24)
    }

    @Test func `routes of both families go with their interface, and IPv4 routes to own addresses stay`() {
        var host = makeHost(
            .route("0.0.0.0/0", via: "192.0.2.1", dev: 2), .route("::/0", via: "2001:db8::1", dev: 2),
            .route("10.0.0.0/8", nexthops: [Nexthop(interfaceIndex: 2), Nexthop(interfaceIndex: 3)]),
            .route("192.0.2.2/32", dev: 2) { ($0.type, $0.table, $0.scope) = (.local, 255, .host) }
        )
        host.apply(down(2))
        #expect(host.way("203.0.113.1") == "errno 101")
        #expect(host.way("2001:db8:1::1") == "errno 101")
        #expect(host.way("192.0.2.2") == "local 192.0.2.2/32 link dev 2")
        #expect(host.way("10.0.0.1") == "10.0.0.0/8 link dev 2, link dev 3")
        host.apply(.removedLink(index: 2))
        #expect(host.routeCount == 0)
    }

    @Test func `IPv4 routes go with the last address and with their source`() throws {
        let (first, second) = (try address("192.0.2.2", dev: 2), try address("192.0.2.3", dev: 2))
        var host = makeHost(
            .address(first), .address(second), .route("0.0.0.0/0", via: "192.0.2.1", dev: 2),
            .route("10.0.0.0/8", dev: 2) { $0.preferredSource = first.address }
        )
        host.apply(.removedAddress(first))
        #expect(host.way("10.0.0.1") == "0.0.0.0/0 192.0.2.1 dev 2")
        host.apply(.removedAddress(second))
        #expect(host.routeCount == 0)
    }

    @Test func `a removal takes the IPv4 route with its source, and else one of the same nexthop`() throws {
        let sources = (1...3).map { IPAddress(192, 0, 2, $0) }
        func change(_ source: IPAddress?) -> NetworkChange {
            .route("10.0.0.0/8", dev: 2) { $0.preferredSource = source }
        }
        var host = makeHost()
        for source in sources { host.apply(change(source)) }
        let prefix: IPPrefix = "10.0.0.0/8"
        func left() -> [IPAddress?] {
            host.routes(to: prefix, table: Route.mainTable).map(\.preferredSource)
        }
        func remove(_ source: IPAddress?) throws {
            guard case .route(let route, _) = change(source) else { throw CancellationError() }
            host.apply(.removedRoute(route))
        }
        #expect(left() == sources)
        try remove(sources[1])
        #expect(left() == [sources[0], sources[2]])
        try remove(nil)
        #expect(left() == [sources[2]])
    }

    @Test func `a nexthop object takes its routes and its place in groups with it`() {
        let nexthops = [Nexthop(interfaceIndex: 2), Nexthop(interfaceIndex: 3)]
        var host = makeHost(
            .nexthop(NexthopObject(id: 1, kind: .single(nexthops[0]))),
            .nexthop(NexthopObject(id: 2, kind: .single(nexthops[1]))),
            .nexthop(NexthopObject(id: 10, kind: .group([.init(id: 1), .init(id: 2)]))),
            .route("10.0.0.0/8", nexthops: nexthops) { $0.nexthopID = 10 },
            .route("11.0.0.0/8", nexthops: [nexthops[0]]) { $0.nexthopID = 1 }
        )
        host.apply(.removedNexthop(id: 1))
        #expect(host.way("10.0.0.1") == "10.0.0.0/8 link dev 3")
        #expect(host.way("11.0.0.1") == "errno 101")
        host.apply(.removedNexthop(id: 2))
        #expect(host.routeCount == 0 && host.nexthopObjects.isEmpty)
    }

    @Test
    func `a replacing route replaces the first of its metric, and in IPv6 a whole group`() {
        var host = makeHost(
            .route("10.0.0.0/8", via: "192.0.2.1", dev: 2), .route("10.0.0.0/8", via: "192.0.2.2", dev: 2),
            .route(
                "2001:db8::/32",
                nexthops: [
                    Nexthop(interfaceIndex: 2, gateway: IPAddress("fe80::1")),
                    Nexthop(interfaceIndex: 3, gateway: IPAddress("fe80::2")),
                ])
        )
        host.apply(.route("10.0.0.0/8", via: "192.0.2.9", dev: 2, .replacing))
        #expect(host.way("10.0.0.1") == "10.0.0.0/8 192.0.2.9 dev 2")
        #expect(host.routeCount == 3)
        host.apply(
            .removedRoute(
                Route(
                    destination: NetworkChange.parsed("2001:db8::/32"),
                    nexthops: [
                        Nexthop(interfaceIndex: 2, gateway: IPAddress("fe80::1"))
                    ])))
        #expect(host.way("2001:db8::1") == "2001:db8::/32 fe80::2 dev 3")
    }

    @Test func `a partial message about an interface adds to a known link, and creates none`() {
        var host = makeHost()
        let scan = Link(index: 2, name: "eth0", flags: [.up, .running, .lowerUp], carrier: nil)
        host.apply(.link(LinkReport(scan, isWhole: false)))
        #expect(host.links[2]?.carrier == true)
        host.apply(.link(LinkReport(Link(index: 9, name: "new"), isWhole: false)))
        #expect(host.links[9] == nil)
    }

    @Test func `a lifetime that had ended in the dump is over; one that ended later may have been prolonged`()
    {
        var host = makeHost(
            .route("2001:db8:1::/48", via: "fe80::1", dev: 2) { ($0.expires, $0.origin) = (-5, 9) },
            .route("2001:db8:2::/48", via: "fe80::1", dev: 2) { ($0.expires, $0.origin) = (500, 9) },
            .route("2001:db8:3::/48", via: "fe80::1", dev: 2) { $0.expires = 500 }
        )
        #expect(host.way("2001:db8:1::1") == "errno 101")
        #expect(host.way("2001:db8:2::1") == "2001:db8:2::/48 fe80::1 dev 2")
        host.clock = 600
        #expect(host.way("2001:db8:2::1").hasPrefix("undecided: the lifetime"))
        #expect(host.way("2001:db8:3::1") == "errno 101")
    }

    @Test func `a lost carrier shows in the nexthops, and is undecided only where another way is open`() {
        var host = makeHost(
            .route("0.0.0.0/0", via: "192.0.2.1", dev: 2),
            .route("0.0.0.0/0", via: "198.51.100.1", dev: 3, metric: 9),
            .route("::/0", via: "2001:db8::1", dev: 2)
        )
        host.apply(.link(LinkReport(Link(index: 2, name: "eth0", flags: [.up], carrier: false))))
        #expect(host.way("10.0.0.1").contains("ignore_routes_with_linkdown"))
        #expect(host.way("2001:db8:1::1") == "::/0 2001:db8::1 dev 2")
        host.settings.ipv4IgnoresLinkdown = false
        #expect(host.way("10.0.0.1") == "0.0.0.0/0 192.0.2.1 dev 2")
        host.apply(.link(LinkReport(Link(index: 2, name: "eth0"))))
        #expect(host.routes.allSatisfy { $0.nexthops.allSatisfy { $0.flags.isEmpty } })
    }
}
