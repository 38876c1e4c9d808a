// SPDX-License-Identifier: Apache-2.0

internal import SystemSupport

/// Puts results into a stream that holds the newest one.
final class StreamSink<Answer: MonitorAnswer>: ObservationSink {
    private let continuation: AsyncStream<Observed<Answer>>.Continuation
    private let tracker: IterationTracker?
    /// Whether failures and unresolved names are dropped.
    private let takesAnswersOnly: Bool
    private let newest = Locked<Observed<Answer>?>(nil)

    init(
        _ continuation: AsyncStream<Observed<Answer>>.Continuation,
        _ tracker: IterationTracker?,
        takesAnswersOnly: Bool
    ) {
        self.continuation = continuation
        self.tracker = tracker
        self.takesAnswersOnly = takesAnswersOnly
    }

    func offer(_ observed: Observed<Answer>) -> Bool {
        if takesAnswersOnly, observed.answer == nil { return false }
        let isChange = newest.withLock { newest in
            defer { newest = observed }
            return newest?.change != observed.change
        }
        if isChange { yield(observed) }
        return isChange
    }

    /// Delivers the newest result again.
    func redeliver() {
        if let observed = newest.withLock({ $0 }) { yield(observed) }
    }

    func finish() {
        continuation.finish()
    }

    private func yield(_ observed: Observed<Answer>) {
        tracker?.willOffer()
        continuation.yield(observed)
    }
}

/// One iteration over the results of an observation.
///
/// It registers the observation, which ends when the iterator is released or its task is cancelled.
struct ObservationIterator<Answer: MonitorAnswer> {
    /// What receives the results; `nil` if the observation could not begin.
    let sink: StreamSink<Answer>?
    private let tracker: IterationTracker?
    private var base: AsyncStream<Observed<Answer>>.Iterator
    private var delivered: Observed<Answer.Change>?

    /// Begins to observe a question.
    ///
    /// - Parameters:
    ///   - question: The question.
    ///   - monitor: The monitor that observes it.
    ///   - takesAnswersOnly: Whether failures and unresolved names are dropped.
    ///   - atEnd: Called once when the iteration ends, on any thread.
    /// - Throws: ``ReachabilityError`` if the monitor cannot run.
    init<Question: MonitorQuestion>(
        _ question: Question,
        _ monitor: SharedMonitor,
        takesAnswersOnly: Bool,
        atEnd: @escaping @Sendable () -> Void = {}
    ) throws(ReachabilityError) where Question.Answer == Answer {
        let tracker = IterationTracker(monitor.work)
        let subscription: Subscription<Question>
        do {
            subscription = try Subscription(question, monitor)
        } catch {
            tracker?.end()
            throw error
        }
        let (stream, continuation) = AsyncStream.makeStream(
            of: Observed<Answer>.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        continuation.onTermination = { _ in
            subscription.end()
            tracker?.end()
            atEnd()
        }
        let sink = StreamSink<Answer>(continuation, tracker, takesAnswersOnly: takesAnswersOnly)
        subscription.begin(sink)
        self.tracker = tracker
        self.sink = sink
        base = stream.makeAsyncIterator()
    }

    /// An iteration that ends at once, after at most one result.
    init(only observed: Observed<Answer>?) {
        sink = nil
        tracker = nil
        base = AsyncStream { continuation in
            if let observed { continuation.yield(observed) }
            continuation.finish()
        }.makeAsyncIterator()
    }

    /// Waits for a result that differs from the last one.
    ///
    /// - Parameters:
    ///   - actor: The actor that the caller runs on.
    ///   - convert: Applied to each result before it is compared.
    /// - Returns: The result; `nil` after the iteration ended or the task was cancelled.
    mutating func next(
        isolation actor: isolated (any Actor)?,
        _ convert: (Observed<Answer>) -> Observed<Answer> = { $0 }
    ) async -> Observed<Answer>? {
        while true {
            tracker?.willWait()
            let next = await base.next(isolation: actor)
            tracker?.didWait()
            guard let next, !Task.isCancelled else { return nil }
            let observed = convert(next)
            // A result in between can have been replaced before it was read.
            if observed.change == delivered { continue }
            delivered = observed.change
            return observed
        }
    }
}
