// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// The monitor of some targets on a clock that the caller drives, without a thread: ``MonitorState`` and what it asks.
///
/// The caller passes notifications and instants, and the network of each evaluation. The targets are not names.
package struct DrivenMonitor {
    /// A result that differs from the one before in what counts as a change, or its error.
    package struct Change {
        /// The index of the target.
        package let index: Int
        /// The report, or why the target could not be evaluated.
        package let result: Result<ReachabilityReport, ReachabilityError>
        /// Whether it is the first result of the target.
        package let isFirst: Bool
        /// The addresses that the result, or the one before, depends on.
        package let addresses: [IPAddress]
    }

    /// Why an evaluation is due.
    package enum Reason {
        /// It is the evaluation that the monitor makes from time to time.
        case routine
        /// An earlier one failed.
        case failure
        /// Something has changed.
        case change
    }

    private let questions: [ReportQuery]
    private var state = MonitorState()
    private var results: [Result<ReachabilityReport, ReachabilityError>?]
    /// When the next evaluation is due: ``MonitorState/deadline`` after the last change of the state.
    package private(set) var due: MonitorInstant?

    /// Creates a monitor whose targets are evaluated from ``begin(at:)`` on.
    package init(
        _ targets: [ReachabilityTarget],
        options: ReachabilityOptions,
        detail: ReachabilityReport.Detail,
        changes: ReachabilityReport.Change
    ) {
        questions = targets.map { target in
            ReportQuery(
                target: MonitoredTarget(target: target, options: options), detail: detail, changes: changes)
        }
        results = Array(repeating: nil, count: questions.count)
    }

    /// Registers all targets: the next ``advance(to:on:)`` evaluates them.
    package mutating func begin(at now: MonitorInstant) {
        for index in questions.indices { state.insert(MonitorState.ID(index + 1), at: now) }
    }

    /// Takes a notification.
    ///
    /// - Returns: Whether it can concern a target.
    package mutating func note(_ notification: KernelNotification, at now: MonitorInstant) -> Bool {
        let isCause = state.note(notification, at: now)
        if isCause { due = state.deadline }
        return isCause
    }

    /// Has the next ``advance(to:on:)`` evaluate all targets.
    ///
    /// - Parameters:
    ///   - now: The present instant.
    ///   - counts: Whether the pause before the next evaluation counts from this one.
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

    /// Postpones an evaluation for which nothing has changed.
    package mutating func postpone(to limit: MonitorInstant) {
        switch reason {
        case .routine: state.routineDue = limit
        case .failure: state.failures.due = limit
        case .change: return
        }
        due = state.deadline
    }

    /// Evaluates what is due at an instant.
    ///
    /// - Parameters:
    ///   - now: The instant.
    ///   - network: Returns the network of that instant; it is not kept.
    /// - Returns: The changes, in the order of the targets.
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
        let facts = NetworkFacts(
            routing: network,
            resolver: SystemResolver.shared,
            nameservers: { nil },
            addressPolicy: { .standard }
        )
        // Recordings do not contain what names resolve to, so no resolver is asked.
        var batch = EvaluationBatch(facts, .success(.notFound))
        for id in ids { questions[Int(id - 1)].plan(&batch) }
        batch.run()
        for (entry, id) in ids.enumerated() {
            let index = Int(id - 1)
            let before = state.records[id]?.all ?? []
            let entries = entry..<entry + 1
            let dependencies = batch.dependencies(of: entries)
            let result = Result { () throws(ReachabilityError) in
                try questions[index].answer(from: &batch, entries)
            }
            let isAnswered = if case .success = result { true } else { false }
            state.evaluated(id, isAnswered ? dependencies : nil, at: now)
            guard !result.isSame(as: results[index], questions[index].areSame) else { continue }
            let isFirst = results[index] == nil
            results[index] = result
            let addresses = before + dependencies.addresses.all
            changes.append(Change(index: index, result: result, isFirst: isFirst, addresses: addresses))
        }
    }
}
