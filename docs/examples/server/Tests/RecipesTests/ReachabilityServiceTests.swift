// SPDX-License-Identifier: Apache-2.0

import InMemoryLogging
import Logging
import MetricsTestKit
import NetlinkReachability
import NetlinkReachabilityTestKit
import Recipes
import ServiceLifecycle
import Testing

@Suite
struct ReachabilityServiceTests {
    private let network = SimulatedNetwork(.wired)
    private let metrics = TestMetrics()
    private let log = InMemoryLogHandler()

    private func logger() -> Logger {
        let log = log
        return Logger(label: "test") { _ in log }
    }

    private func group(_ services: any Service...) -> ServiceGroup {
        ServiceGroup(services: services, logger: Logger(label: "group") { _ in SwiftLogNoOpLogHandler() })
    }

    @Test("a service logs each change, sets the gauge, and ends with the graceful shutdown")
    func changes() async throws {
        let reachability = try NetworkReachability(host: "198.51.100.1", source: network.source)
        let group = group(ReachabilityService(reachability, logger: logger(), metrics: metrics))
        let running = Task { try await group.run() }
        try await network.settle { log.entries.count == 1 }
        network.apply(.offline)
        try await network.settle { log.entries.count == 2 }
        #expect(log.entries.map(\.level) == [.info, .warning])
        #expect(log.entries.last?.metadata["flags"] == "-- -------")
        let gauge = try metrics.expectGauge("network_reachable", [("target", "198.51.100.1")])
        #expect(gauge.values == [1, 0])
        await group.triggerGracefulShutdown()
        try await running.value
        try await network.settle { network.listenerCount == 0 }
    }

    @Test("the monitor's counters are exported at each interval")
    func counters() async throws {
        let reachability = try NetworkReachability(host: "198.51.100.1", source: network.source)
        let observation = try reachability.observe { _ in }
        try await network.settle()
        let group = group(
            MonitorMetrics(of: network.source, every: .seconds(15), metrics: metrics, clock: network.clock)
        )
        let running = Task { try await group.run() }
        try await network.settle { network.clock.sleeperCount == 1 }
        network.changeLosingNotifications { _ in }
        try await network.advance(by: .seconds(15))
        try await network.settle { network.clock.sleeperCount == 1 }
        let gauge = try metrics.expectGauge("reachability_monitor_overruns")
        #expect(gauge.values == [0, 1])
        await group.triggerGracefulShutdown()
        try await running.value
        observation.cancel()
    }
}
