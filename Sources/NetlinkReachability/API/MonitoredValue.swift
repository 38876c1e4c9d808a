// SPDX-License-Identifier: Apache-2.0

/// What a handle delivers to a handler or a sequence: flags or reports, and what counts as a change of them.
///
/// ```swift
/// for try await report in reachability.updates(of: .reports(onChangeOf: .report)) {
///     print(report.flags.letters, report.interface?.name ?? "-", report.gateway?.description ?? "-")
/// }
/// ```
public struct MonitoredValue<Value: Sendable>: Sendable {
    typealias Handler = @Sendable (Result<Value, ReachabilityError>) -> Void

    /// The query about a target whose answers are delivered.
    let question: @Sendable (MonitoredTarget) -> any MonitorQuery<Value>
    /// Starts a handle, with the type of the query known: see ``Observation``.
    let start:
        @Sendable (NetworkReachability, CallbackDelivery, _ skipsFirst: Bool, @escaping Handler)
            throws(ReachabilityError) -> Void

    fileprivate init<Question: MonitorQuery<Value>>(
        _ question: @escaping @Sendable (MonitoredTarget) -> Question
    ) {
        self.question = question
        start = { (handle, delivery, skipsFirst, handler) throws(ReachabilityError) in
            try handle.begin(question(handle.subject), delivery, skipsFirst: skipsFirst, handler)
        }
    }
}

extension MonitoredValue<ReachabilityFlags> {
    /// The flags, whenever they change.
    ///
    /// While the interface that the target or the options name does not exist, the flags are empty: it can appear.
    public static let flags = MonitoredValue { $0 }
}

extension MonitoredValue<ReachabilityReport> {
    /// Reports, each of one evaluation.
    ///
    /// - Parameters:
    ///   - detail: How much a report contains. The evaluations run on the monitor's thread.
    ///   - change: What counts as a change.
    /// - Returns: The value to deliver.
    public static func reports(
        _ detail: ReachabilityReport.Detail = .brief,
        onChangeOf change: ReachabilityReport.Change = .flags
    ) -> Self {
        Self { ReportQuery(target: $0, detail: detail, changes: change) }
    }
}
