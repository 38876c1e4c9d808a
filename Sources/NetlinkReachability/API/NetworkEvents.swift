// SPDX-License-Identifier: Apache-2.0

extension NetworkSource {
    /// What happens to the machine and its monitor from now on.
    ///
    /// ```swift
    /// for try await event in try NetworkSource.kernel().events {
    ///     if case .slept(let duration) = event, duration > .seconds(60) { pool.closeIdleConnections() }
    /// }
    /// ```
    ///
    /// Unlike paths and flags, events have no current value: the first element comes with the first event. An
    /// iteration that is slower gets the oldest of the last 256 events first.
    public var events: Events {
        Events(monitor: monitor)
    }

    /// The events of a source: see ``NetworkSource/events``.
    ///
    /// Each iteration is independent. It fails if the monitor cannot run, and ends when its task is cancelled.
    public struct Events: AsyncSequence, Sendable {
        /// An event.
        public typealias Element = NetworkEvent
        /// Why the monitor cannot run.
        public typealias Failure = ReachabilityError

        let monitor: SharedMonitor

        /// Begins an iteration: events from now on are its elements.
        public func makeAsyncIterator() -> Iterator {
            Iterator(base: Result { () throws(ReachabilityError) in try EventIterator(monitor) })
        }

        /// One iteration, which ends when it is released.
        public struct Iterator: AsyncIteratorProtocol {
            /// `nil` after a failure.
            var base: Result<EventIterator, ReachabilityError>?

            /// Waits for the next event.
            ///
            /// - Returns: The event; `nil` after the task is cancelled or the iteration has failed.
            /// - Throws: `ReachabilityError` if the monitor cannot run.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(ReachabilityError) -> NetworkEvent? {
                guard var iteration = try base.take()?.get() else { return nil }
                let event = await iteration.next(isolation: actor)
                base = .success(iteration)
                return event
            }
        }
    }
}
