// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

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
/// - End: it ends without an error only when its task is cancelled, and at once without queries. The observation ends
///   with the iteration.
///
/// A recording has the same sequence. Its iterations read the recording as fast as the values are taken, skip none of
/// them, and end with it.
public struct NetworkUpdates<Element: Sendable>: AsyncSequence, Sendable {
    /// Why a query could not be answered.
    public typealias Failure = ReachabilityError

    /// Reads a recording up to the next change; `nil` at its end.
    package typealias Reading = () throws(ReachabilityError) -> (
        index: Int, result: Result<Element, ReachabilityError>
    )?

    private enum Origin: Sendable {
        case monitor(SharedMonitor)
        case recording(@Sendable () throws(ReachabilityError) -> Reading)
    }

    private let queries: [NetworkQuery<Element>]
    private let origin: Origin
    private var skipsFailures = false

    init(_ queries: [NetworkQuery<Element>], _ monitor: SharedMonitor) {
        self.queries = queries
        origin = .monitor(monitor)
    }

    /// Creates the sequence of a recording, which each iteration begins to read.
    package init(
        _ queries: [NetworkQuery<Element>],
        reading begin: @escaping @Sendable () throws(ReachabilityError) -> Reading
    ) {
        self.queries = queries
        origin = .recording(begin)
    }

    /// The sequence that continues after evaluations that fail.
    ///
    /// The monitor evaluates again after 1 s, and then less and less often. Until that succeeds, no element comes. The
    /// sequence fails only if the monitor cannot run, or the recording cannot be read.
    public var skippingFailures: Self {
        var updates = self
        updates.skipsFailures = true
        return updates
    }

    /// Begins an iteration.
    public func makeAsyncIterator() -> Iterator {
        // Nothing can follow without a query.
        guard !queries.isEmpty else { return Iterator(base: nil) }
        return Iterator(
            base: Result { () throws(ReachabilityError) in
                switch origin {
                case .monitor(let monitor):
                    .monitor(try ObservationIteration(queries, monitor, skipsFailures: skipsFailures))
                case .recording(let begin):
                    .recording(
                        ReplayIteration(
                            queries: queries.map(\.query), skipsFailures: skipsFailures, read: try begin())
                    )
                }
            })
    }

    /// One iteration, which ends when it is released.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate enum Base {
            case monitor(ObservationIteration<Element>)
            case recording(ReplayIteration<Element>)
        }

        /// Set to `.failure` if the iteration could not begin; `nil` after it failed, and without queries.
        fileprivate var base: Result<Base, ReachabilityError>?

        /// The observation of this iteration; `nil` if there is none, and after a failure.
        package var observation: NetworkObservation<Element>? {
            guard case .success(.monitor(let iteration)) = base else { return nil }
            return iteration.observation
        }

        /// Waits for a value that differs from the last one.
        ///
        /// - Returns: The value; `nil` after the task is cancelled, the iteration has failed, or the recording has
        ///   ended.
        /// - Throws: `ReachabilityError` if the monitor cannot run, an evaluation fails, or the recording cannot be
        ///   read.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(ReachabilityError) -> Element? {
            switch try base.take()?.get() {
            case .monitor(var iteration):
                let value = try await iteration.next(isolation: actor)?.get()
                base = .success(.monitor(iteration))
                return value
            case .recording(var iteration):
                let value = try iteration.next()
                base = .success(.recording(iteration))
                return value
            case nil: return nil
            }
        }
    }
}

/// One reading of a recording, whose values an observation would have received.
private struct ReplayIteration<Value: Sendable> {
    let queries: [any Query<Value>]
    let skipsFailures: Bool
    let read: NetworkUpdates<Value>.Reading
    /// The last value of each query: after a failure that was skipped, the same one can follow.
    var last: [Int: Value] = [:]

    /// Reads up to the next value; `nil` at the end, and after the task is cancelled.
    mutating func next() throws(ReachabilityError) -> Value? {
        while !Task.isCancelled, let (index, result) = try read() {
            guard skipsFailures else { return try result.get() }
            guard let value = result.answer else { continue }
            if let last = last.updateValue(value, forKey: index), queries[index].areSame(value, last) {
                continue
            }
            return value
        }
        return nil
    }
}

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
            queries.map(\.query), .iteration(Box(continuation), tracker), selection, work: monitor.work)
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

extension NetworkSource {
    /// A query as a sequence: the current value, and then every change.
    ///
    /// ```swift
    /// for try await event in NetworkSource.kernel.updates(of: .events) {
    ///     if case .slept(let duration) = event, duration > .seconds(60) { pool.closeIdleConnections() }
    /// }
    /// ```
    ///
    /// - Parameter query: The query.
    /// - Returns: The sequence.
    public func updates<Value>(of query: NetworkQuery<Value>) -> NetworkUpdates<Value> {
        NetworkUpdates([query], monitor)
    }

    /// Many queries as one sequence: the current value of each, and then every change, with the index of its query.
    ///
    /// A failure of one query ends the sequence, unless it is ``NetworkUpdates/skippingFailures``.
    ///
    /// - Parameter queries: The queries.
    /// - Returns: The sequence.
    public func updates<Value>(
        of queries: [NetworkQuery<Value>]
    ) -> NetworkUpdates<(index: Int, value: Value)> {
        NetworkUpdates(queries.enumerated().map { NetworkQuery($1, index: $0) }, monitor)
    }
}
