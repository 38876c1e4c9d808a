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
    /// - Throws: `ReachabilityError` with the code `ReachabilityError.Code.timedOut` after the time-out, with
    ///   another code if the monitor cannot run or the first evaluation fails; `CancellationError` if the task is
    ///   cancelled.
    @discardableResult
    nonisolated(nonsending) public func wait(
        timeout: Duration? = nil,
        until condition: (ReachabilityFlags) -> Bool
    ) async throws -> ReachabilityFlags {
        try Task.checkCancellation()
        if subject.name == nil {
            let flags = try blockingFlags()
            if condition(flags) { return flags }
        }
        let timedOut = ReachabilityError(
            .timedOut,
            operation: "wait for \(target)",
            message: timeout.map { "\(target): the awaited flags did not come within \($0)" } ?? ""
        )
        let deadline = timeout.flatMap { $0 > .zero ? source.monitor.clock.now + $0 : nil }
        // Without a time to wait, the first answer decides.
        let isSingle = timeout != nil && deadline == nil
        // The deadline is the monitor's, so a wait that ends leaves neither a timer nor a task behind.
        var results = try ObservationIteration(
            [NetworkQuery(FlagsQuery(target: subject))], source.monitor, skipsFailures: false,
            until: deadline, expiry: timedOut)
        while let result = await results.next(isolation: #isolation) {
            switch result {
            case .success(let flags) where condition(flags): return flags
            case .success where isSingle: throw timedOut
            case .failure(let error) where isSingle || error == timedOut: throw error
            default: continue
            }
        }
        throw CancellationError()
    }
}
