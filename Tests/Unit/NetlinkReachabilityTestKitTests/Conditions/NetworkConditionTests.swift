// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkReachabilityTestKit
import Testing

/// A condition, and the flags of the default path, of a name, of an IPv4 and of an IPv6 address in it.
private let flagsOfConditions: [(NetworkCondition, [String])] = [
    (.offline, ["-- -------", "-- -------", "-- -------", "-- -------"]),
    (.wired, ["-R -------", "-R -------", "-R -------", "-- -------"]),
    (.wifi, ["-R -------", "-R -------", "-R -------", "-- -------"]),
    (.flappingWiFi, ["-R -------", "-R -------", "-R -------", "-- -------"]),
    (.cellularOnly, ["WR -t-----", "WR -t-----", "WR -t-----", "-- -------"]),
    (.vpnWithoutUnderlay, ["-R -t-----", "-- -------", "-R -t-----", "-- -------"]),
    (.captiveDNS, ["-R -------", "-R ------d", "-R -------", "-- -------"]),
    (.dualStack, ["-R -------", "-R -------", "-R -------", "-R -------"]),
    (.dualStackLosingIPv4, ["-R -------", "-R -------", "-R -------", "-R -------"]),
    (.ipv6Only, ["-R -------", "-R -------", "-- -------", "-R -------"]),
]

struct NetworkConditionTests {
    private func flags(in network: SimulatedNetwork) throws -> [String] {
        let targets: [ReachabilityTarget] = [
            .defaultPath,
            try .host("example.com"),
            .address(IPAddress(203, 0, 113, 80)),
            try .host("2001:db8:80::80"),
        ]
        return try targets.map { target in
            try NetworkReachability(target: target, source: network.source).blockingFlags().letters
        }
    }

    @Test(arguments: flagsOfConditions) func `each condition has its flags`(
        condition: NetworkCondition,
        expected: [String]
    ) throws {
        #expect(try flags(in: SimulatedNetwork(condition)) == expected)
    }

    @Test(arguments: flagsOfConditions) func `each condition can follow each other one`(
        condition: NetworkCondition,
        expected: [String]
    ) async throws {
        for (earlier, _) in flagsOfConditions {
            let network = SimulatedNetwork(earlier)
            try await network.advance(by: .seconds(6))
            network.apply(condition)
            try await network.settle()
            #expect(try flags(in: network) == expected, "after \(earlier)")
        }
    }
}
