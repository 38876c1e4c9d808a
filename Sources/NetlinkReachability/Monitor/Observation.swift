// SPDX-License-Identifier: Apache-2.0

/// Where changed answers to a query go.
protocol AnswerSink<Question>: AnyObject, Sendable {
    associatedtype Question: MonitorQuery

    var question: Question { get }
    /// The last answer; `nil` before the first one.
    var answered: Question.Answer? { get }

    /// Takes the result of an evaluation; must not wait.
    ///
    /// - Returns: Whether it differs from the previous one and is delivered.
    @discardableResult
    func offer(_ result: Result<Question.Answer, ReachabilityError>) -> Bool
    /// Calls a handler that is to be called on the monitor's thread, if it was not called with the newest result.
    func deliver()
    /// The observation's time-out has passed.
    func expire()
}

extension AnswerSink {
    func deliver() {}
    func expire() {}
}

/// A query under observation, as the monitor's thread sees it: what to evaluate, and where changed answers go.
///
/// Every kind of query takes the same path from the subscription to the delivery:
///
///     NetworkReachability: start, updates, wait                     NetworkPathMonitor: start, loops
///         MonitoredTarget, ReportQuery                               PathQuery
///                                  \                               /
///       Subscription     joins the SharedMonitor, evaluates once on the caller's thread
///       MonitorMailbox   carries the observation to the monitor's thread
///       MonitorState     decides when to evaluate it again
///       MonitorLoop      evaluates it
///       AnswerSink       compares the answer with the previous one, and delivers it if it differs: CallbackSink on a
///                        queue or on the monitor's thread, StreamSink to an iteration or a waiting task
///
/// The closures are made where the types of the query and of its sink are known. Called through a protocol, the code
/// of a generic class looks up types in the runtime, for each event, which takes longer than an evaluation.
final class Observation: Sendable {
    /// The target whose name has to be resolved first; `nil` if there is no name.
    let namedTarget: MonitoredTarget?
    /// Whether the answer depends on which name servers are configured.
    let readsNameservers: Bool
    /// Adds what has to be asked to a batch.
    let plan: @Sendable (_ batch: inout EvaluationBatch) -> Void
    /// Answers the query from a batch that was run, and offers the result.
    ///
    /// Takes what ``plan`` added to the batch, and whether an answer that equals the last one is dropped. A name whose
    /// resolver cannot run needs that: the answer about the addresses from before does not end that failure. Returns
    /// whether the result is delivered, and the error.
    let evaluate:
        @Sendable (_ batch: inout EvaluationBatch, _ entries: Range<Int>, _ onlyChanges: Bool) -> Outcome
    /// Offers a failure; returns whether it is delivered.
    let fail: @Sendable (_ error: ReachabilityError) -> Bool
    let deliver: @Sendable () -> Void
    let expire: @Sendable () -> Void

    typealias Outcome = (isChange: Bool, error: ReachabilityError?)

    init<Sink: AnswerSink>(_ sink: Sink) {
        namedTarget = sink.question.namedTarget
        readsNameservers = sink.question.readsNameservers
        plan = { sink.question.plan(&$0) }
        evaluate = { (batch, entries, onlyChanges) in
            do throws(ReachabilityError) {
                let answer = try sink.question.answer(from: &batch, entries)
                if onlyChanges, let last = sink.answered, sink.question.areSame(answer, last) {
                    return (false, nil)
                }
                return (sink.offer(.success(answer)), nil)
            } catch {
                return (sink.offer(.failure(error)), error)
            }
        }
        fail = { sink.offer(.failure($0)) }
        deliver = { sink.deliver() }
        expire = { sink.expire() }
    }
}
