// SPDX-License-Identifier: Apache-2.0

/// A question that the monitor asks again whenever its answer may have changed.
protocol MonitorQuestion: Sendable {
    associatedtype Answer: MonitorAnswer

    /// The target whose name the monitor resolves first; `nil` if there is no name.
    var namedTarget: MonitoredTarget? { get }
    /// Whether the answer depends on which name servers are configured.
    var readsNameservers: Bool { get }
    /// The target of a handle, which stores the flags of the newest answer; `nil` for other questions.
    var subject: MonitoredTarget? { get }

    /// Adds the targets that the answer needs to a round.
    func plan(_ round: inout EvaluationRound)
    /// Answers from a round that was asked.
    ///
    /// - Parameters:
    ///   - round: The round.
    ///   - entries: What ``plan(_:)`` added to it.
    /// - Returns: The answer.
    /// - Throws: ``ReachabilityError`` if the question could not be answered.
    func answer(from round: inout EvaluationRound, _ entries: Range<Int>) throws(ReachabilityError) -> Answer
}

extension MonitorQuestion {
    var subject: MonitoredTarget? { nil }

    /// Answers from facts, in a round of its own.
    func answer(from facts: NetworkFacts) throws(ReachabilityError) -> Answer {
        var round = EvaluationRound(facts)
        plan(&round)
        round.ask()
        return try answer(from: &round, 0..<round.count)
    }
}

/// An answer that the monitor compares with the previous one.
protocol MonitorAnswer: Sendable {
    /// The part that is compared: an answer with an equal one is not delivered again.
    associatedtype Change: Equatable & Sendable
    var change: Change { get }
    /// The flags of an answer about a target.
    var latestFlags: ReachabilityFlags? { get }
}

extension MonitorAnswer {
    var latestFlags: ReachabilityFlags? { nil }
}

extension MonitorAnswer where Self: Equatable {
    var change: Self { self }
}

extension Observed where Answer: MonitorAnswer {
    /// The part that is compared.
    ///
    /// Without a key path, which would take memory each time: its types are known at run time only.
    var change: Observed<Answer.Change> { map { $0.change } }
}
