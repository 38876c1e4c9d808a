// SPDX-License-Identifier: Apache-2.0

import Dispatch
import NetlinkReachability
import NetlinkReachabilityTestKit
import SystemSupport
import Testing

/// Path monitors over a simulated network.
struct PathTests {
    /// What is worth a comparison, in words.
    private static func words(_ path: NetworkPath) -> String {
        var words = ["\(path.status)"] + path.availableInterfaces.map { "\($0.name) \($0.type.rawValue)" }
        if path.supportsIPv4 { words.append("IPv4") }
        if path.supportsIPv6 { words.append("IPv6") }
        if path.supportsDNS { words.append("DNS") }
        if path.isExpensive { words.append("expensive") }
        return words.joined(separator: ", ")
    }

    @Test(arguments: [
        (NetworkCondition.offline, "unsatisfied"),
        (.wired, "satisfied, eth0 wiredEthernet, IPv4, DNS"),
        (.wifi, "satisfied, wlan0 wifi, IPv4, DNS"),
        (.cellularOnly, "satisfied, wwan0 cellular, IPv4, DNS, expensive"),
        (.dualStack, "satisfied, eth0 wiredEthernet, IPv4, IPv6, DNS"),
        (.ipv6Only, "satisfied, eth0 wiredEthernet, IPv6, DNS"),
    ])
    func `each condition has its path`(condition: NetworkCondition, expected: String) throws {
        let network = SimulatedNetwork(condition)
        #expect(Self.words(try network.source.blockingValue(of: .path())) == expected)
    }

    @Test func `once settled, the handler of a path has returned and a loop waits again`() async throws {
        let network = SimulatedNetwork(.wired)
        let handled = Locked("")
        let looped = Locked("")
        let observation = try network.source.observe(.path()) { result in
            if case .success(let path) = result { handled.withLock { $0 = Self.words(path) } }
        }
        let loop = Task {
            for try await path in network.source.updates(of: .path()) {
                await Task.yield()
                looped.withLock { $0 = Self.words(path) }
            }
        }
        try await network.settle { looped.withLock { !$0.isEmpty } }
        for (round, condition) in [NetworkCondition.offline, .wifi, .cellularOnly, .dualStack].enumerated() {
            network.apply(condition)
            try await network.advance(by: .milliseconds(250))
            let expected = Self.words(try #require(observation.current))
            #expect(handled.withLock { $0 } == expected, "round \(round)")
            #expect(looped.withLock { $0 } == expected, "round \(round)")
        }
        observation.cancel()
        loop.cancel()
        try await loop.value
    }
}
