// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// A monitor of some queries without a thread: ``MonitorState`` and its work, on a clock that the caller drives.
///
/// The caller passes notifications, instants, and the network of each evaluation. No query has a host name.
package struct DrivenMonitor<Value: Sendable> {
    /// A result that counts as a change from the one before, or its error.
    package struct Change {
        /// The index of the query.
        package let index: Int
        /// The value, or why the query could not be answered.
        package let result: Result<Value, ReachabilityError>
        /// Whether this is the first result of the query.
        package let isFirst: Bool
        /// The event since the last evaluation after which the query has this result; `nil` for none.
        package let step: AnswerTrace<Value>.Step?
        /// Whether the result is that of the last change: it was another one in between.
        package var isRepeat = false
    }

    /// Why an evaluation is due.
    package enum Reason {
        /// The monitor evaluates everything periodically.
        case routine
        /// An earlier evaluation failed.
        case failure
        /// Something has changed.
        case change
    }

    private let queries: [any Query<Value>]
    /// The results after each event that can have changed them.
    ///
    /// The caller evaluates these queries.
    package var trace: AnswerTrace<Value>
    private var state = MonitorState()
    private var results: [Result<Value, ReachabilityError>?]
    /// When the next evaluation is due: the ``MonitorState/deadline`` after the last change of the state.
    package private(set) var due: MonitorInstant?

    /// Creates a monitor whose queries are evaluated from ``begin(at:)`` on.
    package init(_ queries: [NetworkQuery<Value>]) {
        self.queries = queries.map(\.query)
        trace = AnswerTrace(queries)
        results = Array(repeating: nil, count: queries.count)
    }

    /// Registers all queries except event queries: the next ``advance(to:on:)`` evaluates them.
    package mutating func begin(at now: MonitorInstant) {
        for index in queries.indices where !queries[index].isEvent {
            let inputs = queries[index].inputs.intersection(.answers)
            state.insert(MonitorState.ID(index + 1), inputs: inputs, at: now)
        }
    }

    /// The values that the event queries have for an event.
    package func values(of event: NetworkEvent) -> [(index: Int, value: Value)] {
        queries.enumerated().compactMap { index, query in query.value(of: event).map { (index, $0) } }
    }

    /// Records a notification.
    ///
    /// - Returns: Whether the notification can concern a query.
    package mutating func note(_ notification: KernelNotification, at now: MonitorInstant) -> Bool {
        let isCause = state.note(notification, at: now)
        if isCause { due = state.deadline }
        return isCause
    }

    /// Records that a recording states other evidence.
    package mutating func noteAnswers(at now: MonitorInstant) {
        state.noteAnswers(at: now)
        due = state.deadline
    }

    /// Makes the next ``advance(to:on:)`` evaluate all queries.
    ///
    /// - Parameters:
    ///   - now: The present instant.
    ///   - counts: Whether the pause before the next evaluation is counted from `now`.
    package mutating func evaluateAll(at now: MonitorInstant, counts: Bool = true) {
        let last = state.lastEvaluation
        state.evaluateAll(at: now)
        if !counts { state.lastEvaluation = last }
    }

    /// Why the next evaluation is due.
    package var reason: Reason {
        if due == state.routineDue { return .routine }
        return due == state.failures.due ? .failure : .change
    }

    /// Postpones the next evaluation, unless a change requires it.
    package mutating func postpone(to limit: MonitorInstant) {
        switch reason {
        case .routine: state.routineDue = limit
        case .failure: state.failures.due = limit
        case .change: return
        }
        due = state.deadline
    }

    /// Performs the evaluations that are due at an instant.
    ///
    /// - Parameters:
    ///   - now: The instant.
    ///   - network: Returns the network of that instant; the monitor does not keep it.
    /// - Returns: The changes, in the order of the queries, with results that were another one since the last
    ///   evaluation.
    package mutating func advance(
        to now: MonitorInstant,
        on network: () -> any RoutingSource
    ) -> [Change] {
        var changes: [Change] = []
        while case let actions = state.advance(to: now), !actions.isEmpty {
            evaluate(actions.evaluations, network(), at: now, &changes)
        }
        due = state.deadline
        return changes.sorted { $0.index < $1.index }
    }

    private mutating func evaluate(
        _ ids: [MonitorState.ID],
        _ network: any RoutingSource,
        at now: MonitorInstant,
        _ changes: inout [Change]
    ) {
        let indices = ids.map { Int($0 - 1) }
        trace.evaluate(indices, on: network, at: now)
        for (id, index) in zip(ids, indices) {
            guard let result = trace.answer(to: index) else { continue }
            let isAnswered = if case .success = result { true } else { false }
            state.evaluated(id, isAnswered ? trace.dependencies(of: index) : nil, at: now)
            let step = trace.lastStep(of: index, to: result)
            trace.settle(index)
            guard !result.isSame(as: results[index], { queries[index].areSame($0, $1) }) else {
                guard let step else { continue }
                changes.append(
                    Change(index: index, result: result, isFirst: false, step: step, isRepeat: true))
                continue
            }
            let isFirst = results[index] == nil
            results[index] = result
            changes.append(Change(index: index, result: result, isFirst: isFirst, step: isFirst ? nil : step))
        }
    }
}
