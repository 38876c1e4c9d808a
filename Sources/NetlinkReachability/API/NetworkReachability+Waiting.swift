// SPDX-License-Identifier: Apache-2.0

extension NetworkReachability {
    /// Waits until the target can be reached, as ``isNetworkReachable(flags:)`` decides.
    ///
    /// ```swift
    /// try await reachability.waitUntilReachable(timeout: .seconds(30))
    /// ```
    ///
    /// Returns at once if the target can be reached already. It needs no ``start(queue:initial:_:onFailure:)`` and
    /// does not affect one. While evaluations fail, it waits on.
    ///
    /// - Parameter timeout: The longest time to wait; `nil` for no limit. With zero, the target is evaluated once,
    ///   and a name is resolved within ``ReachabilityOptions/resolutionTimeout``.
    /// - Returns: The flags that the target can be reached with.
    /// - Throws: ``ReachabilityError`` with the code ``ReachabilityError/Code/timedOut`` after the time-out, with
    ///   another code if the monitor cannot run or the first evaluation fails; `CancellationError` if the task is
    ///   cancelled.
    @discardableResult
    public func waitUntilReachable(timeout: Duration? = nil) async throws -> ReachabilityFlags {
        try Task.checkCancellation()
        if subject.name == nil {
            let flags = try subject.answer(from: source.facts)
            if flags.isNetworkReachable { return flags }
        }
        let timedOut = ReachabilityError(
            .timedOut,
            operation: "wait for \(target)",
            message: timeout.map { "not reachable within \($0)" } ?? ""
        )
        let deadline = timeout.flatMap { $0 > .zero ? source.monitor.clock.now + $0 : nil }
        // Without a time to wait, the first answer decides.
        let isSingle = timeout != nil && deadline == nil
        // The deadline is the monitor's, so a wait that ends leaves neither a timer nor a task behind.
        var results = try ObservationIterator(
            subject, source.monitor, takesAnswersOnly: false, until: deadline, expiry: timedOut)
        while let observed = await results.next(isolation: nil) {
            switch observed {
            case .answer(let flags) where flags.isNetworkReachable: return flags
            case .answer where isSingle: throw timedOut
            case .failure(let error) where isSingle || error == timedOut: throw error
            default: continue
            }
        }
        throw CancellationError()
    }
}
