// SPDX-License-Identifier: Apache-2.0

internal import SystemSupport

/// Puts results into a stream.
final class StreamSink<Question: MonitorQuestion>: Observation {
    typealias Answer = Question.Answer

    let question: Question
    private let continuation: AsyncStream<Observed<Answer>>.Continuation
    private let tracker: IterationTracker?
    /// Whether failures and unresolved names are dropped.
    private let takesAnswersOnly: Bool
    /// The last result of an observation that expires.
    private let expiry: ReachabilityError?
    private let newest = Locked<Observed<Answer>?>(nil)
    private let lastAnswer = Locked<Answer.Change?>(nil)

    init(
        _ question: Question,
        _ continuation: AsyncStream<Observed<Answer>>.Continuation,
        _ tracker: IterationTracker?,
        takesAnswersOnly: Bool,
        expiry: ReachabilityError?
    ) {
        self.question = question
        self.continuation = continuation
        self.tracker = tracker
        self.takesAnswersOnly = takesAnswersOnly
        self.expiry = expiry
    }

    var answered: Answer.Change? {
        lastAnswer.withLock { $0 }
    }

    func offer(_ observed: Observed<Answer>) -> Bool {
        if takesAnswersOnly, observed.answer == nil { return false }
        if let answer = observed.answer { lastAnswer.withLock { $0 = answer.change } }
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

    func expire() {
        if let expiry { yield(.failure(expiry)) }
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
struct ObservationIterator<Question: MonitorQuestion> {
    typealias Answer = Question.Answer

    /// What receives the results; `nil` if the observation could not begin.
    let sink: StreamSink<Question>?
    private let tracker: IterationTracker?
    private var base: AsyncStream<Observed<Answer>>.Iterator
    private var delivered: Observed<Answer.Change>?

    /// Begins to observe a question.
    ///
    /// - Parameters:
    ///   - question: The question.
    ///   - monitor: The monitor that observes it.
    ///   - takesAnswersOnly: Whether failures and unresolved names are dropped.
    ///   - deadline: When the observation expires; `nil` for never.
    ///   - expiry: The failure that is the result then. With one, no result takes the place of an unread one.
    ///   - atEnd: Called once when the iteration ends, on any thread, with the identity of the sink.
    /// - Throws: ``ReachabilityError`` if the monitor cannot run.
    init(
        _ question: Question,
        _ monitor: SharedMonitor,
        takesAnswersOnly: Bool,
        until deadline: MonitorInstant? = nil,
        expiry: ReachabilityError? = nil,
        atEnd: @escaping @Sendable (ObjectIdentifier) -> Void = { _ in }
    ) throws(ReachabilityError) {
        let tracker = IterationTracker(monitor.work, keepsAll: expiry != nil)
        let subscription = try Subscription(question, monitor)
        let (stream, continuation) = AsyncStream.makeStream(
            of: Observed<Answer>.self,
            bufferingPolicy: expiry == nil ? .bufferingNewest(1) : .unbounded
        )
        let sink = StreamSink(
            question, continuation, tracker, takesAnswersOnly: takesAnswersOnly, expiry: expiry)
        continuation.onTermination = { [id = ObjectIdentifier(sink)] _ in
            subscription.end()
            tracker?.end()
            atEnd(id)
        }
        subscription.begin(sink, until: deadline)
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
