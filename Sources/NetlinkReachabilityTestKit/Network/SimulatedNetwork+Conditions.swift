// SPDX-License-Identifier: Apache-2.0

internal import SystemSupport

extension SimulatedNetwork {
    /// Creates a network in a condition.
    ///
    /// - Parameters:
    ///   - condition: The condition.
    ///   - clock: The clock; networks can share one. ``advance(by:within:)`` does not stop for the other networks.
    public convenience init(_ condition: NetworkCondition, clock: ManualClock = ManualClock()) {
        self.init(clock: clock)
        apply(condition)
    }

    /// Replaces the whole network with a condition, at one instant.
    ///
    /// ```swift
    /// network.apply(.offline)
    /// ```
    ///
    /// Removes every interface except the loopback interface, and sets up the condition. Keeps the answers for names
    /// that the test has set. The steps of a condition run until the next condition is applied.
    ///
    /// - Parameter condition: The condition.
    public func apply(_ condition: NetworkCondition) {
        let application = state.withLock { state in
            state.application += 1
            (state.player, state.recorded) = (nil, nil)
            return state.application
        }
        attempt(condition.name) { host in
            host.clear()
            try condition.setUp(&host)
        }
        schedule(condition, step: 0, of: application, after: clock.now)
    }

    private func schedule(
        _ condition: NetworkCondition,
        step: Int,
        of application: Int,
        after instant: ManualClock.Instant
    ) {
        guard let next = condition.step(step) else { return }
        let due = instant.advanced(by: next.delay)
        clock.schedule(at: due) { [weak self] _ in
            guard let self, self.state.withLock({ $0.application }) == application else { return }
            self.attempt(condition.name, next.change)
            self.schedule(condition, step: step + 1, of: application, after: due)
        }
    }

    /// Applies a step of a condition; the next wait throws the step's error.
    private func attempt(_ name: String, _ body: (inout SimulatedHost) throws -> Void) {
        do {
            try change(body)
        } catch {
            let failure = SimulationError(
                .failedStep,
                "a step of the condition \(name) cannot be applied: \(error)"
            )
            state.withLock { $0.failure = failure }
        }
    }

    /// Throws the error of the last step of a condition or a recording.
    func checkSteps() throws(SimulationError) {
        let failure = state.withLock { state in
            defer { state.failure = nil }
            return state.failure
        }
        if let failure { throw failure }
    }
}
