// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import NetlinkRoute
internal import RoutingModel

/// The parts of a simulated network: a clock, a source, its notifications and the count of work in flight.
final class Simulation: Sendable {
    let clock: ManualClock
    let source: NetworkSource
    let resolver: SimulatedResolver
    let feeds = SimulatedFeeds()
    private let work = InFlightCounter()

    init(
        clock: ManualClock,
        tables: @escaping @Sendable () throws(RoutingFault) -> any RoutingSource,
        names: @escaping @Sendable () -> SimulatedNames,
        failures: @escaping @Sendable () -> SimulatedFailures
    ) {
        self.clock = clock
        resolver = SimulatedResolver(clock: clock) { names().answer(to: $0) }
        source = NetworkSource(
            routing: SimulatedRouting { () throws(RoutingFault) in
                try failures().checkQuestions()
                return try tables()
            },
            resolver: resolver,
            clock: ManualMonitorClock(clock),
            work: work,
            nameservers: { names().servers },
            changes: { [feeds] () throws(RoutingFault) in
                let failures = failures()
                try failures.checkOpening()
                return try feeds.open(
                    refusedGroups: failures.refusesNotifications ? EventGroup.allCases.count : 0
                )
            }
        )
    }

    /// The number of loops that have not yet waited for a change.
    var newLoopCount: Int { work.newLoopCount }

    // MARK: Settling

    /// Waits until nothing is left to do at this instant.
    ///
    /// - Returns: The next deadline of the monitor; `nil` for none.
    @discardableResult
    func settle(within limit: Duration) async throws(SimulationError) -> ManualClock.Instant? {
        var patience = Patience(limit)
        while true {
            if let begun = work.begunWhenQuiet {
                let due = await source.monitor.settle()
                // Work that began in between can have caused more work for the monitor.
                if work.begunWhenQuiet == begun { return due.map(ManualClock.Instant.init) }
            }
            try await patience.wait(
                "a handler has not returned, or a loop over `updates` has received flags and neither awaits the next "
                    + "ones nor has ended: let it continue or end before settling, or pass a longer limit"
            )
        }
    }

    /// Advances the time, with a stop at each due instant.
    func advance(by duration: Duration, within limit: Duration) async throws(SimulationError) {
        let target = clock.now.advanced(by: duration)
        var stops = 0
        while let next = try await nextDue(within: limit), next <= target {
            stops = next > clock.now ? 0 : stops + 1
            guard stops < 10_000 else {
                throw SimulationError(.notSettled, "10,000 actions in a row were due at \(next.offset)")
            }
            clock.advance(to: next)
        }
        clock.advance(to: target)
        try await settle(within: limit)
    }

    /// The next instant at which something is due.
    func nextDue(within limit: Duration) async throws(SimulationError) -> ManualClock.Instant? {
        let due = try await settle(within: limit)
        return [due, clock.nextDue].compactMap(\.self).min()
    }
}

/// A bound in real time on a wait.
///
/// A loaded machine can suspend a task for minutes. Of each wait, only a moment counts towards the bound.
struct Patience {
    private static let mostPerWait = Duration.milliseconds(5)

    private var left: Duration
    private var last = ContinuousClock.now

    init(_ limit: Duration) {
        left = limit
    }

    /// Suspends the task for a moment.
    ///
    /// - Throws: An error with the reason when the bound is reached or the task is cancelled.
    mutating func wait(_ matter: @autoclosure () -> String) async throws(SimulationError) {
        let now = ContinuousClock.now
        left -= min(now - last, Self.mostPerWait)
        last = now
        guard left > .zero, !Task.isCancelled else {
            throw SimulationError(.notSettled, "the network did not settle: \(matter())")
        }
        await Task.yield()
        try? await Task.sleep(for: .microseconds(50))
    }
}
