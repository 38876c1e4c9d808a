// SPDX-License-Identifier: Apache-2.0

/// One iteration over the results of an observation, which ends when it is released or its task is cancelled.
struct ObservationIteration<Value: Sendable> {
    let observation: NetworkObservation<Value>
    private let sink: ObservationSink<Value>
    private let tracker: IterationTracker?
    private var wakes: AsyncStream<Void>.Iterator

    /// Begins to observe queries.
    ///
    /// - Parameters:
    ///   - queries: The queries.
    ///   - monitor: The monitor that observes them.
    ///   - skipsFailures: Whether failures are dropped.
    ///   - deadline: When the observation expires; `nil` for never.
    ///   - expiry: The failure that is the result then. With one, no result takes the place of an unread one.
    /// - Throws: `ReachabilityError` if the monitor cannot run.
    init(
        _ queries: [NetworkQuery<Value>],
        _ monitor: SharedMonitor,
        skipsFailures: Bool,
        until deadline: MonitorInstant? = nil,
        expiry: ReachabilityError? = nil
    ) throws(ReachabilityError) {
        let tracker = IterationTracker(monitor.work)
        let (stream, continuation) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let selection = ObservationSink<Value>.Selection(
            skipsFailures: skipsFailures, keepsAll: expiry != nil, expiry: expiry)
        sink = ObservationSink(
            queries.map(\.observed), .iteration(continuation, tracker), selection, work: monitor.work)
        observation = try NetworkObservation(queries, sink, monitor, until: deadline)
        continuation.onTermination = { [weak observation] _ in observation?.end(waits: false) }
        self.tracker = tracker
        wakes = stream.makeAsyncIterator()
    }

    /// Waits for a result that differs from the last one.
    ///
    /// - Returns: The result; `nil` after the observation has ended or the task was cancelled.
    mutating func next(
        isolation actor: isolated (any Actor)?
    ) async -> Result<Value, ReachabilityError>? {
        while !Task.isCancelled {
            if let item = sink.take() { return item.result }
            tracker?.willWait()
            let wake: Void? = await wakes.next(isolation: actor)
            tracker?.didWait()
            if wake == nil { return nil }
        }
        observation.end(waits: false)
        return nil
    }
}
