// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// An observation as a sequence: the current value, and then every change.
///
/// ```swift
/// for try await path in NetworkSource.kernel.updates(of: .path()) {
///     print(path)
/// }
/// ```
///
/// - Beginning: each iteration begins its own observation and keeps the source alive. Any number of iterations can
///   run concurrently.
/// - Buffering: an iteration that is slower than the network gets the newest value. Older values are skipped. Two
///   equal values never follow each other. Up to 256 events are kept.
/// - Failures: a failed evaluation does not end the sequence. The sequence of values skips it, ``results`` has it
///   as an element, and the monitor tries again. The sequence throws only if the monitor cannot run.
/// - End: the sequence ends without an error when its task is cancelled, and at once if there are no queries. The
///   observation ends with the iteration.
///
/// A recording has the same sequence. An iteration reads the recording as fast as its values are taken and skips no
/// value. It ends at the end of the recording, and throws if the recording cannot be read.
public struct NetworkUpdates<Value: Sendable>: AsyncSequence, Sendable {
    /// The elements.
    public typealias Element = Value
    /// Why the monitor cannot run, or the recording cannot be read.
    public typealias Failure = ReachabilityError

    /// A result, and the index of its query.
    package typealias Item<Element: Sendable> = (index: Int, result: Result<Element, ReachabilityError>)
    /// Reads a recording up to the next change.
    ///
    /// Returns `nil` at its end.
    package typealias Reading<Element: Sendable> = () throws(ReachabilityError) -> Item<Element>?

    /// Whether there are no queries, and thus no elements.
    private let isEmpty: Bool
    private let begin: @Sendable (_ skipsFailures: Bool) throws(ReachabilityError) -> Results.Iteration

    /// Creates the sequence of queries to a monitor.
    ///
    /// - Parameters:
    ///   - queries: The queries.
    ///   - monitor: The monitor.
    ///   - value: Makes an element of the index of a query and its value.
    init<Element>(
        _ queries: [NetworkQuery<Element>],
        _ monitor: SharedMonitor,
        _ value: @escaping @Sendable (Int, Element) -> Value
    ) {
        isEmpty = queries.isEmpty
        begin = { (skipsFailures) throws(ReachabilityError) in
            var base = try ObservationIteration(queries, monitor, skipsFailures: skipsFailures)
            return Results.Iteration(observation: base.observation) { (actor) throws(ReachabilityError) in
                await base.next(isolation: actor).map { item in item.result.map { value(item.index, $0) } }
            }
        }
    }

    /// Creates the sequence of queries to a recording, which each iteration reads from its beginning.
    ///
    /// - Parameters:
    ///   - queries: The queries.
    ///   - read: Begins to read the recording.
    ///   - value: Makes an element of the index of a query and its value.
    package init<Element>(
        _ queries: [NetworkQuery<Element>],
        reading read: @escaping @Sendable () throws(ReachabilityError) -> Reading<Element>,
        _ value: @escaping @Sendable (Int, Element) -> Value
    ) {
        isEmpty = queries.isEmpty
        begin = { (skipsFailures) throws(ReachabilityError) in
            var base = ReplayIteration(queries: queries, skipsFailures: skipsFailures, read: try read())
            return Results.Iteration { (_) throws(ReachabilityError) in
                try base.next().map { item in item.result.map { value(item.index, $0) } }
            }
        }
    }

    /// The same sequence including failures, as a handler gets them.
    ///
    /// ```swift
    /// for try await result in reachability.updates.results {
    ///     switch result {
    ///     case .success(let flags): print(flags.letters)
    ///     case .failure(let error): print("unknown: \(error)")
    ///     }
    /// }
    /// ```
    public var results: Results { Results(updates: self) }

    /// Begins an iteration.
    public func makeAsyncIterator() -> Iterator {
        Iterator(base: beginning(skipsFailures: true))
    }

    private func beginning(skipsFailures: Bool) -> Results.Iterator {
        guard !isEmpty else { return Results.Iterator(iteration: nil) }
        let iteration = Result { () throws(ReachabilityError) in try begin(skipsFailures) }
        return Results.Iterator(iteration: iteration)
    }

    /// One iteration, which ends when it is released.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: Results.Iterator

        /// The observation of this iteration; `nil` for a recording, and after a failure.
        package var observation: (any EndableObservation)? { (try? base.iteration?.get())?.observation }

        /// Waits for a value that differs from the last one.
        ///
        /// - Returns: The value; `nil` after the task is cancelled, the iteration has failed, or the recording has
        ///   ended.
        /// - Throws: `ReachabilityError` if the monitor cannot run, or the recording cannot be read.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(ReachabilityError) -> Value? {
            try await base.next(isolation: actor)?.get()
        }
    }

    /// The results of evaluations: values and failures.
    ///
    /// A failure does not end the sequence.
    public struct Results: AsyncSequence, Sendable {
        /// A value, or the reason that there is none.
        public typealias Element = Result<Value, ReachabilityError>
        /// Why the monitor cannot run, or the recording cannot be read.
        public typealias Failure = ReachabilityError

        fileprivate let updates: NetworkUpdates

        /// Begins an iteration.
        public func makeAsyncIterator() -> Iterator {
            updates.beginning(skipsFailures: false)
        }

        fileprivate struct Iteration {
            /// `nil` for a recording.
            var observation: (any EndableObservation)?
            /// Waits for the next result; `nil` at the end.
            let next: (isolated (any Actor)?) async throws(ReachabilityError) -> Element?
        }

        /// One iteration, which ends when it is released.
        public struct Iterator: AsyncIteratorProtocol {
            /// `.failure` if the iteration could not begin; `nil` after that error was thrown, and without queries.
            fileprivate var iteration: Result<Iteration, ReachabilityError>?

            /// Waits for a result that differs from the last one.
            ///
            /// - Returns: The result; `nil` after the task is cancelled, the iteration has failed, or the recording has
            ///   ended.
            /// - Throws: `ReachabilityError` if the monitor cannot run, or the recording cannot be read.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(ReachabilityError) -> Element? {
                guard let base = try iteration.take()?.get() else { return nil }
                let result = try await base.next(actor)
                iteration = .success(base)
                return result
            }
        }
    }
}

/// An iteration over a recording: the results that an observation would have received.
private struct ReplayIteration<Value: Sendable> {
    let queries: [NetworkQuery<Value>]
    let skipsFailures: Bool
    let read: NetworkUpdates<Value>.Reading<Value>
    /// The last value of each query, for comparison: an equal value can follow a skipped failure.
    var last: [Int: Value] = [:]

    /// Reads up to the next result; `nil` at the end, and after the task is cancelled.
    mutating func next() throws(ReachabilityError) -> NetworkUpdates<Value>.Item<Value>? {
        while !Task.isCancelled, let item = try read() {
            guard skipsFailures else { return item }
            guard let value = item.result.answer else { continue }
            let last = last.updateValue(value, forKey: item.index)
            if let last, queries[item.index].query.areSame(value, last) { continue }
            return item
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
    ///   - expiry: The failure at that deadline. With an expiry, no result replaces an unread one.
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
        continuation.onTermination = { [weak observation] _ in observation?.close(waits: false) }
        self.tracker = tracker
        wakes = stream.makeAsyncIterator()
    }

    /// Waits for a result that differs from the last one.
    ///
    /// - Returns: The result; `nil` after the observation has ended or the task was cancelled.
    mutating func next(isolation actor: isolated (any Actor)?) async -> ObservationSink<Value>.Item? {
        while !Task.isCancelled {
            if let item = sink.popNext() { return item }
            tracker?.willWait()
            let wake: Void? = await wakes.next(isolation: actor)
            tracker?.didWait()
            if wake == nil { return nil }
        }
        observation.close(waits: false)
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
        NetworkUpdates([query], monitor) { $1 }
    }

    /// Many queries as one sequence: the current value of each, and then every change, with the index of its query.
    ///
    /// - Parameter queries: The queries; without any, the sequence ends at once.
    /// - Returns: The sequence.
    public func updates<Value>(
        of queries: [NetworkQuery<Value>]
    ) -> NetworkUpdates<(index: Int, value: Value)> {
        NetworkUpdates(queries, monitor) { ($0, $1) }
    }
}
