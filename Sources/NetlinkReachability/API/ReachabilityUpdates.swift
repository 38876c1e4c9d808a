// SPDX-License-Identifier: Apache-2.0

extension NetworkReachability {
    /// The flags as a sequence: the current flags, and then every change.
    ///
    /// ```swift
    /// for try await flags in reachability.updates {
    ///     print(flags.letters)
    /// }
    /// ```
    ///
    /// See ``Updates`` for failures and for the end.
    public var updates: Updates<ReachabilityFlags> {
        updates(of: .flags)
    }

    /// Flags or reports as a sequence: the current value, and then every change.
    ///
    /// ```swift
    /// for try await report in reachability.updates(of: .reports()) {
    ///     print(report.flags.letters, report.reason)
    /// }
    /// ```
    ///
    /// - Parameter value: What the elements are, and what counts as a change of them.
    /// - Returns: The sequence.
    public func updates<Value>(of value: MonitoredValue<Value>) -> Updates<Value> {
        Updates(monitor: source.monitor, question: value.question(subject))
    }

    /// The values of a target as a sequence: see ``NetworkReachability/updates``.
    ///
    /// Each iteration is independent, needs no ``start(_:on:initial:_:)``, and keeps what it needs: the handle can be
    /// released. Two equal values never come in a row. An iteration that is slower than the network gets the newest
    /// value and skips those in between.
    ///
    /// It fails if the monitor cannot run, or an evaluation fails. It ends without an error only when its task is
    /// cancelled.
    public struct Updates<Value: Sendable>: AsyncSequence, Sendable {
        /// A value that differs from the one before.
        public typealias Element = Value
        /// Why the target could not be evaluated.
        public typealias Failure = ReachabilityError

        let monitor: SharedMonitor
        let question: any MonitorQuery<Value>
        var skipsFailures = false

        /// The sequence that continues after evaluations that fail.
        ///
        /// The monitor evaluates again after 1 s, and then less and less often. Until that succeeds, no element comes.
        /// The sequence fails only if the monitor cannot run.
        public var skippingFailures: Self {
            var updates = self
            updates.skipsFailures = true
            return updates
        }

        /// Begins an iteration.
        public func makeAsyncIterator() -> Iterator {
            Iterator(base: Result { () throws(ReachabilityError) in try begin(question) })
        }

        private func begin(
            _ question: some MonitorQuery<Value>
        ) throws(ReachabilityError) -> ObservationIterator<Value> {
            try ObservationIterator(question, monitor, skipsFailures: skipsFailures)
        }

        /// One iteration, which ends when it is released.
        public struct Iterator: AsyncIteratorProtocol {
            /// Set to `.failure` if the monitor could not start, and to `nil` after an iteration failed.
            var base: Result<ObservationIterator<Value>, ReachabilityError>?

            /// Waits for a value that differs from the last one.
            ///
            /// - Returns: The value; `nil` after the task is cancelled or the iteration has failed.
            /// - Throws: `ReachabilityError` if the monitor cannot run, or an evaluation fails.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(ReachabilityError) -> Value? {
                guard var iteration = try base.take()?.get() else { return nil }
                let value = try await iteration.next(isolation: actor)?.get()
                base = .success(iteration)
                return value
            }
        }
    }
}
