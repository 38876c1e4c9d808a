// SPDX-License-Identifier: Apache-2.0

internal import SystemSupport

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
            if isNetworkReachable(flags: flags) { return flags }
        }
        let wait = WaitSink(subject, source.monitor, timeout)
        // A simulated network counts the wait as in flight from its end until here.
        defer { source.monitor.work?.end() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { wait.begin($0) }
        } onCancel: {
            wait.finish(.failure(CancellationError()))
        }
    }
}

/// One wait: an observation that ends with the first flags that are reachable, or at its deadline.
///
/// The deadline is the monitor's, so a wait that ends leaves neither a timer nor a task behind.
private final class WaitSink: ObservationSink {
    private enum State {
        case new
        case waiting(CheckedContinuation<ReachabilityFlags, any Error>, SharedMonitor.Registration)
        case finished(Result<ReachabilityFlags, any Error>)
    }

    private let subject: MonitoredTarget
    private let monitor: SharedMonitor
    private let timeout: Duration?
    private let deadline: MonitorInstant?
    private let state = Locked(State.new)

    init(_ subject: MonitoredTarget, _ monitor: SharedMonitor, _ timeout: Duration?) {
        self.subject = subject
        self.monitor = monitor
        self.timeout = timeout
        deadline = timeout.flatMap { $0 > .zero ? monitor.clock.now + $0 : nil }
    }

    /// Whether the first answer ends the wait.
    private var isSingle: Bool { timeout != nil && deadline == nil }

    func begin(_ continuation: CheckedContinuation<ReachabilityFlags, any Error>) {
        monitor.work?.loopBegan()
        defer { monitor.work?.loopCame() }
        let subscription: Subscription<MonitoredTarget>
        do {
            subscription = try Subscription(subject, monitor)
        } catch {
            return resume(continuation, .failure(error))
        }
        let early = result(of: subscription.first)
        let finished = state.withLock { state in
            if case .new = state, let early { state = .finished(early) }
            if case .finished(let result) = state { return result as Result<ReachabilityFlags, any Error>? }
            state = .waiting(continuation, subscription.registration)
            // With the lock held, so that the observation is not removed before it is added.
            subscription.begin(self, until: deadline)
            return nil
        }
        guard let finished else { return }
        subscription.end()
        resume(continuation, finished)
    }

    func offer(_ observed: Observed<ReachabilityFlags>) -> Bool {
        guard let result = result(of: observed) else { return false }
        finish(result)
        return true
    }

    func expire() {
        finish(.failure(timedOut))
    }

    /// Ends the wait, once.
    func finish(_ result: Result<ReachabilityFlags, any Error>) {
        let before = state.withLock { state in
            defer { if case .finished = state {} else { state = .finished(result) } }
            return state
        }
        guard case .waiting(let continuation, let registration) = before else { return }
        registration.end()
        resume(continuation, result)
    }

    private func resume(
        _ continuation: CheckedContinuation<ReachabilityFlags, any Error>,
        _ result: Result<ReachabilityFlags, any Error>
    ) {
        monitor.work?.begin()
        continuation.resume(with: result)
    }

    /// What a result of an evaluation ends the wait with; `nil` to wait on.
    private func result(of observed: Observed<ReachabilityFlags>) -> Result<ReachabilityFlags, any Error>? {
        switch observed {
        case .answer(let flags) where isNetworkReachable(flags: flags): .success(flags)
        case .answer where isSingle: .failure(timedOut)
        case .failure(let error) where isSingle: .failure(error)
        default: nil
        }
    }

    private var timedOut: ReachabilityError {
        ReachabilityError(
            .timedOut,
            operation: "wait for \(subject.target)",
            message: timeout.map { "not reachable within \($0)" } ?? ""
        )
    }
}
