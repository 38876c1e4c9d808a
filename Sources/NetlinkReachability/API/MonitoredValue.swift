// SPDX-License-Identifier: Apache-2.0

/// What is observed of the target of a handle: flags or reports, and what counts as a change of them.
///
/// ```swift
/// for try await report in reachability.updates(of: .reports(onChangeOf: .report)) {
///     print(report.flags.letters, report.interface?.name ?? "-", report.gateway?.description ?? "-")
/// }
/// ```
public struct MonitoredValue<Value: Sendable>: Sendable {
    /// Returns the query about a target.
    let query: @Sendable (MonitoredTarget) -> NetworkQuery<Value>
}

extension MonitoredValue<ReachabilityFlags> {
    /// The flags, whenever they change: see ``NetworkQuery/flags(of:options:)``.
    public static let flags = MonitoredValue { NetworkQuery(FlagsQuery(target: $0)) }
}

extension MonitoredValue<ReachabilityReport> {
    /// Reports: see ``NetworkQuery/reports(on:options:_:onChangeOf:)``.
    ///
    /// - Parameters:
    ///   - detail: How much a report contains. The evaluations run on the monitor's thread.
    ///   - change: What counts as a change.
    /// - Returns: The value to observe.
    public static func reports(
        _ detail: ReachabilityReport.Detail = .brief,
        onChangeOf change: ReachabilityReport.Change = .flags
    ) -> Self {
        Self { NetworkQuery(ReportQuery(target: $0, detail: detail, changes: change)) }
    }
}
