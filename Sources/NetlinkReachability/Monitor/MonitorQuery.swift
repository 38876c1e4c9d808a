// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// A query that the monitor asks again whenever its answer may have changed.
protocol MonitorQuery<Answer>: Sendable {
    associatedtype Answer: Sendable

    /// What is evaluated, in words.
    var description: String { get }
    /// The target whose name the monitor resolves first; `nil` if there is no name.
    var namedTarget: MonitoredTarget? { get }
    /// What the answer depends on besides routes and interfaces.
    var inputs: QueryInputs { get }

    /// An answer in words.
    func words(_ answer: Answer) -> String
    /// What is known of the answer, in one sentence; `nil` for nothing.
    func sentence(on result: Result<Answer, ReachabilityError>?) -> String
    /// Why the answer is as it is; `nil` if it has no reason.
    func reason(_ answer: Answer) -> ReachabilityReason?
    /// Whether two answers are equal in what counts as a change: the second one is not delivered then.
    func areSame(_ one: Answer, _ other: Answer) -> Bool
    /// Evaluates the query: a function of what is known alone.
    func value(_ known: inout Known) throws(Interruption) -> Answer
}

extension MonitorQuery {
    var namedTarget: MonitoredTarget? { nil }
    var inputs: QueryInputs { [] }

    func words(_ answer: Answer) -> String { "\(answer)" }

    func sentence(on result: Result<Answer, ReachabilityError>?) -> String {
        switch result {
        case .success(let answer): "\(description): \(words(answer))"
        case .failure(let error): "\(description) could not be evaluated: \(error)"
        case nil: "\(description): no value yet"
        }
    }

    func reason(_ answer: Answer) -> ReachabilityReason? { nil }
}

/// The query for events, which come of themselves: nothing is evaluated.
struct EventQuery: MonitorQuery {
    var description: String { "events" }

    func areSame(_ one: NetworkEvent, _ other: NetworkEvent) -> Bool { false }

    func value(_ known: inout Known) throws(Interruption) -> NetworkEvent {
        throw .failed(
            ReachabilityError(
                .systemFailure, operation: "evaluate events", message: "events come of themselves"))
    }
}

extension Result where Success: Sendable, Failure == ReachabilityError {
    /// The answer; `nil` for a failure.
    var answer: Success? { try? get() }

    /// Whether this result follows another one without being a change of it.
    func isSame(as other: Self?, _ areSame: (Success, Success) -> Bool) -> Bool {
        switch (self, other) {
        case (.success(let one), .success(let other)): areSame(one, other)
        case (.failure(let one), .failure(let other)): one == other
        default: false
        }
    }
}

/// A target with its options.
///
/// It is shared by the handle, its observations and the monitor.
final class MonitoredTarget: Sendable {
    let target: ReachabilityTarget
    /// Options other than the defaults, which need no memory.
    private let special: Box<ReachabilityOptions>?

    init(target: ReachabilityTarget, options: ReachabilityOptions) {
        self.target = target
        special = options == ReachabilityOptions() ? nil : Box(options)
    }

    var options: ReachabilityOptions {
        special?.value ?? ReachabilityOptions()
    }

    /// The host name; `nil` if the target is not a name.
    var name: String? { target.name }

    /// The target itself if it has a name.
    var named: MonitoredTarget? { name == nil ? nil : self }
}

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
    /// Evaluates a query.
    let value: @Sendable (Query, inout Known) throws(Interruption) -> Value
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
        value = { (object, known) throws(Interruption) in try query(object).value(&known) }
    }

    /// Creates the kind of queries whose values have an index.
    init<Element>(_ kind: QueryKind<Element>, index: Int) where Value == (index: Int, value: Element) {
        describe = kind.describe
        words = { kind.words($0, $1.value) }
        sentence = { kind.sentence($0, $1?.map(\.value)) }
        reason = { kind.reason($0, $1.value) }
        areSame = { kind.areSame($0, $1.value, $2.value) }
        value = { (object, known) throws(Interruption) in (index, try kind.value(object, &known)) }
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

/// The query for a target's flags.
struct FlagsQuery: MonitorQuery {
    let target: MonitoredTarget

    var description: String { "flags of \(target.target)" }

    var namedTarget: MonitoredTarget? { target.named }

    func words(_ flags: ReachabilityFlags) -> String { flags.letters }

    func areSame(_ one: ReachabilityFlags, _ other: ReachabilityFlags) -> Bool { one == other }

    func value(_ known: inout Known) throws(Interruption) -> ReachabilityFlags {
        try known.flags(of: target.target, target.options)
    }
}

/// The query for a target's report.
struct ReportQuery: MonitorQuery {
    let target: MonitoredTarget
    let detail: ReachabilityReport.Detail
    let changes: ReachabilityReport.Change

    var description: String { "report on \(target.target)" }

    var namedTarget: MonitoredTarget? { target.named }

    func sentence(on result: Result<ReachabilityReport, ReachabilityError>?) -> String {
        ReachabilityReport.sentence(on: "\(target.target)", result)
    }

    func reason(_ report: ReachabilityReport) -> ReachabilityReason? { report.reason }

    func areSame(_ one: ReachabilityReport, _ other: ReachabilityReport) -> Bool {
        one.isSame(as: other, changes)
    }

    func value(_ known: inout Known) throws(Interruption) -> ReachabilityReport {
        try known.report(on: target.target, target.options, detail.evaluation)
    }
}

extension ReachabilityReport {
    /// Whether a report is equal to another one in what counts as a change.
    ///
    /// The addresses of a name are not compared: a resolver can return them in another order each time.
    package func isSame(as other: Self, _ changes: Change) -> Bool {
        guard flags == other.flags, changes == .report else { return flags == other.flags }
        return reason == other.reason && interface == other.interface && gateway == other.gateway
            && sourceAddress == other.sourceAddress
    }
}
