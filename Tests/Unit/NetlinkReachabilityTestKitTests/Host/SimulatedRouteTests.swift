// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import NetlinkReachability
import NetlinkReachabilityTestKit
import Testing

struct SimulatedRouteTests {
    private let network = SimulatedNetwork()

    init() throws {
        try network.change { host in
            try host.addInterface("eth0")
            try host.addInterface("eth1")
            try host.addAddress("192.0.2.2", prefixLength: 24, to: "eth0")
            try host.addAddress("198.51.100.2", prefixLength: 24, to: "eth1")
        }
    }

    private func added(_ route: SimulatedRoute) throws -> [SimulatedRoute] {
        let before = Set(network.host.routes)
        try network.change { try $0.addRoute(route) }
        return network.host.routes.filter { !before.contains($0) }
    }

    @Test func `a route is read as it was added, with the kernel's values`() throws {
        let routes = try added(.default(via: "192.0.2.1", metric: 100))
        #expect(routes.map(\.description) == ["default via 192.0.2.1 dev eth0 metric 100"])
    }

    @Test func `a route can have several nexthops`() throws {
        var route = SimulatedRoute(to: .allV4)
        route.nexthops = [.init(via: "192.0.2.1"), .init(via: "198.51.100.1", weight: 3)]
        let text =
            "default nexthop via 192.0.2.1 dev eth0 weight 1 nexthop via 198.51.100.1 dev eth1 weight 3 metric 0"
        #expect(try added(route).map(\.description) == [text])
    }

    @Test func `a route can have a source address`() throws {
        try network.change { try $0.addAddress("192.0.2.3", prefixLength: 24, to: "eth0") }
        var route = SimulatedRoute.default(via: "192.0.2.1")
        route.source = "192.0.2.3"
        #expect(try added(route).map(\.source) == ["192.0.2.3"])
        let reachability = NetworkReachability(address: "203.0.113.7", source: network.source)
        #expect(try reachability.blockingReport().sourceAddress == "192.0.2.3")
    }

    @Test(arguments: [SimulatedRoute.Kind.blackhole, .unreachable, .prohibit, .throw])
    func `a route that sends nothing needs no interface`(kind: SimulatedRoute.Kind) throws {
        #expect(try added(SimulatedRoute(to: "203.0.113.0/24", kind: kind)).map(\.kind) == [kind])
    }

    @Test func `a route to be removed names only what matters`() throws {
        _ = try added(SimulatedRoute(to: "203.0.113.0/24", via: "192.0.2.1", metric: 5))
        try network.change { try $0.removeRoute(SimulatedRoute(to: "203.0.113.0/24")) }
        #expect(!network.host.routes.contains { $0.destination == "203.0.113.0/24" })
    }

    @Test func `a change in the words of ip has its side effects`() throws {
        try network.change { try $0.apply("route add 10.0.0.0/8 via 198.51.100.1") }
        try network.change { try $0.apply("link set eth1 down") }
        #expect(!network.host.routes.contains { $0.destination == "10.0.0.0/8" })
        #expect(network.host.interfaces.filter(\.isUp).map(\.name) == ["lo", "eth0"])
    }

    @Test func `literals are addresses and prefixes`() {
        let address: IPAddress = "2001:db8::7"
        let prefix: IPPrefix = "2001:db8::/32"
        #expect(prefix.contains(address))
        #expect(address == IPAddress(String("2001:db8::7")))
    }

    @Test func `a malformed literal ends the process with a message`() async {
        await #expect(processExitsWith: .failure) { _ = "192.0.2.256" as IPAddress }
        await #expect(processExitsWith: .failure) { _ = "192.0.2.7/24" as IPPrefix }
    }
}
