// SPDX-License-Identifier: Apache-2.0

/// The query for a target's flags.
struct FlagsQuery: MonitorQuery {
    let target: MonitoredTarget

    var description: String { "flags of \(target.target)" }

    var namedTarget: MonitoredTarget? { target.named }

    func words(_ flags: ReachabilityFlags) -> String { flags.letters }

    func areSame(_ one: ReachabilityFlags, _ other: ReachabilityFlags) -> Bool { one == other }

    func plan(_ batch: inout EvaluationBatch) {
        batch.add(target.target, target.options, .flags)
    }

    func answer(
        from batch: inout EvaluationBatch,
        _ entries: Range<Int>
    ) throws(ReachabilityError) -> ReachabilityFlags {
        try batch.flags(entries.lowerBound)
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
