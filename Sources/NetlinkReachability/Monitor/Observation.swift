// SPDX-License-Identifier: Apache-2.0

/// A query under observation, as the monitor's thread sees it: what to evaluate, and where changed answers go.
///
/// Every kind of query takes the same path from the beginning to the delivery:
///
///     NetworkQuery         what is evaluated: a FlagsQuery, ReportQuery, PathQuery, ConnectionQuery or OrderQuery
///     NetworkObservation   joins the SharedMonitor, evaluates once on the caller's thread
///     MonitorMailbox       carries the query to the monitor's thread
///     MonitorState         decides when to evaluate it again
///     MonitorLoop          evaluates it
///     ObservationSink      compares the answer with the one before, and delivers it if it differs: to a handler on a
///                          queue or on the monitor's thread, or to an iteration
protocol Observation: AnyObject, Sendable {
    /// The target whose name has to be resolved first; `nil` if the query has no name.
    var namedTarget: FlagsQuery? { get }
    /// The inputs on which the value depends besides routes and interfaces.
    var inputs: QueryInputs { get }
    /// Whether it is an observation of events, which are passed to it as they happen.
    var isEvent: Bool { get }

    /// Evaluates the query, and offers the result: see ``Query/evaluate(for:_:_:onlyChanges:)``.
    func evaluate(_ known: inout Known, onlyChanges: Bool) throws(Interruption) -> EvaluationOutcome
    /// Calls the handler with undelivered results, if the handler runs on the monitor's thread.
    func deliver()
    /// Delivers the value for an event, if the query has one.
    func receive(_ event: NetworkEvent)
    /// Offers a failure. Returns whether the failure is delivered.
    func fail(_ error: ReachabilityError) -> Bool
    /// Delivers the error of an observation whose deadline has passed.
    func expire()
    /// The query and its newest result, in words.
    func trace() -> (query: String, result: String)
}

/// The observation of a query with values of one type.
///
/// This class only forwards references. Work that depends on the type is done by the query, whose class is not
/// generic.
final class QueryObservation<Value: Sendable>: Observation {
    private let query: any Query<Value>
    private let sink: ObservationSink<Value>
    /// The index of the query in its observation.
    private let index: Int

    init(_ query: any Query<Value>, _ sink: ObservationSink<Value>, _ index: Int) {
        (self.query, self.sink, self.index) = (query, sink, index)
    }

    var namedTarget: FlagsQuery? { query.namedTarget }
    var inputs: QueryInputs { query.inputs }
    var isEvent: Bool { query.isEvent }

    func evaluate(_ known: inout Known, onlyChanges: Bool) throws(Interruption) -> EvaluationOutcome {
        try query.evaluate(for: sink, index, &known, onlyChanges: onlyChanges)
    }

    func deliver() { query.deliver(sink) }

    func receive(_ event: NetworkEvent) {
        guard let value = query.value(of: event) else { return }
        sink.offer(.success(value), index)
        sink.deliver()
    }

    func fail(_ error: ReachabilityError) -> Bool { sink.offer(.failure(error), index) }

    func expire() { sink.expire() }

    func trace() -> (query: String, result: String) { sink.trace(index) }
}
