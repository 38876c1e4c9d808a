// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc
internal import NetlinkReachability
internal import NetlinkReachabilityTestKit
internal import RoutingModel
internal import SystemSupport

/// Observed targets of the live kernel with the flags each received, on a clock that only ``settle()`` advances.
struct Monitoring {
    private struct Watched {
        let query: [String]
        let observation: NetworkObservation<ReachabilityFlags>
        let received: Locked<[ReachabilityFlags]>
    }

    /// The seconds after which delayed work is due, also after some lost notifications.
    private static let patience = 3
    /// After a minute the monitor asks everything again, which would hide a missed change.
    private static let lifetime = Duration.seconds(59)

    let feed: GatedFeed
    private let clock = ManualClock()
    private let source: NetworkSource
    private let queue = DispatchQueue(label: "received")
    private var watched: [Watched] = []

    /// Observes the target of each query, as ``Queries`` reads them, with spaces between the words.
    ///
    /// - Parameters:
    ///   - buffer: The receive buffer to ask for, in bytes.
    ///   - queries: What to monitor.
    /// - Throws: When one cannot be monitored.
    init(buffer: UInt32, _ queries: [String]) throws {
        let feed = try GatedFeed(buffer: buffer)
        self.feed = feed
        source = NetworkSource(
            routing: try KernelRouting(),
            resolver: SystemResolver.shared,
            clock: ManualMonitorClock(clock),
            changes: { () throws(ReachabilityError) in feed }
        )
        for query in queries {
            let words = query.split(separator: " ").map(String.init)
            let received = Locked<[ReachabilityFlags]>([])
            let observation = try Queries.handle(words, source: source).observe(on: .queue(queue)) {
                result in
                guard case .success(let flags) = result else { return }
                received.withLock { $0.append(flags) }
            }
            watched.append(Watched(query: words, observation: observation, received: received))
        }
    }

    /// Advances the clock until no work is delayed.
    ///
    /// - Returns: For each query the flags since the last call, then `|` and the flags of a newly opened
    ///   source.
    func settle() throws -> [String] {
        for _ in 0..<Self.patience {
            source.quiesce(queue)
            clock.advance(by: .seconds(1))
        }
        source.quiesce(queue)
        guard clock.now.offset < Self.lifetime else {
            throw Probe.Failure("too many steps: the query after a minute would hide a missed change")
        }
        return try watched.map { one in
            let received = one.received.withLock { received in
                defer { received = [] }
                return received
            }
            let fresh = try Self.ask(one.query)
            return received.map { "\($0.rawValue)" }.joined(separator: ",") + "|\(fresh.rawValue)"
        }
    }

    /// The counters of the monitor.
    func counters() -> [String] {
        let counters = source.monitorCounters
        return [
            "notifications=\(counters.notifications)", "overruns=\(counters.overruns)",
            "spoofed=\(counters.spoofed)", "evaluations=\(counters.evaluations)",
            "deliveries=\(counters.deliveries)",
            "failures=\(counters.failures)", "refusedGroups=\(counters.refusedGroups)",
        ]
    }

    private static func ask(_ query: [String]) throws -> ReachabilityFlags {
        let handle = try Queries.handle(query, source: try .currentNamespace())
        let report = try handle.blockingReport()
        if let contradiction = Witness(report, handle.options).contradiction {
            throw Probe.Failure("\(handle.target): \(contradiction)")
        }
        return report.flags
    }
}
