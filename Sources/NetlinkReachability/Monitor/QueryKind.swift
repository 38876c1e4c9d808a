// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// What can be done with the queries of one type, made once where that type is known.
///
/// A query under observation is an object whose type only its kind knows: with closures of its own, each of 100,000
/// queries would take a third more memory. Called through a protocol, the code of a generic class looks up types in the
/// runtime, which takes longer than an evaluation.
///
/// The cast is safe because a kind is paired with an object where both have the same type only: in ``NetworkQuery``.
final class QueryKind<Value: Sendable>: Sendable {
    typealias Query = any AnyObject & Sendable

    /// What is evaluated, in words.
    let describe: @Sendable (Query) -> String
    /// An answer in words.
    let words: @Sendable (Query, Value) -> String
    /// What is known of the answer, in one sentence.
    let sentence: @Sendable (Query, Result<Value, ReachabilityError>?) -> String
    /// Why an answer is as it is.
    let reason: @Sendable (Query, Value) -> ReachabilityReason?
    /// Whether two answers are equal in what counts as a change.
    let areSame: @Sendable (Query, Value, Value) -> Bool
    /// Adds the targets that the answer needs to a batch.
    let plan: @Sendable (Query, inout EvaluationBatch) -> Void
    /// Answers from a batch that was run, with what ``plan`` added to it.
    let answer: @Sendable (Query, inout EvaluationBatch, Range<Int>) throws(ReachabilityError) -> Value
    /// Makes a value of an event; `nil` for queries that are evaluated.
    let event: (@Sendable (NetworkEvent) -> Value)?

    init<Base: MonitorQuery<Value>>(
        _ type: Base.Type,
        event: (@Sendable (NetworkEvent) -> Value)? = nil
    ) {
        self.event = event
        @Sendable func query(_ object: Query) -> Base { unsafeDowncast(object, to: Box<Base>.self).value }
        describe = { query($0).description }
        words = { query($0).words($1) }
        sentence = { query($0).sentence(on: $1) }
        reason = { query($0).reason($1) }
        areSame = { query($0).areSame($1, $2) }
        plan = { query($0).plan(&$1) }
        answer = { (object, batch, entries) throws(ReachabilityError) in
            try query(object).answer(from: &batch, entries)
        }
    }

    /// Creates the kind of queries whose values have an index.
    init<Element>(_ kind: QueryKind<Element>, index: Int) where Value == (index: Int, value: Element) {
        describe = kind.describe
        words = { kind.words($0, $1.value) }
        sentence = { kind.sentence($0, $1?.map(\.value)) }
        reason = { kind.reason($0, $1.value) }
        areSame = { kind.areSame($0, $1.value, $2.value) }
        plan = kind.plan
        answer = { (object, batch, entries) throws(ReachabilityError) in
            (index, try kind.answer(object, &batch, entries))
        }
        if let event = kind.event { self.event = { (index, event($0)) } } else { event = nil }
    }
}

/// A query as the sink of an observation has it.
struct ObservedQuery<Value: Sendable>: Sendable {
    let kind: QueryKind<Value>
    let object: QueryKind<Value>.Query

    /// Whether its results are events, each of which is delivered.
    var isEvent: Bool { kind.event != nil }

    var description: String { kind.describe(object) }

    func words(_ value: Value) -> String { kind.words(object, value) }

    func sentence(on result: Result<Value, ReachabilityError>?) -> String { kind.sentence(object, result) }

    func reason(_ value: Value) -> ReachabilityReason? { kind.reason(object, value) }

    func areSame(_ one: Value, _ other: Value) -> Bool { kind.areSame(object, one, other) }
}
