// SPDX-License-Identifier: Apache-2.0

/// How the queries of one kind are evaluated for an observation.
///
/// The closure is made where the type of the values is known, as those of ``QueryKind`` are. Its cast is safe because
/// an ``Observation`` passes on the sink that it was made with, of the same `Value`.
final class QueryEvaluation<Value: Sendable>: Sendable {
    /// Answers a query from a batch that was run, and offers the result to the sink of an observation.
    ///
    /// The last parameter is whether an answer that equals the last one is dropped. A name whose resolver cannot run
    /// needs that: the answer about the addresses from before does not end that failure.
    typealias Evaluate =
        @Sendable (
            QueryKind<Value>.Query, _ sink: any ResultSink, _ index: Int, inout EvaluationBatch, Range<Int>,
            Bool
        ) -> EvaluationOutcome

    let kind: QueryKind<Value>
    let evaluate: Evaluate

    init(_ kind: QueryKind<Value>) {
        self.kind = kind
        evaluate = { (object, sink, index, batch, entries, onlyChanges) in
            let result = Result { () throws(ReachabilityError) in
                try kind.answer(object, &batch, entries)
            }
            return unsafeDowncast(sink, to: ObservationSink<Value>.self).take(result, index, onlyChanges)
        }
    }
}

/// A query that can be observed.
protocol ObservableQuery<Answer>: MonitorQuery {
    /// How queries of this type are evaluated, as a constant.
    static var evaluation: QueryEvaluation<Answer> { get }
}
