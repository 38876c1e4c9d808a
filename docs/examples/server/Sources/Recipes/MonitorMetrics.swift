// SPDX-License-Identifier: Apache-2.0

public import Metrics
public import NetlinkReachability
public import ServiceLifecycle

/// A service that exports the counters of the monitor as gauges, at an interval.
///
/// No counter requires a reaction. They show why a monitor is busy or late: lost notifications, a sandbox that refuses
/// notifications, evaluations that fail.
public struct MonitorMetrics: Service {
    private let source: NetworkSource
    private let interval: Duration
    private let clock: any Clock<Duration>
    private let overruns: Gauge
    private let polls: Gauge
    private let failures: Gauge
    private let deliveries: Gauge

    /// Creates a service.
    ///
    /// - Parameters:
    ///   - source: The source, whose handles share one monitor.
    ///   - interval: The time between exports.
    ///   - metrics: The factory of the gauges.
    ///   - clock: The clock of the interval.
    public init(
        of source: NetworkSource,
        every interval: Duration = .seconds(15),
        metrics: any MetricsFactory = MetricsSystem.factory,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.source = source
        self.interval = interval
        self.clock = clock
        overruns = Gauge(label: "reachability_monitor_overruns", factory: metrics)
        polls = Gauge(label: "reachability_monitor_polls", factory: metrics)
        failures = Gauge(label: "reachability_monitor_failures", factory: metrics)
        deliveries = Gauge(label: "reachability_monitor_deliveries", factory: metrics)
    }

    /// Exports the counters until the graceful shutdown.
    public func run() async throws {
        await cancelWhenGracefulShutdown {
            repeat {
                export()
            } while (try? await clock.sleep(for: interval)) != nil
        }
    }

    private func export() {
        let counters = source.monitorCounters
        overruns.record(Int64(clamping: counters.overruns))
        polls.record(Int64(clamping: counters.polls))
        failures.record(Int64(clamping: counters.failures))
        deliveries.record(Int64(clamping: counters.deliveries))
    }
}
