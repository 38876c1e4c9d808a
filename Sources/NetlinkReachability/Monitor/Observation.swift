// SPDX-License-Identifier: Apache-2.0

/// A query under observation, as the monitor's thread sees it: what to evaluate, and where changed answers go.
///
/// Every kind of query takes the same path from the beginning to the delivery:
///
///     NetworkQuery         what is evaluated: MonitoredTarget, ReportQuery, PathQuery, ConnectionQuery
///     NetworkObservation   joins the SharedMonitor, evaluates once on the caller's thread
///     MonitorMailbox       carries the query to the monitor's thread
///     MonitorState         decides when to evaluate it again
///     MonitorLoop          evaluates it
///     ObservationSink      compares the answer with the one before, and delivers it if it differs: to a handler on a
///                          queue or on the monitor's thread, or to an iteration
///
/// The closures are made where the types of the query and of its values are known. Called through a protocol, the code
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

    init<Value>(_ sink: ObservationSink<Value>, _ index: Int) {
        namedTarget = sink.queries[index].namedTarget
        readsNameservers = sink.queries[index].readsNameservers
        plan = sink.queries[index].plan
        evaluate = { (batch, entries, onlyChanges) in
            let query = sink.queries[index]
            do throws(ReachabilityError) {
                guard let answer = try query.answer?(&batch, entries) else { return (false, nil) }
                if onlyChanges, let last = sink.answered(index), query.areSame(answer, last) {
                    return (false, nil)
                }
                return (sink.offer(.success(answer), index), nil)
            } catch {
                return (sink.offer(.failure(error), index), error)
            }
        }
        fail = { sink.offer(.failure($0), index) }
        deliver = { sink.deliver() }
        expire = { sink.expire() }
    }
}
