// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// A query: what is evaluated, and what counts as a change of its value.
///
/// Each kind of query is one final class that is not generic. A stored query is one reference, and calling it costs
/// as little as calling a closure. The code of a generic class would look up types in the runtime.
protocol Query<Value>: AnyObject, Sendable {
    associatedtype Value: Sendable

    /// The evaluated subject, in words.
    var description: String { get }
    /// The target whose name the monitor resolves first; `nil` if the query has no name.
    var namedTarget: FlagsQuery? { get }
    /// The inputs on which the value depends besides routes and interfaces.
    var inputs: QueryInputs { get }
    /// Whether the values are events. An event query is never evaluated: each event is delivered as it happens.
    var isEvent: Bool { get }

    /// A value in words.
    func words(_ value: Value) -> String
    /// A sentence about the value, or a sentence that it is not known yet.
    func sentence(on result: Result<Value, ReachabilityError>?) -> String
    /// Why the value is as it is; `nil` if it has no reason.
    func reason(_ value: Value) -> ReachabilityReason?
    /// Whether two values do not count as a change from one to the other. The second one is not delivered then.
    func areSame(_ one: Value, _ other: Value) -> Bool
    /// The value for an event; `nil` for queries that are evaluated.
    func value(of event: NetworkEvent) -> Value?
    /// Evaluates the query: a pure function of `known`.
    func value(_ known: inout Known) throws(Interruption) -> Value

    // MARK: Implemented for all kinds by the extension

    /// Evaluates this query alone.
    ///
    /// - Parameters:
    ///   - facts: The network.
    ///   - resolution: The result for its name; `nil` to resolve the name now.
    /// - Returns: The value.
    /// - Throws: `ReachabilityError` if there is no value.
    func answer(
        from facts: NetworkFacts,
        _ resolution: ResolvedName?
    ) throws(ReachabilityError) -> Value
    /// Evaluates queries together whose values have this type.
    ///
    /// - Parameters:
    ///   - queries: The queries.
    ///   - facts: The network.
    ///   - resolutions: The results for names. Other names are resolved now.
    /// - Returns: The results, in the order of the queries.
    func answers(
        to queries: [NetworkQuery<Value>],
        from facts: NetworkFacts,
        _ resolutions: [NameQuery: ResolvedName]
    ) -> [Result<Value, ReachabilityError>]
    /// Evaluates the query and offers the result to a sink.
    ///
    /// - Parameters:
    ///   - sink: The sink of an observation.
    ///   - index: The index of the query in that observation.
    ///   - known: What is known.
    ///   - onlyChanges: Whether a value that equals the last one is dropped. Set while the resolver cannot run: a
    ///     value from the old addresses does not mean that the failure is over.
    /// - Returns: Whether the value is delivered, and its error.
    /// - Throws: ``Interruption/missing`` if a fact is not known yet.
    func evaluate(
        for sink: ObservationSink<Value>,
        _ index: Int,
        _ known: inout Known,
        onlyChanges: Bool
    ) throws(Interruption) -> EvaluationOutcome
    /// Calls the handler with undelivered results, if the handler runs on the monitor's thread.
    func deliver(_ sink: ObservationSink<Value>)
}

extension Query {
    var namedTarget: FlagsQuery? { nil }
    var inputs: QueryInputs { [] }
    var isEvent: Bool { false }

    func words(_ value: Value) -> String { "\(value)" }

    func sentence(on result: Result<Value, ReachabilityError>?) -> String {
        switch result {
        case .success(let value): "\(description): \(words(value))"
        case .failure(let error): "\(description) could not be evaluated: \(error)"
        case nil: "\(description): no value yet"
        }
    }

    func reason(_ value: Value) -> ReachabilityReason? { nil }

    func value(of event: NetworkEvent) -> Value? { nil }

    func answer(
        from facts: NetworkFacts,
        _ resolution: ResolvedName?
    ) throws(ReachabilityError) -> Value {
        try facts.evaluate { (known) throws(Interruption) in
            known.resolution = resolution
            return try value(&known)
        }
    }

    func answers(
        to queries: [NetworkQuery<Value>],
        from facts: NetworkFacts,
        _ resolutions: [NameQuery: ResolvedName]
    ) -> [Result<Value, ReachabilityError>] {
        facts.values(of: queries) { (query, known) throws(Interruption) in
            let query = query.query
            if !resolutions.isEmpty, let name = query.namedTarget?.name {
                known.resolution = resolutions[name]
            }
            return try query.value(&known)
        }
    }

    func evaluate(
        for sink: ObservationSink<Value>,
        _ index: Int,
        _ known: inout Known,
        onlyChanges: Bool
    ) throws(Interruption) -> EvaluationOutcome {
        let result = known.attempt { (known) throws(Interruption) in try value(&known) }
        guard let result else { throw .missing }
        return sink.offer(result, index, onlyChanges: onlyChanges)
    }

    func deliver(_ sink: ObservationSink<Value>) { sink.deliver() }
}

extension Query where Value: Equatable {
    func areSame(_ one: Value, _ other: Value) -> Bool { one == other }
}

/// The query for events.
final class EventQuery: Query {
    var description: String { "events" }
    var isEvent: Bool { true }

    func areSame(_ one: NetworkEvent, _ other: NetworkEvent) -> Bool { false }

    func value(of event: NetworkEvent) -> NetworkEvent? { event }

    func value(_ known: inout Known) throws(Interruption) -> NetworkEvent {
        throw .failed(
            ReachabilityError(
                .noCurrentValue,
                operation: "ask for events",
                message: "events have no current value: observe them, or iterate over updates(of: .events)"))
    }
}

extension Result where Success: Sendable, Failure == ReachabilityError {
    /// The answer; `nil` for a failure.
    var answer: Success? { try? get() }

    /// Whether this result does not count as a change from another one.
    func isSame(as other: Self?, _ areSame: (Success, Success) -> Bool) -> Bool {
        switch (self, other) {
        case (.success(let one), .success(let other)): areSame(one, other)
        case (.failure(let one), .failure(let other)): one == other
        default: false
        }
    }
}

/// The query for a value that comes from the program, not from the kernel.
final class OutsideQuery<Value: Equatable & Sendable>: Query {
    let description: String
    private let read: @Sendable () -> Value

    init(_ description: String, _ read: @escaping @Sendable () -> Value) {
        (self.description, self.read) = (description, read)
    }

    func value(_ known: inout Known) throws(Interruption) -> Value { read() }
}

/// The query for the flags of a target: the target with its options.
///
/// The handle, its observations and the monitor share it.
final class FlagsQuery: Query {
    let target: ReachabilityTarget
    /// The options, if they differ from the defaults; `nil` saves memory otherwise.
    private let special: Box<ReachabilityOptions>?

    init(target: ReachabilityTarget, options: ReachabilityOptions) {
        self.target = target
        special = options == ReachabilityOptions() ? nil : Box(options)
    }

    var options: ReachabilityOptions {
        special?.value ?? ReachabilityOptions()
    }

    /// The name of the target, and the options that affect its resolution; `nil` if the target has no name.
    var name: NameQuery? {
        guard let name = target.name else { return nil }
        return NameQuery(name, options)
    }

    var description: String { "flags of \(target)" }

    var namedTarget: FlagsQuery? { target.name == nil ? nil : self }

    func words(_ flags: ReachabilityFlags) -> String { flags.letters }

    func value(_ known: inout Known) throws(Interruption) -> ReachabilityFlags {
        try known.flags(of: target, options)
    }
}

/// The query for a target's report.
final class ReportQuery: Query {
    private let subject: FlagsQuery
    private let detail: ReachabilityReport.Detail
    private let changes: ReachabilityReport.Change

    init(
        _ subject: FlagsQuery,
        _ detail: ReachabilityReport.Detail,
        _ changes: ReachabilityReport.Change
    ) {
        (self.subject, self.detail, self.changes) = (subject, detail, changes)
    }

    var description: String { "report on \(subject.target)" }

    var namedTarget: FlagsQuery? { subject.namedTarget }

    func sentence(on result: Result<ReachabilityReport, ReachabilityError>?) -> String {
        ReachabilityReport.sentence(on: "\(subject.target)", result)
    }

    func reason(_ report: ReachabilityReport) -> ReachabilityReason? { report.reason }

    func areSame(_ one: ReachabilityReport, _ other: ReachabilityReport) -> Bool {
        one.isSame(as: other, changes)
    }

    func value(_ known: inout Known) throws(Interruption) -> ReachabilityReport {
        try known.report(on: subject.target, subject.options, detail.evaluation)
    }
}

extension ReachabilityReport {
    /// Whether the differences between two reports do not count as a change.
    ///
    /// The addresses of a name are not compared, because a resolver can return them in another order each time.
    package func isSame(as other: Self, _ changes: Change) -> Bool {
        guard flags == other.flags, changes == .report else { return flags == other.flags }
        return reason == other.reason && interface == other.interface && gateway == other.gateway
            && sourceAddress == other.sourceAddress && returns?.isDelivered == other.returns?.isDelivered
    }
}
