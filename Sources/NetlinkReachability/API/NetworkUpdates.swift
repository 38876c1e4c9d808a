// SPDX-License-Identifier: Apache-2.0

/// An observation as a sequence: the current value, and then every change.
///
/// ```swift
/// for try await path in NetworkSource.kernel.updates(of: .path()).skippingFailures {
///     print(path)
/// }
/// ```
///
/// - Beginning: each iteration begins an observation of its own, and any number of them run side by side. It keeps what
///   it needs.
/// - Buffering: an iteration that is slower than the network gets the newest value and skips those in between. Two
///   equal values never come in a row. Of events, up to 256 are kept.
/// - Failures: the sequence fails if the monitor cannot run, or an evaluation fails. ``skippingFailures`` goes on after
///   evaluations that fail.
/// - End: it ends without an error only when its task is cancelled. The observation ends with the iteration.
public struct NetworkUpdates<Element: Sendable>: AsyncSequence, Sendable {
    /// Why a query could not be answered.
    public typealias Failure = ReachabilityError

    let queries: [NetworkQuery<Element>]
    let monitor: SharedMonitor
    private var skipsFailures = false

    init(_ queries: [NetworkQuery<Element>], _ monitor: SharedMonitor) {
        self.queries = queries
        self.monitor = monitor
    }

    /// The sequence that continues after evaluations that fail.
    ///
    /// The monitor evaluates again after 1 s, and then less and less often. Until that succeeds, no element comes. The
    /// sequence fails only if the monitor cannot run.
    public var skippingFailures: Self {
        var updates = self
        updates.skipsFailures = true
        return updates
    }

    /// Begins an iteration.
    public func makeAsyncIterator() -> Iterator {
        Iterator(
            base: Result { () throws(ReachabilityError) in
                try ObservationIteration(queries, monitor, skipsFailures: skipsFailures)
            })
    }

    /// One iteration, which ends when it is released.
    public struct Iterator: AsyncIteratorProtocol {
        /// Set to `.failure` if the monitor could not start, and to `nil` after an iteration failed.
        var base: Result<ObservationIteration<Element>, ReachabilityError>?

        /// The observation of this iteration; `nil` if the monitor could not start, and after a failure.
        package var observation: NetworkObservation<Element>? {
            guard case .success(let iteration) = base else { return nil }
            return iteration.observation
        }

        /// Waits for a value that differs from the last one.
        ///
        /// - Returns: The value; `nil` after the task is cancelled or the iteration has failed.
        /// - Throws: `ReachabilityError` if the monitor cannot run, or an evaluation fails.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(ReachabilityError) -> Element? {
            guard var iteration = try base.take()?.get() else { return nil }
            let value = try await iteration.next(isolation: actor)?.get()
            base = .success(iteration)
            return value
        }
    }
}
