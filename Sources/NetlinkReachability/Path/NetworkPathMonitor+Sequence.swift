// SPDX-License-Identifier: Apache-2.0

extension NetworkPathMonitor: AsyncSequence {
    /// The paths.
    public typealias Element = NetworkPath
    /// The sequence never fails.
    public typealias Failure = Never

    /// Begins a loop, which gets the current path, then every change.
    ///
    /// Each loop is independent, keeps the monitor, and needs no ``start(queue:)``. The same path never comes twice in
    /// a row, and a loop that is slower than the network gets the newest path. It ends when the monitor or its task is
    /// cancelled, and after one unsatisfied path if the monitor cannot run.
    public func makeAsyncIterator() -> Iterator {
        do {
            return Iterator(monitor: self, base: try beginLoop() ?? ObservationIterator(only: nil))
        } catch {
            return Iterator(monitor: self, base: ObservationIterator(only: .answer(.unknown)))
        }
    }

    /// One loop, which ends when it is released.
    public struct Iterator: AsyncIteratorProtocol {
        let monitor: NetworkPathMonitor
        var base: ObservationIterator<PathVerdict>

        /// Waits for a path that differs from the last one; `nil` after the monitor or the task is cancelled.
        public mutating func next() async -> NetworkPath? {
            await next(isolation: nil)
        }

        /// Waits for a path that differs from the last one; `nil` after the monitor or the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> NetworkPath? {
            let metering = monitor.metering
            return await base.next(isolation: actor) { $0.map { metering.applied(to: $0) } }?.answer?.path
        }
    }
}
