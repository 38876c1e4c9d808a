// SPDX-License-Identifier: Apache-2.0

extension NetworkPathMonitor: AsyncSequence {
    /// The paths.
    public typealias Element = NetworkPath
    /// It never fails.
    public typealias Failure = Never

    /// Starts a loop: it gets the path as it is, then every change.
    ///
    /// Each loop stands for itself, keeps the monitor, and needs no ``start(queue:)``. The same path never comes
    /// twice in a row, and a loop that is slower than the network gets the newest path. It ends when the monitor
    /// or its task is cancelled, and after one unsatisfied path where the monitor cannot run.
    public func makeAsyncIterator() -> Iterator {
        Iterator(self)
    }

    /// One loop.
    ///
    /// Letting go of it ends it.
    public struct Iterator: AsyncIteratorProtocol {
        private let monitor: NetworkPathMonitor
        private var base: AsyncStream<PathReading>.Iterator
        private var told: NetworkPath?
        private let watch: IterationTracker?

        init(_ monitor: NetworkPathMonitor) {
            self.monitor = monitor
            let watch = IterationTracker(monitor.pendingWork)
            self.watch = watch
            let (stream, continuation) = AsyncStream.makeStream(
                of: PathReading.self,
                bufferingPolicy: .bufferingNewest(1)
            )
            base = stream.makeAsyncIterator()
            if let number = monitor.beginLoop(continuation, watch) {
                // Not the monitor: it would keep itself.
                continuation.onTermination = { [weak monitor] _ in
                    monitor?.endLoop(number)
                    watch?.end()
                }
            } else {
                watch?.end()
                continuation.finish()
            }
        }

        /// Waits for a path that differs from the last one; `nil` once the monitor or the task is cancelled.
        public mutating func next() async -> NetworkPath? {
            await next(isolation: nil)
        }

        /// Waits for a path that differs from the last one; `nil` once the monitor or the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> NetworkPath? {
            while true {
                watch?.willWait()
                let reading = await base.next(isolation: actor)
                watch?.didWait()
                guard let reading, !Task.isCancelled else { return nil }
                let path = monitor.metering.applied(to: reading.path)
                // Another reading can come to the same path.
                if path == told { continue }
                told = path
                return path
            }
        }
    }
}
