// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

extension NetworkSource {
    /// Waits until the value of a query meets a condition.
    ///
    /// ```swift
    /// let source = NetworkSource.kernel
    /// try await source.wait(for: .path(), timeout: .seconds(30)) { $0.status == .satisfied }
    /// try await source.wait(for: .status(of: connection)) { $0.isViable }
    /// ```
    ///
    /// Returns at once if the current value meets the condition. Failed evaluations do not end the wait. The
    /// condition is called once for each value, in order, and never with equal values in a row.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - timeout: The longest time to wait; `nil` for no limit. With zero, the query is evaluated once, and a name is
    ///     resolved within ``ReachabilityOptions/Resolution/timeout``.
    ///   - condition: Returns whether the wait ends.
    /// - Returns: The value that met the condition.
    /// - Throws: `ReachabilityError` with the code `ReachabilityError.Code.timedOut` after the time-out. Its text
    ///   contains the last value, and its `ReachabilityError.reason` is that of a report or a status. If the last
    ///   evaluation failed, `ReachabilityError.underlyingError` is that failure. The code is another one if the
    ///   monitor cannot run, or if the evaluation fails with a time-out of zero. `CancellationError` if the task is
    ///   cancelled.
    @discardableResult
    nonisolated(nonsending) public func wait<Value>(
        for query: NetworkQuery<Value>,
        timeout: Duration? = nil,
        until condition: (Value) -> Bool
    ) async throws -> Value {
        try Task.checkCancellation()
        let deadline = timeout.flatMap { $0 > .zero ? monitor.clock.now + $0 : nil }
        // With a time-out of zero, the first answer decides.
        let isSingle = timeout != nil && deadline == nil
        let observed = query.query
        var last: Result<Value, ReachabilityError>?
        if observed.namedTarget == nil {
            if !observed.isEvent {
                last = Result { () throws(ReachabilityError) in try observed.answer(from: facts, nil) }
            }
            if let value = last?.answer, condition(value) { return value }
            if isSingle { throw timeOut(of: observed, after: timeout, last) }
        }
        // The monitor keeps the deadline, so a wait leaves neither a timer nor a task behind.
        let expiry = ReachabilityError(.timedOut, operation: "wait for \(query)")
        var results = try ObservationIteration(
            [query], monitor, skipsFailures: false, until: deadline, expiry: expiry)
        while let result = await results.next(isolation: #isolation)?.result {
            if case .failure(expiry) = result { throw timeOut(of: observed, after: timeout, last) }
            let isKnown = result.isSame(as: last) { observed.areSame($0, $1) }
            if let value = result.answer, !isKnown, condition(value) { return value }
            if isSingle { throw timeOut(of: observed, after: timeout, result) }
            last = result
        }
        throw CancellationError()
    }

    /// The error after a time-out.
    ///
    /// With a time-out of zero, it is the failure of the only evaluation.
    private func timeOut<Value: Sendable>(
        of query: any Query<Value>,
        after timeout: Duration?,
        _ last: Result<Value, ReachabilityError>?
    ) -> ReachabilityError {
        let limit = timeout ?? .zero
        var failure: ReachabilityError?
        if case .failure(let error) = last { failure = error }
        if limit <= .zero, let failure { return failure }
        let reason: ReachabilityReason? = last?.answer.flatMap { query.reason($0) }
        return ReachabilityError(
            .timedOut,
            operation: "wait for \(query.description)",
            message: "timed out after \(limit): \(query.sentence(on: last))",
            underlyingError: failure,
            detail: reason
        )
    }
}
