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

    /// Evaluates the query, and offers the result: see ``EvaluationSteps/evaluate``.
    func evaluate(_ known: inout Known, _ onlyChanges: Bool) throws(Interruption) -> EvaluationOutcome {
        try steps.evaluate(object, sink, index, &known, onlyChanges)
    }

    // What the sink does, for this query.

    func fail(_ error: ReachabilityError) -> Bool { sink.fail(error, index) }

    func deliver() { steps.deliver(sink) }

    func trace() -> (query: String, result: String) { sink.trace(index) }
}

/// How the queries of one kind are evaluated for an observation, and how their results are delivered.
///
/// The closures are made where the type of the values is known, as those of ``QueryKind`` are. Their casts are safe
/// because an ``Observation`` passes on the sink that it was made with, of the same `Value`.
final class QueryEvaluation<Value: Sendable>: Sendable {
    let kind: QueryKind<Value>
    let steps: EvaluationSteps

    init(_ kind: QueryKind<Value>) {
        self.kind = kind
        @Sendable func typed(_ sink: any ResultSink) -> ObservationSink<Value> {
            unsafeDowncast(sink, to: ObservationSink<Value>.self)
        }
        steps = EvaluationSteps(
            evaluate: { (object, sink, index, known, onlyChanges) throws(Interruption) in
                let result = known.attempt { (known) throws(Interruption) in try kind.value(object, &known) }
                guard let result else { throw .missing }
                return typed(sink).take(result, index, onlyChanges)
            },
            deliver: { typed($0).deliver() })
    }
}

/// What the monitor does with the queries of one kind, whatever the type of their values.
final class EvaluationSteps: Sendable {
    typealias Query = any AnyObject & Sendable

    /// Evaluates a query, and offers the result to the sink of an observation.
    ///
    /// The last parameter is whether an answer that equals the last one is dropped. A name whose resolver cannot run
    /// needs that: the answer about the addresses from before does not end that failure.
    let evaluate:
        @Sendable (
            Query, _ sink: any ResultSink, _ index: Int, inout Known, Bool
        ) throws(Interruption) -> EvaluationOutcome
    /// Calls a handler that is to be called on the monitor's thread with what is due.
    let deliver: @Sendable (any ResultSink) -> Void

    init(
        evaluate:
            @escaping @Sendable (
                Query, any ResultSink, Int, inout Known, Bool
            ) throws(Interruption) -> EvaluationOutcome,
        deliver: @escaping @Sendable (any ResultSink) -> Void
    ) {
        self.evaluate = evaluate
        self.deliver = deliver
    }
}

/// A query that can be observed.
protocol ObservableQuery<Answer>: MonitorQuery {
    /// How queries of this type are evaluated, as a constant.
    static var evaluation: QueryEvaluation<Answer> { get }
}
