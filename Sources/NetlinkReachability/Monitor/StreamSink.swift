// SPDX-License-Identifier: Apache-2.0

internal import SystemSupport

/// Puts results into a stream.
final class StreamSink<Question: MonitorQuery>: AnswerSink {
    typealias Answer = Question.Answer

    let question: Question
    private let continuation: AsyncStream<Result<Answer, ReachabilityError>>.Continuation
    private let tracker: IterationTracker?
    /// Whether failures are dropped.
    private let skipsFailures: Bool
    /// The last result of an observation that expires.
    private let expiry: ReachabilityError?
    private let state = Locked<(newest: Result<Answer, ReachabilityError>?, answered: Answer?)>((nil, nil))

    init(
        _ question: Question,
        _ continuation: AsyncStream<Result<Answer, ReachabilityError>>.Continuation,
        _ tracker: IterationTracker?,
        skipsFailures: Bool,
        expiry: ReachabilityError?
    ) {
        self.question = question
        self.continuation = continuation
        self.tracker = tracker
        self.skipsFailures = skipsFailures
        self.expiry = expiry
    }

    var answered: Answer? {
        state.withLock { $0.answered }
    }

    func offer(_ result: Result<Answer, ReachabilityError>) -> Bool {
        let answer = result.answer
        if skipsFailures, answer == nil { return false }
        let isChange = state.withLock { state in
            defer { state = (result, answer ?? state.answered) }
            return !result.isSame(as: state.newest, question.areSame)
        }
        if isChange { yield(result) }
        return isChange
    }

    /// Delivers the newest result again.
    func redeliver() {
        if let result = state.withLock({ $0.newest }) { yield(result) }
    }

    func expire() {
        if let expiry { yield(.failure(expiry)) }
    }

    func finish() {
        continuation.finish()
    }

    private func yield(_ result: Result<Answer, ReachabilityError>) {
        tracker?.willOffer()
        continuation.yield(result)
    }
}

/// One iteration over the results of an observation.
///
/// It registers the observation, which ends when the iterator is released or its task is cancelled.
struct ObservationIterator<Answer: Sendable> {
    private let tracker: IterationTracker?
    private let areSame: @Sendable (Answer, Answer) -> Bool
    private var base: AsyncStream<Result<Answer, ReachabilityError>>.Iterator
    private var delivered: Result<Answer, ReachabilityError>?

    /// Begins to observe a query.
    ///
    /// - Parameters:
    ///   - question: The query.
    ///   - monitor: The monitor that observes it.
    ///   - skipsFailures: Whether failures are dropped.
    ///   - deadline: When the observation expires; `nil` for never.
    ///   - expiry: The failure that is the result then. With one, no result takes the place of an unread one.
    ///   - atBegin: Called with the sink before it has a result.
    ///   - atEnd: Called once when the iteration ends, on any thread, with the identity of the sink.
    /// - Throws: `ReachabilityError` if the monitor cannot run.
    init<Question: MonitorQuery<Answer>>(
        _ question: Question,
        _ monitor: SharedMonitor,
        skipsFailures: Bool,
        until deadline: MonitorInstant? = nil,
        expiry: ReachabilityError? = nil,
        atBegin: (StreamSink<Question>) -> Void = { _ in },
        atEnd: @escaping @Sendable (ObjectIdentifier) -> Void = { _ in }
    ) throws(ReachabilityError) {
        let tracker = IterationTracker(monitor.work, keepsAll: expiry != nil)
        let subscription = try Subscription(question, monitor)
        let (stream, continuation) = AsyncStream.makeStream(
            of: Result<Answer, ReachabilityError>.self,
            bufferingPolicy: expiry == nil ? .bufferingNewest(1) : .unbounded
        )
        let sink = StreamSink(question, continuation, tracker, skipsFailures: skipsFailures, expiry: expiry)
        continuation.onTermination = { [id = ObjectIdentifier(sink)] _ in
            subscription.registration.end()
            tracker?.end()
            atEnd(id)
        }
        atBegin(sink)
        subscription.begin(sink, until: deadline)
        self.tracker = tracker
        areSame = { question.areSame($0, $1) }
        base = stream.makeAsyncIterator()
    }

    /// Waits for a result that differs from the last one.
    ///
    /// - Parameters:
    ///   - actor: The actor that the caller runs on.
    ///   - convert: Applied to each answer before it is compared.
    /// - Returns: The result; `nil` after the iteration ended or the task was cancelled.
    mutating func next(
        isolation actor: isolated (any Actor)?,
        _ convert: (Answer) -> Answer = { $0 }
    ) async -> Result<Answer, ReachabilityError>? {
        while true {
            tracker?.willWait()
            let next = await base.next(isolation: actor)
            tracker?.didWait()
            guard let next, !Task.isCancelled else { return nil }
            let result = next.map(convert)
            // A result in between can have been replaced before it was read.
            if result.isSame(as: delivered, areSame) { continue }
            delivered = result
            return result
        }
    }
}
