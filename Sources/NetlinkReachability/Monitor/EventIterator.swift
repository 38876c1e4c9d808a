// SPDX-License-Identifier: Apache-2.0

/// One iteration over the events of a monitor, which is registered until it is released or its task is cancelled.
struct EventIterator {
    /// Receives the events of a monitor, on its thread.
    typealias Listener = @Sendable (NetworkEvent) -> Void

    private let tracker: IterationTracker?
    private var base: AsyncStream<NetworkEvent>.Iterator

    init(_ monitor: SharedMonitor) throws(ReachabilityError) {
        let registration = try monitor.join()
        let tracker = IterationTracker(monitor.work, keepsAll: true)
        let (stream, continuation) = AsyncStream.makeStream(
            of: NetworkEvent.self, bufferingPolicy: .bufferingNewest(256))
        continuation.onTermination = { _ in
            registration.end()
            tracker?.end()
        }
        registration.mailbox.post(
            .listen(registration.id) { event in
                tracker?.willOffer()
                continuation.yield(event)
            })
        self.tracker = tracker
        base = stream.makeAsyncIterator()
    }

    mutating func next(isolation actor: isolated (any Actor)?) async -> NetworkEvent? {
        tracker?.willWait()
        let event = await base.next(isolation: actor)
        tracker?.didWait()
        return Task.isCancelled ? nil : event
    }
}
