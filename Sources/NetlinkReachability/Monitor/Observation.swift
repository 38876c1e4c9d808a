// SPDX-License-Identifier: Apache-2.0

/// A query under observation, as the monitor's thread sees it: what to evaluate, and where changed answers go.
///
/// Every kind of query takes the same path from the beginning to the delivery:
///
///     NetworkQuery         what is evaluated: FlagsQuery, ReportQuery, PathQuery, ConnectionQuery
///     NetworkObservation   joins the SharedMonitor, evaluates once on the caller's thread
///     MonitorMailbox       carries the query to the monitor's thread
///     MonitorState         decides when to evaluate it again
///     MonitorLoop          evaluates it
///     ObservationSink      compares the answer with the one before, and delivers it if it differs: to a handler on a
///                          queue or on the monitor's thread, or to an iteration
final class Observation: Sendable {
    /// The target whose name has to be resolved first; `nil` if there is no name.
    let namedTarget: MonitoredTarget?
    /// What the answer depends on besides routes and interfaces.
    let inputs: QueryInputs
    private let object: any AnyObject & Sendable
    private let steps: EvaluationSteps
    /// Where the results go.
    let sink: any ResultSink
    private let index: Int

    init(
        namedTarget: MonitoredTarget?,
        inputs: QueryInputs,
        object: any AnyObject & Sendable,
        steps: EvaluationSteps,
        sink: any ResultSink,
        index: Int
    ) {
        self.namedTarget = namedTarget
        self.inputs = inputs
        self.object = object
        self.steps = steps
        self.sink = sink
        self.index = index
    }

    /// Adds what has to be asked to a batch.
    func plan(_ batch: inout EvaluationBatch) { steps.plan(object, &batch) }

    /// Answers the query from a batch that was run, and offers the result: see ``EvaluationSteps/evaluate``.
    func evaluate(_ batch: inout EvaluationBatch, _ entries: Range<Int>, _ onlyChanges: Bool)
        -> EvaluationOutcome
    {
        steps.evaluate(object, sink, index, &batch, entries, onlyChanges)
    }

    // What the sink does, for this query.

    func fail(_ error: ReachabilityError) -> Bool { sink.fail(error, index) }

    func deliver() { steps.deliver(sink) }

    func trace() -> (query: String, result: String) { sink.trace(index) }
}
