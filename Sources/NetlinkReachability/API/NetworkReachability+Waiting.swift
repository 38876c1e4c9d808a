// SPDX-License-Identifier: Apache-2.0

extension NetworkReachability {
    /// Waits until the target can be reached, as ``isNetworkReachable(flags:)`` decides.
    ///
    /// ```swift
    /// try await reachability.waitUntilReachable(timeout: .seconds(30))
    /// ```
    ///
    /// - Parameter timeout: The longest time to wait; `nil` for no limit.
    /// - Returns: The flags that the target can be reached with.
    /// - Throws: The errors of ``wait(timeout:until:)``.
    @discardableResult
    nonisolated(nonsending) public func waitUntilReachable(
        timeout: Duration? = nil
    ) async throws -> ReachabilityFlags {
        try await wait(timeout: timeout) { $0.isNetworkReachable }
    }

    /// Waits until the flags meet a condition.
    ///
    /// ```swift
    /// try await reachability.wait { !$0.isNetworkReachable }
    /// ```
    ///
    /// Returns at once if they meet it already. While evaluations fail, it waits on. ``NetworkSource`` waits for any
    /// query: ``NetworkSource/wait(for:timeout:until:)``.
    ///
    /// - Parameters:
    ///   - timeout: The longest time to wait; `nil` for no limit. With zero, the target is evaluated once, and a name
    ///     is resolved within ``ReachabilityOptions/Resolution/timeout``.
    ///   - condition: Returns whether the wait is over.
    /// - Returns: The flags that met the condition.
    /// - Throws: `ReachabilityError` with the code `ReachabilityError.Code.timedOut` after the time-out. Its text and
    ///   its `ReachabilityError.reason` are those of the last evaluation; if that failed, its
    ///   `ReachabilityError.underlyingError` is the failure. With another code if the monitor cannot run, or with a
    ///   time-out of zero if the evaluation fails. `CancellationError` if the task is cancelled.
    @discardableResult
    nonisolated(nonsending) public func wait(
        timeout: Duration? = nil,
        until condition: (ReachabilityFlags) -> Bool
    ) async throws -> ReachabilityFlags {
        // A report has the reason, which is for the error alone: the condition is asked about other flags.
        let query = NetworkQuery(ReportQuery(target: subject, detail: .brief, changes: .report))
        var last: ReachabilityFlags?
        return try await source.wait(for: query, timeout: timeout) { report in
            defer { last = report.flags }
            return report.flags != last && condition(report.flags)
        }.flags
    }
}
