// SPDX-License-Identifier: Apache-2.0

extension SimulatedNetwork {
    /// Waits until everybody has been told of all changes so far.
    ///
    /// When this returns, and nobody else has changed anything meanwhile:
    ///
    /// - the monitor has read every notification and asked everything that is due at this instant of the clock;
    /// - every name that was to be resolved is resolved, but those that hang on purpose;
    /// - every handler of `start(queue:initial:_:)` that was to be called has been called and has returned;
    /// - every loop over `updates` that was waiting and was given new flags has come back for more, or ended.
    ///
    /// It knows nothing of tasks that the code under test has started and that have not begun to listen: wait for
    /// those with ``settle(within:until:)``.
    ///
    /// What the monitor does later, by its own pauses, does not happen before the clock is moved: a second change
    /// within 100 ms of another is told 250 ms later.
    ///
    /// - Parameter limit: A bound in real time, for handlers and loops that never return.
    /// - Throws: ``SimulationError`` with the code ``SimulationError/Code/notSettled`` when that is over.
    public func settle(within limit: Duration = .seconds(60)) async throws(SimulationError) {
        try await simulation.settle(within: limit)
        try checkSteps()
    }

    /// Waits until the network has settled and a condition holds.
    ///
    /// ```swift
    /// try await network.settle { indicator.text == "offline" }
    /// ```
    ///
    /// For code under test that works in tasks of its own. The clock stands meanwhile.
    ///
    /// - Parameters:
    ///   - limit: A bound in real time; it is not waited for longer than needed.
    ///   - condition: What has to hold.
    /// - Throws: ``SimulationError`` with the code ``SimulationError/Code/notSettled`` when the time is over.
    public func settle(
        within limit: Duration = .seconds(60),
        until condition: () async -> Bool
    ) async throws(SimulationError) {
        var patience = Patience(limit)
        try await settle(within: limit)
        while await !condition() {
            try await patience.wait("the condition that the test waits for does not come true")
            try await settle(within: limit)
        }
    }

    /// Lets time go by, from one thing that is due to the next.
    ///
    /// ```swift
    /// try await network.advance(by: .seconds(5))
    /// ```
    ///
    /// The clock stops at every instant at which the monitor, a condition, a recording, a resolver's time-out or
    /// a task that sleeps on the clock has something to do, and goes on once that has settled, as
    /// ``settle(within:)`` has it. So handlers are called in the order and with the values of a real network,
    /// however long the step. It also settles before and after.
    ///
    /// - Parameters:
    ///   - duration: How much time.
    ///   - limit: A bound in real time for each stop.
    /// - Throws: ``SimulationError`` with the code ``SimulationError/Code/notSettled`` when that is over.
    public func advance(
        by duration: Duration,
        within limit: Duration = .seconds(60)
    ) async throws(SimulationError) {
        try await simulation.advance(by: duration, within: limit)
        try checkSteps()
    }

    /// When the next thing is due, once the network has settled; `nil` for never.
    ///
    /// ```swift
    /// print(try await network.nextDue()?.offset)   // 60.0 seconds
    /// ```
    ///
    /// - Parameter limit: A bound in real time on the wait for rest.
    /// - Returns: The instant on ``clock``.
    /// - Throws: ``SimulationError`` with the code ``SimulationError/Code/notSettled`` when the limit is over.
    public func nextDue(
        within limit: Duration = .seconds(60)
    ) async throws(SimulationError) -> ManualClock.Instant? {
        try await simulation.nextDue(within: limit)
    }

    /// How many questions to the resolver hang.
    ///
    /// ```swift
    /// try await network.settle { network.hangingNameCount == 1 }
    /// ```
    public var hangingNameCount: Int { simulation.resolver.hangingCount }
}
