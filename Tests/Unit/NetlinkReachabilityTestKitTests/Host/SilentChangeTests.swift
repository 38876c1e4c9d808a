// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import NetlinkReachability
import NetlinkReachabilityTestKit
import Testing

/// Changes with and without notifications: a started handle receives all of them.
struct SilentChangeTests {
    private let network = SimulatedNetwork(.dualStack)
    private let v4 = IPAddress(203, 0, 113, 80)
    private let v6: IPAddress = "2001:db8:80::80"

    /// Routes to the Internet and to the own subnet, by family.
    private func routes(_ family: IPAddress.Family) -> Set<String> {
        Set(
            network.host.routes.filter {
                $0.destination.family == family && $0.table == SimulatedRoute.mainTable
            }
            .map { "\($0.destination)" }
        )
    }

    /// Changes the host, and returns the flags that handles for an IPv4 and an IPv6 address receive.
    private func received(
        _ change: (inout SimulatedHost) throws -> Void
    ) async throws -> (v4: [String], v6: [String], notified: UInt64) {
        let handles = [v4, v6].map { address in
            NetworkReachability(address: address, source: network.source)
        }
        let logs = try handles.map { try $0.log() }
        try await network.settle()
        for log in logs { _ = log.take() }
        let before = network.source.monitorCounters.notifications
        try network.change(change)
        try await network.advance(by: .seconds(1))
        let announced = network.source.monitorCounters.notifications - before
        return (logs[0].take(), logs[1].take(), announced)
    }

    @Test func `an interface that goes down loses its routes, with notifications only for IPv6`()
        async throws
    {
        let received = try await received { try $0.setDown("eth0") }
        #expect(received.v4 == ["-- -------"])
        #expect(received.v6 == ["-- -------"])
        #expect(routes(.v4) == [])
        #expect(routes(.v6) == [])
        // The interface; two IPv6 addresses; their four routes, the groups' and the default one.
        #expect(received.notified == 1 + 2 + 4 + 1 + 1)
    }

    @Test func `an interface that comes up has its subnets, and no gateway`() async throws {
        try network.change { try $0.setDown("eth0") }
        let received = try await received { try $0.setUp("eth0") }
        #expect(received.v4 == [])
        #expect(routes(.v4) == ["192.0.2.0/24"])
        #expect(routes(.v6) == ["fe80::/64"])
    }

    @Test func `a lost carrier leaves the routes and sends one notification`() async throws {
        let before = (routes(.v4), routes(.v6))
        let received = try await received { try $0.setCarrier("eth0", isPresent: false) }
        #expect(received.v4 == ["-- -------"])
        #expect(received.v6 == ["-- -------"])
        #expect(received.notified == 1)
        #expect((routes(.v4), routes(.v6)) == before)
    }

    @Test func `removing the last IPv4 address removes every IPv4 route of its interface`() async throws {
        try network.change { try $0.addRoute(SimulatedRoute(to: "198.51.100.0/24", through: "eth0")) }
        let received = try await received { try $0.removeAddress("192.0.2.2", from: "eth0") }
        #expect(received.v4 == ["-- -------"])
        #expect(received.v6 == [])
        #expect(routes(.v4) == [])
        // The address; the routes to it, to its subnet and to its broadcast address: not those to a gateway.
        #expect(received.notified == 1 + 3)
    }

    @Test func `a deleted interface loses its routes and addresses`() async throws {
        let received = try await received { try $0.removeInterface("eth0") }
        #expect(received.v4 == ["-- -------"])
        #expect(received.v6 == ["-- -------"])
        #expect(network.host.interfaces.map(\.name) == ["lo"])

    }

    @Test func `a route removed without a notification is detected by the next poll`() async throws {
        let reachability = NetworkReachability(address: v4, source: network.source)
        let log = try reachability.log()
        try await network.settle()
        #expect(log.take() == ["-R -------"])
        try network.changeSilently { try $0.removeRoute(SimulatedRoute(to: .allV4)) }
        try await network.advance(by: .seconds(59))
        #expect(log.take() == [])
        try await network.advance(by: .seconds(1))
        #expect(log.take() == ["-- -------"])
    }

    @Test func `a route ends with its lifetime`() async throws {
        try network.change { host in
            try host.removeRoute(SimulatedRoute(to: .allV6))
            try host.addRoute(.default(via: "fe80::1", through: "eth0", lifetime: .seconds(30)))
        }
        let reachability = NetworkReachability(address: v6, source: network.source)
        let log = try reachability.log()
        try await network.advance(by: .milliseconds(29_990))
        #expect(log.take() == ["-R -------"])
        try await network.advance(by: .milliseconds(60))
        #expect(log.take() == ["-- -------"])
        #expect(!routes(.v6).contains("::/0"))
    }

    @Test func `a VLAN follows its lower interface, and a bridge its ports`() async throws {
        try network.change { host in
            try host.addInterface("eth0.7", .vlan(on: "eth0"))
            try host.addInterface("br0", .bridge)
            try host.addInterface("port0", bridge: "br0")
        }
        func running() -> Set<String> {
            Set(network.host.interfaces.filter(\.isRunning).map(\.name))
        }
        #expect(running() == ["lo", "eth0", "eth0.7", "br0", "port0"])
        try network.change { host in
            try host.setCarrier("eth0", isPresent: false)
            try host.setDown("port0")
        }
        #expect(running() == ["lo"])
        try network.change { try $0.removeInterface("eth0") }
        #expect(!network.host.interfaces.contains { $0.name == "eth0.7" })
    }

    @Test func `a dormant interface needs a connection`() async throws {
        let received = try await received { try $0.setDormant("eth0", isDormant: true) }
        #expect(received.v4 == ["-R c------"])
    }

    @Test func `a link that dials on demand connects on traffic before it has dialled`() throws {
        let network = SimulatedNetwork()
        try network.change { host in
            try host.addInterface("ppp0", .onDemandPPP)
            try host.addRoute(SimulatedRoute(to: .allV4, through: "ppp0"))
        }
        let reachability = NetworkReachability(address: v4, source: network.source)
        #expect(try reachability.blockingFlags().letters == "-R ct-C---")
        #expect(isNetworkReachable(flags: try reachability.blockingFlags()))
        try network.change { host in
            try host.addAddress("198.51.100.2", prefixLength: 32, to: "ppp0", peer: "198.51.100.1")
            try host.addRoute(SimulatedRoute(to: .allV4, through: "ppp0"))
        }
        #expect(try reachability.blockingFlags().letters == "-R -t-----")
    }

    @Test func `a renamed interface keeps its routes`() async throws {
        let received = try await received { try $0.renameInterface("eth0", to: "lan0") }
        #expect(received.v4 == [])
        let reachability = NetworkReachability(address: v4, source: network.source)
        #expect(try await reachability.report().interface?.name == "lan0")
    }
}
