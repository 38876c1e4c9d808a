// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc
internal import RoutingModel
internal import Synchronization
internal import SystemSupport

/// Runs the blocking calls of a resolver on a limited number of threads.
///
/// Further calls wait in order.
///
/// A call cannot be interrupted. A call that exceeds its time limit is abandoned: its result is dropped, and it
/// occupies its thread until it returns. The limit prevents a resolver that hangs from exhausting the process.
final class LookupThreads: Sendable {
    /// A blocking call, with the time that is left for it.
    typealias Call =
        @Sendable (_ timeLeft: Duration) throws(ReachabilityError) -> ReachabilityTarget.Resolution

    /// The most calls that run at the same time, including abandoned ones.
    static let limit = 64

    /// The queue on which requests time out.
    private static let timers = DispatchQueue(label: "netlink-resolve.timers")

    /// Whether a timer was created before.
    private static let hasTimers = Atomic(false)

    private let state = Locked(State())

    /// The number of running calls, including abandoned ones.
    var runningCount: Int { state.withLock { $0.running } }

    /// The number of requests that wait for a thread.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Makes a call while this thread waits.
    ///
    /// It uses no timer, because Dispatch aborts the process if it has no descriptor for a timer.
    ///
    /// - Parameters:
    ///   - timeout: The time limit, including the time that the request waits for a thread.
    ///   - call: The call.
    /// - Returns: The result; ``ReachabilityTarget.Resolution/timedOut`` if the time limit ends first.
    /// - Throws: The error of the call, or an error if the process cannot start a thread.
    func run(within timeout: Duration, _ call: @escaping Call) throws(ReachabilityError)
        -> ReachabilityTarget.Resolution
    {
        let result = Locked<ResolvedName>(.success(.timedOut))
        let done = DispatchSemaphore(value: 0)
        let request = Request(call, timeout) { resolved in
            result.withLock { $0 = resolved }
            done.signal()
        }
        submit(request)
        if done.wait(timeout: request.deadline) == .timedOut {
            expire(request)
            done.wait()
        }
        return try result.withLock { $0 }.get()
    }

    /// Begins a call, and returns at once.
    ///
    /// - Parameters:
    ///   - timeout: The time limit, including the time that the request waits for a thread.
    ///   - call: The call.
    ///   - completion: Called once with the result, on any thread.
    /// - Returns: A closure that cancels the request: the completion is not called, unless its call has begun.
    func begin(
        within timeout: Duration,
        _ call: @escaping Call,
        completion: @escaping @Sendable (ResolvedName) -> Void
    ) -> @Sendable () -> Void {
        do {
            try Self.checkTimers()
        } catch {
            completion(.failure(error))
            return {}
        }
        let request = Request(call, timeout, completion)
        submit(request)
        // Set only now: a timer that fires before the request waits or has a thread would take it for a request that
        // had one.
        request.setTimer { [weak self, weak request] in
            if let self, let request { expire(request) }
        }
        return { [self] in
            _ = withdraw(request)
            request.end(nil)
        }
    }

    /// Suspends the task until a request has a result.
    ///
    /// - Parameter begin: Begins the request with its completion, and returns a closure that cancels it.
    /// - Returns: The result.
    /// - Throws: `CancellationError` if the task is cancelled first.
    static func result(
        _ begin: (@escaping @Sendable (ResolvedName) -> Void) -> @Sendable () -> Void
    ) async throws(CancellationError) -> ResolvedName {
        let (results, continuation) = AsyncStream.makeStream(of: ResolvedName.self)
        let cancel = begin { continuation.yield($0) }
        // The sequence ends without a result if the task is cancelled.
        for await result in results { return result }
        cancel()
        throw CancellationError()
    }

    /// Checks before the first timer that Dispatch can run: without a descriptor, Dispatch aborts the process, and
    /// without memory for a thread, Dispatch waits without end.
    private static func checkTimers() throws(ReachabilityError) {
        guard !hasTimers.load(ordering: .acquiring) else { return }
        do {
            try FreeResources.checkDescriptors(FreeResources.dispatchDescriptors)
            // The additional thread makes the call.
            try FreeResources.checkThreads(FreeResources.dispatchThreads + 1)
        } catch {
            throw ReachabilityError(.resolverFailure, operation: "resolve a name", number: error.number)
        }
        hasTimers.store(true, ordering: .releasing)
    }

    /// Starts a thread for a request, or enqueues the request.
    private func submit(_ request: Request) {
        let mustWait = state.withLock { state in
            if state.running == Self.limit {
                state.enqueue(request)
                return true
            }
            state.running += 1
            return false
        }
        if !mustWait { start(request) }
    }

    /// Starts a thread that makes the call of a request, and then the calls of waiting requests.
    private func start(_ request: Request) {
        var next: Request? = request
        while let request = next {
            let hasStarted = BackgroundThread.start("netlink-resolve") { [self] in
                var next: Request? = request
                while let request = next {
                    let result = request.call()
                    next = state.withLock { $0.popNext() }
                    request.end(result)
                }
            }
            if hasStarted { return }
            let failure = ReachabilityError(
                .resolverFailure, in: .thread, operation: "start a thread for the resolver", number: EAGAIN)
            request.end(.failure(failure))
            // Without this, the waiting requests would wait for a thread that never comes.
            next = state.withLock { $0.popNext() }
        }
    }

    /// Ends a request that timed out.
    ///
    /// A request that never got a thread fails, because the resolver was not called.
    private func expire(_ request: Request) {
        // With a time limit of zero, the result must not depend on the number of other calls.
        guard withdraw(request), request.timeout > .zero else { return request.end(.success(.timedOut)) }
        let failure = ReachabilityError(
            .resolverFailure,
            operation: "resolve a name",
            number: EAGAIN,
            message: "\(Self.limit) earlier names are still being resolved: is the resolver hanging?"
        )
        request.end(.failure(failure))
    }

    /// Removes a request from the waiting ones.
    ///
    /// Returns whether it was waiting.
    private func withdraw(_ request: Request) -> Bool {
        state.withLock { $0.withdraw(request) }
    }
}

extension LookupThreads {
    /// A call with its time limit and its completion.
    private final class Request: Sendable {
        let deadline: DispatchTime
        private let body: Call
        let timeout: Duration
        /// `nil` after the request has ended.
        private let completion: Locked<(@Sendable (ResolvedName) -> Void)?>
        /// `nil` for a request of a thread that waits itself.
        private let timer = Locked<(any DispatchSourceTimer)?>(nil)

        init(
            _ body: @escaping Call,
            _ timeout: Duration,
            _ completion: @escaping @Sendable (ResolvedName) -> Void
        ) {
            deadline = timeout.deadline
            self.body = body
            self.timeout = timeout
            self.completion = Locked(completion)
        }

        /// Makes the call.
        func call() -> ResolvedName {
            let (now, end) = (DispatchTime.now().uptimeNanoseconds, deadline.uptimeNanoseconds)
            let timeLeft = end > now ? Duration.nanoseconds(Int64(clamping: end - now)) : .zero
            return ResolvedName { () throws(ReachabilityError) in try body(min(timeout, timeLeft)) }
        }

        /// Sets a handler for the deadline, unless the request has ended.
        func setTimer(_ handler: @escaping @Sendable () -> Void) {
            timer.withLock { timer in
                guard completion.withLock({ $0 != nil }) else { return }
                let source = DispatchSource.makeTimerSource(queue: LookupThreads.timers)
                source.setEventHandler(handler: handler)
                source.schedule(deadline: deadline)
                source.activate()
                timer = source
            }
        }

        /// Ends the request with a result; `nil` ends it without one.
        ///
        /// Later results are dropped.
        func end(_ result: ResolvedName?) {
            let completion = completion.withLock { $0.take() }
            timer.withLock { timer in
                timer?.cancel()
                timer = nil
            }
            if let result { completion?(result) }
        }
    }

    private struct State {
        var running = 0
        /// The waiting requests, by their place in the queue.
        private(set) var waiting: [UInt64: Request] = [:]
        private var turns: [ObjectIdentifier: UInt64] = [:]
        /// A lower bound of the waiting places.
        private var firstTurn: UInt64 = 0
        private var nextTurn: UInt64 = 0

        mutating func enqueue(_ request: Request) {
            waiting[nextTurn] = request
            turns[ObjectIdentifier(request)] = nextTurn
            nextTurn += 1
        }

        mutating func withdraw(_ request: Request) -> Bool {
            guard let turn = turns.removeValue(forKey: ObjectIdentifier(request)) else { return false }
            waiting[turn] = nil
            return true
        }

        /// Returns the request that has waited longest.
        ///
        /// Without one, counts one running thread less.
        mutating func popNext() -> Request? {
            while firstTurn < nextTurn {
                defer { firstTurn += 1 }
                guard let request = waiting.removeValue(forKey: firstTurn) else { continue }
                turns[ObjectIdentifier(request)] = nil
                return request
            }
            running -= 1
            return nil
        }
    }
}
