// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// A question that the monitor asks again whenever its answer may have changed.
protocol MonitorQuestion: Sendable {
    associatedtype Answer: MonitorAnswer

    /// The target whose name the monitor resolves first; `nil` if there is no name.
    var namedTarget: MonitoredTarget? { get }
    /// Whether the answer depends on which name servers are configured.
    var readsNameservers: Bool { get }
    /// The IPv4 address of a plain question, which is asked together with others; `nil` for other questions.
    var plainDestination: IPAddress? { get }
    /// The target of a handle, which stores the flags of the newest answer; `nil` for other questions.
    var subject: MonitoredTarget? { get }

    /// Evaluates the question.
    func answer(from facts: NetworkFacts) throws(ReachabilityError) -> Answer
}

extension MonitorQuestion {
    var plainDestination: IPAddress? { nil }
    var subject: MonitoredTarget? { nil }
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
