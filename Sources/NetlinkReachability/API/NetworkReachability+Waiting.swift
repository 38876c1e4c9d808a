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
    /// Returns at once if they meet it already. While evaluations fail, it waits on.
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
        try Task.checkCancellation()
        let deadline = timeout.flatMap { $0 > .zero ? source.monitor.clock.now + $0 : nil }
        // Without a time to wait, the first answer decides.
        let isSingle = timeout != nil && deadline == nil
        var last: Result<ReachabilityReport, ReachabilityError>?
        if subject.name == nil {
            last = Result { () throws(ReachabilityError) in try blockingReport(.brief) }
            if let flags = last?.answer?.flags, condition(flags) { return flags }
            if isSingle { throw timeOut(after: timeout, last) }
        }
        // The deadline is the monitor's, so a wait that ends leaves neither a timer nor a task behind.
        let expiry = ReachabilityError(.timedOut, operation: "wait for \(target)")
        var results = try ObservationIteration(
            [NetworkQuery(ReportQuery(target: subject, detail: .brief, changes: .report))], source.monitor,
            skipsFailures: false, until: deadline, expiry: expiry)
        while let result = await results.next(isolation: #isolation) {
            if result == .failure(expiry) { throw timeOut(after: timeout, last) }
            // Another reason for the same flags is for the error alone.
            if let flags = result.answer?.flags, flags != last?.answer?.flags, condition(flags) {
                return flags
            }
            if isSingle { throw timeOut(after: timeout, result) }
            last = result
        }
        throw CancellationError()
    }

    /// The error of a wait that ends: of a single evaluation its failure.
    private func timeOut(
        after timeout: Duration?,
        _ last: Result<ReachabilityReport, ReachabilityError>?
    ) -> ReachabilityError {
        let limit = timeout ?? .zero
        var failure: ReachabilityError?
        if case .failure(let error) = last { failure = error }
        if limit <= .zero, let failure { return failure }
        return ReachabilityError(
            .timedOut,
            operation: "wait for \(target)",
            message: "timed out after \(limit): \(ReachabilityReport.sentence(on: "\(target)", last))",
            underlyingError: failure,
            detail: last?.answer?.reason
        )
    }
}
