// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// A target with its options, and the question for its flags.
///
/// It is shared by the handle, its iterations and the monitor. Nothing of it changes but the current flags.
final class MonitoredTarget: MonitorQuestion {
    let target: ReachabilityTarget
    /// Options other than the defaults, which need no memory.
    private let special: Box<ReachabilityOptions>?
    /// The flags of the newest answer while the handle is started.
    let current = CurrentFlags()

    init(target: ReachabilityTarget, options: ReachabilityOptions) {
        self.target = target
        special = options == ReachabilityOptions() ? nil : Box(options)
    }

    var options: ReachabilityOptions {
        special?.value ?? ReachabilityOptions()
    }

    /// The host name; `nil` if the target is no name.
    var name: String? {
        guard case .host(let name) = target.kind else { return nil }
        return name
    }

    var namedTarget: MonitoredTarget? { name == nil ? nil : self }
    var readsNameservers: Bool { false }
    var subject: MonitoredTarget? { self }

    func plan(_ round: inout EvaluationRound) {
        round.add(target, options, .flags)
    }

    /// The flags; empty while the interface that the question is restricted to does not exist.
    func answer(from round: inout EvaluationRound, _ entries: Range<Int>) throws(ReachabilityError)
        -> ReachabilityFlags
    {
        do {
            return try round.flags(entries.lowerBound)
        } catch  where error.code == .unknownInterface {
            return []
        }
    }
}

extension ReachabilityFlags: MonitorAnswer {
    var latestFlags: ReachabilityFlags? { self }
}

/// The question for a target's report.
struct ReportQuestion: MonitorQuestion {
    let target: MonitoredTarget
    let detail: ReachabilityReport.Detail

    var namedTarget: MonitoredTarget? { target.namedTarget }
    var readsNameservers: Bool { false }
    var subject: MonitoredTarget? { target }

    func plan(_ round: inout EvaluationRound) {
        round.add(target.target, target.options, detail.evaluation)
    }

    func answer(
        from round: inout EvaluationRound,
        _ entries: Range<Int>
    ) throws(ReachabilityError) -> ReachabilityReport {
        try round.report(entries.lowerBound, on: target.target, target.options)
    }
}

extension ReachabilityReport: MonitorAnswer {
    /// A report is delivered when the flags change: another gateway with the same flags is not a change.
    var change: ReachabilityFlags { flags }
    var latestFlags: ReachabilityFlags? { flags }
}
