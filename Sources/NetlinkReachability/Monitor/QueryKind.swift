// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// What is done with the queries of one type, made once where that type is known.
///
/// A query in a ``NetworkQuery`` is an object whose type only its kind knows: with closures of its own, each of 100,000
/// queries would take a third more memory. Called through a protocol, the code of a generic class looks up types in the
/// runtime, which takes longer than an evaluation.
///
/// The casts are safe because only ``NetworkQuery`` pairs a kind with an object, and only with a box of its type, and
/// because an ``Observation`` passes on the sink of the same `Value`.
final class QueryKind<Value: Sendable>: Sendable {
    typealias Query = any AnyObject & Sendable

    /// What is evaluated, in words.
    let describe: @Sendable (Query) -> String
    /// Whether two answers are equal in what counts as a change.
    let areSame: @Sendable (Query, Value, Value) -> Bool
    /// Adds the targets that the answer needs to a batch.
    let plan: @Sendable (Query, inout EvaluationBatch) -> Void
    /// Answers from a batch that was run, with what ``plan`` added to it.
    let answer: @Sendable (Query, inout EvaluationBatch, Range<Int>) throws(ReachabilityError) -> Value
    /// Does the same, and offers the result to the sink of an observation.
    ///
    /// The last parameter is whether an answer that equals the last one is dropped. A name whose resolver cannot run
    /// needs that: the answer about the addresses from before does not end that failure.
    let evaluate:
        @Sendable (Query, _ sink: AnyObject, _ index: Int, inout EvaluationBatch, Range<Int>, Bool) ->
            Observation.Outcome

    init<Base: MonitorQuery<Value>>(_ type: Base.Type) {
        @Sendable func query(_ object: Query) -> Base { unsafeDowncast(object, to: Box<Base>.self).value }
        describe = { query($0).description }
        areSame = { query($0).areSame($1, $2) }
        plan = { query($0).plan(&$1) }
        answer = { (object, batch, entries) throws(ReachabilityError) in
            try query(object).answer(from: &batch, entries)
        }
        evaluate = { (object, sink, index, batch, entries, onlyChanges) in
            let result = Result { () throws(ReachabilityError) in
                try query(object).answer(from: &batch, entries)
            }
            return unsafeDowncast(sink, to: ObservationSink<Value>.self).take(result, index, onlyChanges)
        }
    }

    /// Creates the kind of queries whose values have an index.
    init<Element>(_ kind: QueryKind<Element>, index: Int) where Value == (index: Int, value: Element) {
        describe = kind.describe
        areSame = { kind.areSame($0, $1.value, $2.value) }
        plan = kind.plan
        answer = { (object, batch, entries) throws(ReachabilityError) in
            (index, try kind.answer(object, &batch, entries))
        }
        evaluate = { (object, sink, place, batch, entries, onlyChanges) in
            let result = Result { () throws(ReachabilityError) in
                (index: index, value: try kind.answer(object, &batch, entries))
            }
            return unsafeDowncast(sink, to: ObservationSink<Value>.self).take(result, place, onlyChanges)
        }
    }
}
