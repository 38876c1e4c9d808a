// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkReachabilityTestKit
import Testing

struct SimulatedNetworkTests {
    private let network = SimulatedNetwork()
    private let remote = IPAddress(198, 51, 100, 7)

    private func wire() throws {
        try network.change { host in
            try host.addInterface("eth0")
            try host.addAddress("192.0.2.2", prefixLength: 24, to: "eth0")
            try host.addRoute(.default(via: "192.0.2.1"))
        }
    }

    @Test func `a new network has only a loopback interface`() throws {
        #expect(network.host.interfaces.map(\.name) == ["lo"])
        let own = NetworkReachability(address: .loopbackV4, source: network.source)
        #expect(try own.blockingFlags().letters == "-R -----ld")
        let ownV6 = NetworkReachability(address: .loopbackV6, source: network.source)
        #expect(try ownV6.blockingFlags().letters == "-R -----ld")
        #expect(try NetworkReachability(target: .defaultPath, source: network.source).blockingFlags() == [])
    }

    @Test func `a handle has received a change once the network has settled`() async throws {
        let reachability = NetworkReachability(address: remote, source: network.source)
        let log = try reachability.log()
        try await network.settle()
        #expect(log.take() == ["-- -------"])
        try wire()
        try await network.settle()
        #expect(log.take() == ["-R -------"])
    }

    @Test func `a second change within a burst is reported after the burst`() async throws {
        try wire()
        let reachability = NetworkReachability(address: remote, source: network.source)
        let log = try reachability.log()
        try await network.settle()
        try network.change { try $0.removeRoute(SimulatedRoute(to: .allV4)) }
        try await network.settle()
        try network.change { try $0.addRoute(.default(via: "192.0.2.1")) }
        try await network.settle()
        #expect(log.take() == ["-R -------", "-- -------"])
        try await network.advance(by: .milliseconds(249))
        #expect(log.take() == [])
        try await network.advance(by: .milliseconds(1))
        #expect(log.take() == ["-R -------"])
    }

    /// Routes for the upper half and for 2000::/3 did not concern the default path, and those of special addresses did.
    @Test func `a handle of the default path receives routes of public addresses, and no others`()
        async throws
    {
        try wire()
        try network.change { host in
            try host.addAddress("2001:db8::2", prefixLength: 64, to: "eth0")
            try host.removeRoute(SimulatedRoute(to: .allV4))
        }
        let reachability = NetworkReachability(target: .defaultPath, source: network.source)
        let log = try reachability.log()
        try await network.settle()
        #expect(log.take() == ["-- -------"])
        let parts = [
            SimulatedRoute(to: "0.0.0.0/8", via: "192.0.2.1"),
            SimulatedRoute(to: "::/96", via: "2001:db8::1"),
        ]
        for route in parts {
            try network.change { try $0.addRoute(route) }
            try await network.advance(by: .seconds(1))
            #expect(log.take() == [], "\(route)")
        }
        let routes = [
            SimulatedRoute(to: "0.0.0.0/1", via: "192.0.2.1"),
            SimulatedRoute(to: "128.0.0.0/1", via: "192.0.2.1"),
            SimulatedRoute(to: "2000::/3", via: "2001:db8::1"),
        ]
        for route in routes {
            try network.change { try $0.addRoute(route) }
            try await network.advance(by: .seconds(1))
            #expect(log.take() == ["-R -------"], "\(route)")
            try network.change { try $0.removeRoute(route) }
            try await network.advance(by: .seconds(1))
            #expect(log.take() == ["-- -------"], "\(route)")
        }
        log.cancel()
    }

    @Test func `a change that throws leaves the network unchanged`() async throws {
        try wire()
        let before = Set(network.host.routes)
        #expect(throws: SimulationError.self) {
            try network.change { host in
                try host.removeRoute(SimulatedRoute(to: .allV4))
                try host.setCarrier("eth7", isPresent: false)
            }
        }
        #expect(Set(network.host.routes) == before)
        #expect(try await NetworkReachability(address: remote, source: network.source).flags() == .reachable)
    }

    @Test func `a loop counts as a listener once it has handled its first flags`() async throws {
        let reachability = NetworkReachability(address: remote, source: network.source)
        var loop = reachability.updates.makeAsyncIterator()
        #expect(network.listenerCount == 0)
        #expect(try await loop.next() == [])
        #expect(network.listenerCount == 0)
        let waiting = Task { [loop] in
            var loop = loop
            return try await loop.next()
        }
        try await network.settle { network.listenerCount == 1 }
        try wire()
        #expect(try await waiting.value == .reachable)
    }

    @Test func `a loop over paths counts as a listener once it has handled its first path`() async throws {
        var loop = network.source.updates(of: .path()).makeAsyncIterator()
        #expect(network.listenerCount == 0)
        #expect(try await loop.next()?.status == .unsatisfied)
        #expect(network.listenerCount == 0)
        let waiting = Task { [loop] in
            var loop = loop
            return try await loop.next()
        }
        try await network.settle { network.listenerCount == 1 }
        try wire()
        #expect(try await waiting.value?.status == .satisfied)
    }

    @Test func `settling does not wait for a loop that cannot start`() async throws {
        network.change { $0.failures.opening = .tooManyDescriptors }
        let reachability = NetworkReachability(address: remote, source: network.source)
        await #expect(throws: ReachabilityError.self) { for try await _ in reachability.updates {} }
        network.change { $0.failures.opening = nil }
        let observation = try reachability.observe { _ in }
        #expect(network.listenerCount == 1)
        observation.cancel()
    }

    @Test func `queries see a change as a whole`() async throws {
        try network.change { host in
            try host.addInterface("eth0")
            try host.addInterface("wwan0", .cellular)
            try host.addAddress("192.0.2.2", prefixLength: 24, to: "eth0")
            try host.addRoute(.default(via: "192.0.2.1"))
        }
        let reachability = NetworkReachability(address: remote, source: network.source)
        let seen = FlagsLog()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for _ in 0..<2_000 { seen.append(try await reachability.flags().letters) }
            }
            for round in 0..<200 {
                try network.change { host in
                    try host.removeRoute(SimulatedRoute(to: .allV4))
                    if round.isMultiple(of: 2) {
                        try host.addRoute(SimulatedRoute(to: .allV4, through: "wwan0"))
                    } else {
                        try host.addRoute(.default(via: "192.0.2.1"))
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(Set(seen.all).isSubset(of: ["-R -------", "WR -t-----"]))
    }
}
