// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability

extension SimulatedNetwork {
    /// Waits until everything that is due at this instant has been delivered.
    ///
    /// When this returns, and unless other code changes the network concurrently:
    ///
    /// - the monitor has read every notification and evaluated everything that is due at this instant of the clock;
    /// - every pending name is resolved, except those that ``SimulatedNames/Answer/hanging`` holds back;
    /// - every due handler of an observation has returned;
    /// - every loop over `updates` that was waiting and received new flags waits for the next ones or has ended.
    ///
    /// For tasks that have not begun to listen, wait with ``settle(within:until:)``.
    ///
    /// The clock does not move. Work that the monitor delays is done when the clock moves: of two changes within
    /// 100 ms, the second is delivered 250 ms later, by `advance(by: .milliseconds(250))`.
    ///
    /// - Parameter limit: A bound in real time, for handlers and loops that do not return.
    /// - Throws: ``SimulationError`` with the code ``SimulationError/Code/notSettled`` after the limit.
    public func settle(within limit: Duration = .seconds(5)) async throws(SimulationError) {
        try await awaitQuiet(within: limit)
        try checkSteps()
    }

    /// Waits until the network has settled and a condition holds.
    ///
    /// ```swift
    /// try await network.settle { indicator.light == .red }
    /// ```
    ///
    /// Use this function for code under test that runs in its own tasks. The clock does not move.
    ///
    /// - Parameters:
    ///   - limit: A bound in real time.
    ///   - condition: The condition.
    /// - Throws: ``SimulationError`` with the code ``SimulationError/Code/notSettled`` after the limit.
    public func settle(
        within limit: Duration = .seconds(5),
        until condition: () async -> Bool
    ) async throws(SimulationError) {
        var patience = Patience(limit)
        try await settle(within: limit)
        while await !condition() {
            try await patience.wait("the condition of settle(until:) is still false")
            try await settle(within: limit)
        }
    }

    /// Advances the time, with a stop at each instant at which something is due.
    ///
    /// ```swift
    /// try await network.advance(by: .seconds(5))
    /// ```
    ///
    /// The clock stops at every instant at which the monitor, a condition, a recording, a resolver's time-out or a
    /// sleeping task is due, and continues when the network has settled. Handlers are therefore called in the order and
    /// with the values of a real network, for steps of any length. The network also settles before and after.
    ///
    /// The function does not wait for tasks that wake: call ``settle(within:until:)`` until they sleep again or end.
    ///
    /// - Parameters:
    ///   - duration: The distance.
    ///   - limit: A bound in real time for each stop.
    /// - Throws: ``SimulationError`` with the code ``SimulationError/Code/notSettled`` after the limit.
    public func advance(
        by duration: Duration,
        within limit: Duration = .seconds(5)
    ) async throws(SimulationError) {
        let target = clock.now.advanced(by: duration)
        var stops = 0
        while let next = try await nextDue(within: limit), next <= target {
            stops = next > clock.now ? 0 : stops + 1
            try require(
                stops < 10_000, .notSettled, "10,000 actions were due at the same instant, \(next.offset)")
            clock.advance(to: next)
        }
        clock.advance(to: target)
        try await settle(within: limit)
    }

    /// Waits until the network has settled, and returns the next instant at which something is due; `nil` for none.
    ///
    /// ```swift
    /// print(try await network.nextDue()?.offset ?? .zero)   // 60.0 seconds
    /// ```
    ///
    /// - Parameter limit: A bound in real time.
    /// - Returns: The instant on ``clock``.
    /// - Throws: ``SimulationError`` with the code ``SimulationError/Code/notSettled`` after the limit.
    public func nextDue(
        within limit: Duration = .seconds(5)
    ) async throws(SimulationError) -> ManualClock.Instant? {
        let due = try await awaitQuiet(within: limit)
        return [due, clock.nextDue].compactMap(\.self).min()
    }

    /// The number of resolutions that hang.
    ///
    /// ```swift
    /// try await network.settle { network.hangingNameCount == 1 }
    /// ```
    public var hangingNameCount: Int { resolver.hangingCount }

    /// Waits until nothing is left to do at this instant.
    ///
    /// - Returns: The next deadline of the monitor; `nil` for none.
    @discardableResult
    private func awaitQuiet(within limit: Duration) async throws(SimulationError) -> ManualClock.Instant? {
        var patience = Patience(limit)
        while true {
            if let begun = work.begunWhenQuiet {
                let due = await source.monitor.settle()
                // Work that began meanwhile can have caused more work for the monitor.
                if work.begunWhenQuiet == begun {
                    return due.map { ManualClock.Instant(offset: .nanoseconds($0.nanoseconds)) }
                }
            }
            try await patience.wait(
                "a handler has not returned, or a loop over `updates` has received flags and neither awaits the next "
                    + "ones nor has ended: let it continue or end before settling, or pass a longer limit"
            )
        }
    }
}

/// A bound in real time on a wait.
///
/// A loaded machine can suspend a task for minutes. Therefore at most 5 ms of each wait count.
private struct Patience {
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
        try require(left > .zero && !Task.isCancelled, .notSettled, "the network did not settle: \(matter())")
        await Task.yield()
        try? await Task.sleep(for: .microseconds(50))
    }
}
