// SPDX-License-Identifier: Apache-2.0

extension NetworkReachability {
    /// Waits until the target can be reached, as ``isNetworkReachable(flags:)`` decides.
    ///
    /// ```swift
    /// try await reachability.waitUntilReachable(timeout: .seconds(30))
    /// ```
    ///
    /// Returns at once where that is so already. It needs no ``start(queue:initial:_:)`` and does not disturb
    /// one.
    ///
    /// - Parameter timeout: How long to wait at the most; `nil` for as long as it takes.
    /// - Returns: The flags that the target can be reached with.
    /// - Throws: ``ReachabilityError`` with the code ``ReachabilityError/Code/timedOut`` when the time is over,
    ///   with another code when the monitor cannot run; `CancellationError` when the task is cancelled.
    @discardableResult
    public func waitUntilReachable(timeout: Duration? = nil) async throws -> ReachabilityFlags {
        try Task.checkCancellation()
        if subject.name == nil {
            let flags = try evaluator.evaluateMonitored(target, detail: .flags).flags
            if isNetworkReachable(flags: flags) { return flags }
        }
        let updates = updates
        guard let timeout else { return try await updates.firstReachable() }
        return try await withThrowingTaskGroup(of: ReachabilityFlags.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await updates.firstReachable() }
            group.addTask { [target, clock = source.monitor.clock] in
                try await clock.sleep(for: timeout)
                throw ReachabilityError(
                    .timedOut,
                    operation: "wait for \(target)",
                    message: "not reachable within \(timeout)"
                )
            }
            guard let flags = try await group.next() else { throw CancellationError() }
            return flags
        }
    }
}

extension NetworkReachability.Updates {
    fileprivate func firstReachable() async throws -> ReachabilityFlags {
        var iterator = try makeIterator()
        while let flags = await iterator.next() {
            if isNetworkReachable(flags: flags) { return flags }
        }
        throw CancellationError()
    }
}
