// SPDX-License-Identifier: Apache-2.0

public import Logging
public import Metrics
public import NetlinkReachability
public import ServiceLifecycle

/// A service that logs each change of a target's flags and exports it as a gauge.
///
/// It runs until the service group shuts down gracefully.
public struct ReachabilityService: Service {
    private let reachability: NetworkReachability
    private let logger: Logger
    private let isReachable: Gauge

    /// Creates a service.
    ///
    /// - Parameters:
    ///   - reachability: The target. The service needs no started handle.
    ///   - logger: The logger of changes.
    ///   - metrics: The factory of the gauge `network_reachable`, which is 1 or 0.
    public init(
        _ reachability: NetworkReachability,
        logger: Logger,
        metrics: any MetricsFactory = MetricsSystem.factory
    ) {
        self.reachability = reachability
        self.logger = logger
        isReachable = Gauge(
            label: "network_reachable",
            dimensions: [("target", "\(reachability.target)")],
            factory: metrics
        )
    }

    /// Follows the target until the graceful shutdown; a failed evaluation is tried again.
    public func run() async throws {
        for try await flags in reachability.updates.cancelOnGracefulShutdown() {
            let isReachable = flags.isNetworkReachable
            self.isReachable.record(isReachable ? 1 : 0)
            logger.log(
                level: isReachable ? .info : .warning,
                "network reachability changed",
                metadata: [
                    "target": "\(reachability.target)",
                    "flags": "\(flags.letters)",
                    "reachable": "\(isReachable)",
                ]
            )
        }
    }
}
