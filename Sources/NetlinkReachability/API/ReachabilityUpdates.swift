// SPDX-License-Identifier: Apache-2.0

extension NetworkReachability {
    /// The flags as a sequence: those that are true now, and then every change.
    ///
    /// ```swift
    /// for await flags in reachability.updates {
    ///     print(flags.letters)
    /// }
    /// ```
    ///
    /// Each iteration stands for itself, needs no ``start(queue:initial:_:)``, and keeps what it needs: the
    /// handle may be released. The same flags never come twice in a row. A loop that is slower than the network
    /// gets the newest flags and not all that were true meanwhile.
    ///
    /// A sequence ends at once when its task is cancelled, and not otherwise, unless the monitor could not be
    /// started: then it ends without an element, and ``start(queue:initial:_:)`` would tell why.
    public var updates: Updates {
        Updates(source: source, subject: subject)
    }

    /// The flags as a sequence: see ``NetworkReachability/updates``.
    public struct Updates: AsyncSequence, Sendable {
        /// The flags.
        public typealias Element = ReachabilityFlags
        /// It never fails.
        public typealias Failure = Never

        let source: NetworkSource
        let subject: MonitorSubject

        /// Starts an iteration of its own.
        public func makeAsyncIterator() -> Iterator {
            (try? makeIterator()) ?? Iterator(AsyncStream { $0.finish() })
        }

        /// Starts an iteration, or tells why not.
        func makeIterator() throws(ReachabilityError) -> Iterator {
            let watch = IterationTracker(source.monitor.work)
            let subscription: Subscription
            do {
                subscription = try Subscription(source.monitor, subject)
            } catch {
                watch?.end()
                throw error
            }
            let (stream, continuation) = AsyncStream.makeStream(
                of: ReachabilityFlags.self,
                bufferingPolicy: .bufferingNewest(1)
            )
            continuation.onTermination = { _ in
                subscription.end()
                watch?.end()
            }
            subscription.begin(StreamSink(continuation, watch))
            return Iterator(stream, watch)
        }
    }
}

extension NetworkReachability.Updates {
    /// One iteration.
    ///
    /// Letting go of it ends it.
    public struct Iterator: AsyncIteratorProtocol {
        private var base: AsyncStream<ReachabilityFlags>.Iterator
        private var told: ReachabilityFlags?
        private let watch: IterationTracker?

        init(_ stream: AsyncStream<ReachabilityFlags>, _ watch: IterationTracker? = nil) {
            base = stream.makeAsyncIterator()
            self.watch = watch
        }

        /// Waits for flags that differ from the last ones; `nil` once the task is cancelled.
        public mutating func next() async -> ReachabilityFlags? {
            await next(isolation: nil)
        }

        /// Waits for flags that differ from the last ones; `nil` once the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> ReachabilityFlags? {
            while true {
                watch?.willWait()
                let flags = await base.next(isolation: actor)
                watch?.didWait()
                guard let flags, !Task.isCancelled else { return nil }
                // The one between may have been replaced before anybody looked.
                if flags == told { continue }
                told = flags
                return flags
            }
        }
    }
}

/// Puts flags into a stream.
private final class StreamSink: FlagsSink {
    private let continuation: AsyncStream<ReachabilityFlags>.Continuation
    private let watch: IterationTracker?

    init(_ continuation: AsyncStream<ReachabilityFlags>.Continuation, _ watch: IterationTracker?) {
        self.continuation = continuation
        self.watch = watch
    }

    func offer(_ flags: ReachabilityFlags) {
        watch?.willOffer()
        continuation.yield(flags)
    }
}
