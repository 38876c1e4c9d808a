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
final class Observation: Sendable {
    /// The target whose name has to be resolved first; `nil` if there is no name.
    let namedTarget: MonitoredTarget?
    /// Whether the answer depends on which name servers are configured.
    let readsNameservers: Bool
    private let object: any AnyObject & Sendable
    private let planned: @Sendable (any AnyObject & Sendable, inout EvaluationBatch) -> Void
    private let evaluated:
        @Sendable (any AnyObject & Sendable, AnyObject, Int, inout EvaluationBatch, Range<Int>, Bool) ->
            Outcome
    /// Where the results go.
    private let sink: any ResultSink
    private let index: Int

    /// Whether a result is delivered, and the error.
    typealias Outcome = (isChange: Bool, error: ReachabilityError?)

    init<Value>(_ sink: ObservationSink<Value>, _ index: Int) {
        namedTarget = sink.queries[index].namedTarget
        readsNameservers = sink.queries[index].readsNameservers
        object = sink.queries[index].object
        planned = sink.queries[index].kind.plan
        evaluated = sink.queries[index].kind.evaluate
        (self.sink, self.index) = (sink, index)
    }

    /// Adds what has to be asked to a batch.
    func plan(_ batch: inout EvaluationBatch) { planned(object, &batch) }

    /// Answers the query from a batch that was run, and offers the result: see ``QueryKind/evaluate``.
    func evaluate(_ batch: inout EvaluationBatch, _ entries: Range<Int>, _ onlyChanges: Bool) -> Outcome {
        evaluated(object, sink, index, &batch, entries, onlyChanges)
    }

    /// Offers a failure; returns whether it is delivered.
    func fail(_ error: ReachabilityError) -> Bool { sink.fail(error, index) }

    /// Calls a handler that is to be called on the monitor's thread with what is due.
    func deliver() { sink.deliver() }

    /// The observation's time-out has passed.
    func expire() { sink.expire() }

    /// The query and its newest result, for a trace.
    func trace() -> (query: String, result: String) { sink.trace(index) }
}

/// The results of an observation, whatever their type.
protocol ResultSink: AnyObject, Sendable {
    func fail(_ error: ReachabilityError, _ index: Int) -> Bool
    func deliver()
    func expire()
    func trace(_ index: Int) -> (query: String, result: String)
}
