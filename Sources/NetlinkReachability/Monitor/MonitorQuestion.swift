// SPDX-License-Identifier: Apache-2.0

/// A question that the monitor asks again whenever its answer may have changed.
protocol MonitorQuestion: Sendable {
    associatedtype Answer: MonitorAnswer

    /// The target whose name the monitor resolves first; `nil` if there is no name.
    var namedTarget: MonitoredTarget? { get }
    /// Whether the answer depends on which name servers are configured.
    var readsNameservers: Bool { get }
    /// The IPv4 address of a plain question, which is asked together with others; `nil` for other questions.
    var plainDestination: IPAddress? { get }

    /// Evaluates the question.
    func answer(from facts: NetworkFacts) throws(ReachabilityError) -> Answer
}

extension MonitorQuestion {
    var plainDestination: IPAddress? { nil }
}

/// An answer that the monitor compares with the previous one.
protocol MonitorAnswer: Sendable {
    /// The part that is compared: an answer with an equal one is not delivered again.
    associatedtype Change: Equatable & Sendable
    var change: Change { get }
}

extension MonitorAnswer where Self: Equatable {
    var change: Self { self }
}

extension ReachabilityFlags: MonitorAnswer {}

extension PathVerdict: MonitorAnswer {
    /// A path is delivered when it changes: another reason for the same path is not a change.
    var change: NetworkPath { path }
}

extension ReachabilityReport: MonitorAnswer {
    /// A report is delivered when the flags change: another gateway with the same flags is not a change.
    var change: ReachabilityFlags { flags }
}

extension Observed where Answer: MonitorAnswer {
    /// The part that is compared.
    ///
    /// Without a key path, which would take memory each time: its types are known at run time only.
    var change: Observed<Answer.Change> { map { $0.change } }
}

// MARK: - Targets

/// A target with its options, and the question for its flags.
///
/// It is immutable and shared by the handle, its iterations and the monitor.
final class MonitoredTarget: MonitorQuestion {
    /// Options other than the defaults, which need no memory.
    private final class Special: Sendable {
        let options: ReachabilityOptions

        init(_ options: ReachabilityOptions) {
            self.options = options
        }
    }

    let target: ReachabilityTarget
    private let special: Special?

    init(target: ReachabilityTarget, options: ReachabilityOptions) {
        self.target = target
        special = options == ReachabilityOptions() ? nil : Special(options)
    }

    var options: ReachabilityOptions {
        special?.options ?? ReachabilityOptions()
    }

    /// The host name; `nil` if the target is no name.
    var name: String? {
        guard case .host(let name) = target.kind else { return nil }
        return name
    }

    var namedTarget: MonitoredTarget? { name == nil ? nil : self }
    var readsNameservers: Bool { false }

    var plainDestination: IPAddress? {
        guard case .address(let address) = target.kind, special?.options.isPlain ?? true,
            let destination = address.plainDestination, destination.family == .v4
        else { return nil }
        return destination
    }

    func evaluator(_ facts: NetworkFacts) -> TargetEvaluator {
        TargetEvaluator(facts: facts, options: options)
    }

    /// The flags; empty while the interface that the question is restricted to does not exist.
    func answer(from facts: NetworkFacts) throws(ReachabilityError) -> ReachabilityFlags {
        try evaluator(facts).monitoredFlags(of: target)
    }
}

/// The question for a target's report.
struct ReportQuestion: MonitorQuestion {
    let target: MonitoredTarget
    let detail: ReachabilityReport.Detail

    var namedTarget: MonitoredTarget? { target.namedTarget }
    var readsNameservers: Bool { false }

    func answer(from facts: NetworkFacts) throws(ReachabilityError) -> ReachabilityReport {
        try target.evaluator(facts).report(on: target.target, detail)
    }
}

extension TargetEvaluator {
    /// Evaluates a target, and makes a report of the evaluation.
    func report(
        on target: ReachabilityTarget,
        _ detail: ReachabilityReport.Detail
    ) throws(ReachabilityError) -> ReachabilityReport {
        let evaluation = try evaluate(target, detail: detail == .full ? .full : .reason)
        let source = detail == .full ? try sourceAddress(of: evaluation) : nil
        return ReachabilityReport(target, evaluation, sourceAddress: source)
    }
}
