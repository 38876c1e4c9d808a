// SPDX-License-Identifier: Apache-2.0

/// A question under observation: what to evaluate, and where changed answers go.
///
/// Every kind of question takes the same path from the subscription to the delivery:
///
///     NetworkReachability: start, updates, wait                     NetworkPathMonitor: start, loops
///         MonitoredTarget, ReportQuestion                               PathQuestion
///                                  \                               /
///       Subscription     joins the SharedMonitor, evaluates once on the caller's thread
///       MonitorMailbox   carries the observation to the monitor's thread
///       MonitorState     decides when to evaluate it again
///       MonitorLoop      evaluates it
///       Observation      compares the answer with the previous one, and delivers it if it differs: CallbackSink on a
///                        queue or on the monitor's thread, StreamSink to an iteration or a waiting task
protocol Observation<Question>: AnyObject, Sendable {
    associatedtype Question: MonitorQuestion

    var question: Question { get }
    /// The last answer; `nil` before the first one.
    var answered: Question.Answer? { get }

    /// Takes the result of an evaluation; must not wait.
    ///
    /// - Returns: Whether it differs from the previous one and is delivered.
    @discardableResult
    func offer(_ result: Result<Question.Answer, ReachabilityError>) -> Bool
    /// Adds what has to be asked to a round.
    func plan(_ round: inout EvaluationRound)
    /// Answers the question from a round, and offers the result.
    ///
    /// - Parameters:
    ///   - round: A round that was asked.
    ///   - entries: What ``plan(_:)`` added to it.
    ///   - onlyChanges: Whether an answer that equals the last one is dropped. A name whose resolver cannot run needs
    ///     it: the answer about the addresses from before does not end that failure.
    /// - Returns: Whether the result is delivered, and the error.
    func evaluate(
        _ round: inout EvaluationRound,
        _ entries: Range<Int>,
        onlyChanges: Bool
    ) -> (isChange: Bool, error: ReachabilityError?)
    /// Calls a handler that is to be called on the monitor's thread, if it was not called with the newest result.
    func deliver()
    /// The observation's time-out has passed.
    func expire()
}

extension Observation {
    /// The target whose name has to be resolved first; `nil` if there is no name.
    var namedTarget: MonitoredTarget? { question.namedTarget }
    /// Whether the answer depends on which name servers are configured.
    var readsNameservers: Bool { question.readsNameservers }

    func plan(_ round: inout EvaluationRound) {
        question.plan(&round)
    }

    func evaluate(
        _ round: inout EvaluationRound,
        _ entries: Range<Int>,
        onlyChanges: Bool
    ) -> (isChange: Bool, error: ReachabilityError?) {
        do {
            let answer = try question.answer(from: &round, entries)
            if onlyChanges, let answered, question.areSame(answer, answered) { return (false, nil) }
            return (offer(.success(answer)), nil)
        } catch {
            return (offer(.failure(error)), error)
        }
    }

    /// Offers a failure.
    func fail(_ error: ReachabilityError) -> Bool {
        offer(.failure(error))
    }

    func deliver() {}
    func expire() {}
}
