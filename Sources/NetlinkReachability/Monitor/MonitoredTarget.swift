// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// A target with its options, and the query for its flags.
///
/// It is shared by the handle, its observations and the monitor.
final class MonitoredTarget: MonitorQuery {
    typealias Answer = ReachabilityFlags

    static let kind = QueryKind<ReachabilityFlags>(MonitoredTarget.self)

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

    var description: String { "flags of \(target)" }

    /// The host name; `nil` if the target is not a name.
    var name: String? { target.name }

    var namedTarget: MonitoredTarget? { name == nil ? nil : self }

    func areSame(_ one: ReachabilityFlags, _ other: ReachabilityFlags) -> Bool { one == other }

    func plan(_ batch: inout EvaluationBatch) {
        batch.add(target, options, .flags)
    }

    func answer(from batch: inout EvaluationBatch, _ entries: Range<Int>) throws(ReachabilityError)
        -> ReachabilityFlags
    {
        try batch.flags(entries.lowerBound)
    }
}

/// The query for a target's report.
struct ReportQuery: MonitorQuery {
    typealias Answer = ReachabilityReport

    static let kind = QueryKind<ReachabilityReport>(ReportQuery.self)

    let target: MonitoredTarget
    let detail: ReachabilityReport.Detail
    let changes: ReachabilityReport.Change

    var description: String { "report on \(target.target)" }

    var namedTarget: MonitoredTarget? { target.namedTarget }

    func areSame(_ one: ReachabilityReport, _ other: ReachabilityReport) -> Bool {
        one.isSame(as: other, changes)
    }

    func plan(_ batch: inout EvaluationBatch) {
        batch.add(target.target, target.options, detail.evaluation)
    }

    func answer(
        from batch: inout EvaluationBatch,
        _ entries: Range<Int>
    ) throws(ReachabilityError) -> ReachabilityReport {
        try batch.report(entries.lowerBound, on: target.target, target.options)
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
