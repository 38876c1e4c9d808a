// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkReachabilityTestKit
import Testing

/// Every mistake in a script has a code of its own, and words that name what to do.
struct MisuseTests {
    typealias Change = @Sendable (inout SimulatedHost) throws -> Void

    @Test(arguments: misuses) func `an error says what to do instead`(
        code: SimulationError.Code,
        words: String,
        change: Change
    ) throws {
        let network = SimulatedNetwork(.wired)
        let error = #expect(throws: SimulationError.self) { try network.change(change) }
        #expect(error?.code == code)
        #expect(error.map { "\($0)".contains(words) } == true, "\(error?.message ?? "")")
    }

    @Test func `the next wait throws the error of a step`() async throws {
        let network = SimulatedNetwork(.flappingWiFi)
        try network.change { try $0.removeInterface("wlan0") }
        let error = await #expect(throws: SimulationError.self) { try await network.advance(by: .seconds(5)) }
        #expect(error?.code == .failedStep)
    }

    @Test func `a contradictory condition cannot be created`() {
        #expect(throws: SimulationError.self) {
            try NetworkCondition("broken") { try $0.addAddress("192.0.2.2/24", to: "eth0") }
        }
    }
}

private let misuses: [(SimulationError.Code, String, MisuseTests.Change)] = [
    (.unknownInterface, "eth0", { try $0.setCarrier("eth7", isPresent: false) }),
    (.interfaceExists, "another name", { try $0.addInterface("eth0") }),
    (.invalidName, "1 to 15 bytes", { try $0.addInterface("a name with spaces") }),
    (.invalidPrefix, "192.0.2.2/24", { try $0.addAddress("192.0.2.9", to: "eth0") }),
    (.invalidAddress, "192.0.2.2", { try $0.removeAddress("example", from: "eth0") }),
    (.addressExists, "already", { try $0.addAddress("192.0.2.2/24", to: "eth0") }),
    (.unknownAddress, "192.0.2.2/24", { try $0.removeAddress("192.0.2.9", from: "eth0") }),
    (.invalidPrefix, "198.51.100.0/24", { try $0.addRoute("198.51.100.7/24", through: "eth0") }),
    (.unreachableGateway, "address of its subnet", { try $0.addRoute("10.0.0.0/8", via: "198.51.100.1") }),
    (.unreachableGateway, "`through`", { try $0.addRoute("10.0.0.0/8") }),
    (.routeExists, "another metric", { try $0.addRoute("default", via: "192.0.2.1", metric: 100) }),
    (.unknownRoute, "`routes`", { try $0.removeRoute("10.0.0.0/8") }),
    (
        .interfaceIsDown, "set it up first",
        { host in
            try host.setDown("eth0")
            try host.addRoute("10.0.0.0/8", through: "eth0")
        }
    ),
    (
        .unknownInterface, "link(named:)",
        { try $0.addRoute(Route(destination: .allV4, nexthops: [Nexthop(interfaceIndex: 99)])) }
    ),
    (.invalidLifetime, "IPv4", { try $0.addRoute("10.0.0.0/8", through: "eth0", lifetime: .seconds(1)) }),
    (.ruleExists, "another priority", { try $0.addRule($0.rules[0]) }),
    (.unknownRule, "`rules`", { try $0.removeRule(Rule(family: .v4, priority: 9, action: .prohibit)) }),
    (.invalidAddress, "192.0.2.2", { try $0.resolve("example.com", to: "localhost") }),
]
