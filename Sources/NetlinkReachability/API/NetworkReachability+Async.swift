// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

extension NetworkReachability {
    /// Asks for the flags without blocking a thread of the concurrency runtime.
    ///
    /// ```swift
    /// let flags = try await NetworkReachability(host: "example.com").flags()
    /// ```
    ///
    /// The flags are those of ``blockingFlags()``. The kernel is asked in place, on the caller's actor: that takes
    /// microseconds, less than changing threads. The task is suspended while a name is resolved, and holds no thread
    /// while it waits for one of the 64 lookups that can run at the same time.
    ///
    /// - Returns: The flags; an empty set means that packets cannot leave for the target.
    /// - Throws: `ReachabilityError` if the query could not be answered, which is not the same as no;
    ///   `CancellationError` if the task is cancelled while a name is resolved. It throws at once then; a lookup that
    ///   has begun occupies its thread until the resolver returns.
    nonisolated(nonsending) public func flags() async throws -> ReachabilityFlags {
        try source.facts.flags(of: subject.target, subject.options, try await resolved())
    }

    /// Asks for a report without blocking a thread of the concurrency runtime.
    ///
    /// The report is that of ``blockingReport(_:)``. See ``flags()`` for where the work is done.
    ///
    /// - Parameter detail: How much the report contains. What it does not contain costs nothing.
    /// - Returns: The flags, and the facts that led to them.
    /// - Throws: `ReachabilityError` if the query could not be answered, which is not the same as no;
    ///   `CancellationError` if the task is cancelled while a name is resolved.
    nonisolated(nonsending) public func report(
        _ detail: ReachabilityReport.Detail = .full
    ) async throws -> ReachabilityReport {
        try source.facts.report(on: subject.target, subject.options, detail, try await resolved())
    }

    /// Resolves the name of the target; `nil` if it has none.
    nonisolated(nonsending) private func resolved() async throws(CancellationError) -> ResolvedName? {
        guard let name = subject.name else { return nil }
        return try await source.facts.resolver.resolved(name, options)
    }
}
