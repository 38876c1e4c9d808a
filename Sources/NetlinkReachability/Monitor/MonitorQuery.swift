// SPDX-License-Identifier: Apache-2.0

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
    /// Adds the targets that the answer needs to a batch.
    func plan(_ batch: inout EvaluationBatch)
    /// Answers from a batch that was run.
    ///
    /// - Parameters:
    ///   - batch: The batch.
    ///   - entries: What ``plan(_:)`` added to it.
    /// - Returns: The answer.
    /// - Throws: `ReachabilityError` if the query could not be answered.
    func answer(from batch: inout EvaluationBatch, _ entries: Range<Int>) throws(ReachabilityError) -> Answer
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

    func plan(_ batch: inout EvaluationBatch) {}

    func answer(
        from batch: inout EvaluationBatch,
        _ entries: Range<Int>
    ) throws(ReachabilityError) -> NetworkEvent {
        preconditionFailure("events are not evaluated")
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
