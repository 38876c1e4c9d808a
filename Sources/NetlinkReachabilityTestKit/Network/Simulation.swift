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
                return try feeds.open(refusedGroups: failures.refusesNotifications ? EventGroup.allCases.count : 0)
            }
        )
    }

    /// How many loops have begun and not come for what is new.
    var newLoopCount: Int { work.newLoopCount }

    // MARK: Rest

    /// Waits until nothing is left to do without the clock moving.
    ///
    /// - Returns: When the monitor has something to do; `nil` for never.
    @discardableResult
    func settle(within limit: Duration) async throws(SimulationError) -> ManualClock.Instant? {
        var patience = Patience(limit)
        while true {
            if let begun = work.begunWhenQuiet {
                let due = await source.monitor.settle()
                // Whatever was begun meanwhile may have left the monitor something to do.
                if work.begunWhenQuiet == begun { return due.map(ManualClock.Instant.init) }
            }
            try await patience.wait(
                "a handler or a loop over `updates` has been given new flags and has not come back, or handlers "
                    + "keep starting and stopping: end it, or let it go on, before you wait for rest"
            )
        }
    }

    /// Lets time go by from one thing that is due to the next.
    func advance(by duration: Duration, within limit: Duration) async throws(SimulationError) {
        let target = clock.now.advanced(by: duration)
        var stops = 0
        while let next = try await nextDue(within: limit), next <= target {
            stops = next > clock.now ? 0 : stops + 1
            guard stops < 10_000 else {
                throw SimulationError(.notSettled, "something is due at \(next.offset) again and again")
            }
            clock.advance(to: next)
        }
        clock.advance(to: target)
        try await settle(within: limit)
    }

    /// When the next thing is due.
    func nextDue(within limit: Duration) async throws(SimulationError) -> ManualClock.Instant? {
        let due = try await settle(within: limit)
        return [due, clock.nextDue].compactMap(\.self).min()
    }
}

/// A bound, in real time, on the wait for something that is expected at once.
///
/// A machine on which hundreds of tests run at once can let a task wait for minutes. Nobody is to blame for that
/// time: of each wait only a moment counts.
struct Patience {
    private static let mostPerWait = Duration.milliseconds(10)

    private var left: Duration
    private var last = ContinuousClock.now

    init(_ limit: Duration) {
        left = limit
    }

    /// Lets others run for a moment.
    ///
    /// - Throws: What is the matter when the time is over, or the task is cancelled.
    mutating func wait(_ matter: @autoclosure () -> String) async throws(SimulationError) {
        let now = ContinuousClock.now
        left -= min(now - last, Self.mostPerWait)
        last = now
        guard left > .zero, !Task.isCancelled else {
            throw SimulationError(.notSettled, "the network did not come to rest: \(matter())")
        }
        await Task.yield()
        try? await Task.sleep(for: .microseconds(50))
    }
}
