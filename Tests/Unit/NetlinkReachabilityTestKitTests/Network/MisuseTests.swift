// SPDX-License-Identifier: Apache-2.0

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
            try NetworkCondition("broken") { try $0.addAddress("192.0.2.2", prefixLength: 24, to: "eth0") }
        }
    }
}

private let misuses: [(SimulationError.Code, String, MisuseTests.Change)] = [
    (.unknownInterface, "eth0", { try $0.setCarrier("eth7", isPresent: false) }),
    (.interfaceExists, "another name", { try $0.addInterface("eth0") }),
    (.invalidName, "1 to 15 bytes", { try $0.addInterface("a name with spaces") }),
    (.invalidPrefix, "0 to 32", { try $0.addAddress("192.0.2.9", prefixLength: 33, to: "eth0") }),
    (
        .invalidAddress, "without the zone",
        { try $0.addAddress("fe80::9%eth0", prefixLength: 64, to: "eth0") }
    ),
    (.addressExists, "already", { try $0.addAddress("192.0.2.2", prefixLength: 24, to: "eth0") }),
    (.unknownAddress, "`interfaces`", { try $0.removeAddress("192.0.2.9", from: "eth0") }),
    (
        .unreachableGateway, "address of its subnet",
        { try $0.addRoute(SimulatedRoute(to: "10.0.0.0/8", via: "198.51.100.1")) }
    ),
    (.unreachableGateway, "`through`", { try $0.addRoute(SimulatedRoute(to: "10.0.0.0/8")) }),
    (.routeExists, "another metric", { try $0.addRoute(.default(via: "192.0.2.1", metric: 100)) }),
    (.unknownRoute, "`routes`", { try $0.removeRoute(SimulatedRoute(to: "10.0.0.0/8")) }),
    (
        .interfaceIsDown, "set it up first",
        { host in
            try host.setDown("eth0")
            try host.addRoute(SimulatedRoute(to: "10.0.0.0/8", through: "eth0"))
        }
    ),
    (
        .unknownInterface, "addInterface",
        { try $0.addRoute(SimulatedRoute(to: "10.0.0.0/8", through: "eth7")) }
    ),
    (.refused, "not a gateway", { try $0.addRoute(SimulatedRoute(to: "10.0.0.0/8", via: "192.0.2.255")) }),
    (
        .invalidLifetime, "IPv4",
        { try $0.addRoute(SimulatedRoute(to: "10.0.0.0/8", through: "eth0", lifetime: .seconds(1))) }
    ),
    (
        .ruleExists, "another priority",
        { for _ in 1...2 { try $0.apply("rule add pref 5 table local") } }
    ),
    (.unknownRule, "no such rule", { try $0.apply("rule del pref 9") }),
]
