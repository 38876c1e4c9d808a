// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc
internal import RoutingModel
internal import Synchronization
internal import SystemSupport

/// Runs the blocking calls of a resolver on a bounded number of threads; further calls wait in order.
///
/// A call cannot be interrupted. A call that takes too long is abandoned: its result is dropped, and it occupies its
/// thread until it returns. The bound keeps a resolver that hangs from exhausting the process.
final class LookupThreads: Sendable {
    /// A call that blocks, with the time that is left for it.
    typealias Call =
        @Sendable (_ timeLeft: Duration) throws(ReachabilityError) -> ReachabilityTarget.Resolution

    /// How many calls run at the same time, abandoned ones included.
    static let limit = 64

    /// On which requests fail whose time is over.
    private static let timers = DispatchQueue(label: "netlink-resolve.timers")

    /// Whether there was a timer before.
    private static let hasTimers = Atomic(false)

    private let state = Locked(State())

    /// How many calls run, abandoned ones included.
    var runningCount: Int { state.withLock { $0.running } }

    /// How many requests wait for a call to end.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Makes a call while this thread waits.
    ///
    /// It has no timer: Dispatch ends the process if it finds no descriptor for one.
    ///
    /// - Parameters:
    ///   - timeout: The longest time, which includes that of waiting for other calls to end.
    ///   - call: The call.
    /// - Returns: The result; ``ReachabilityTarget.Resolution/timedOut`` if the call takes longer.
    /// - Throws: An error of the call, or one of a process without a thread for it.
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
    ///   - timeout: The longest time, which includes that of waiting for other calls to end.
    ///   - call: The call.
    ///   - completion: Called once with the result, on any thread.
    /// - Returns: Cancels the request: the completion is not called, unless that has begun.
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
        // After it waits or has a thread: a timer that fires earlier would take it for one that had a thread.
        request.setTimer { [weak self, weak request] in
            if let self, let request { expire(request) }
        }
        return { [self] in
            _ = withdraw(request)
            request.end(nil)
        }
    }

    /// Checks before the first timer that Dispatch finds what it needs: it ends the process without a descriptor, and
    /// waits for ever without memory for a thread.
    private static func checkTimers() throws(ReachabilityError) {
        guard !hasTimers.load(ordering: .acquiring) else { return }
        do {
            try FreeResources.checkDescriptors(FreeResources.dispatchDescriptors)
            // One is that of the call.
            try FreeResources.checkThreads(FreeResources.dispatchThreads + 1)
        } catch {
            throw ReachabilityError(.resolverFailure, operation: "resolve a name", number: error.number)
        }
        hasTimers.store(true, ordering: .releasing)
    }

    /// Starts a thread for a request, or has it wait for one.
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

    /// Starts a thread that makes the call of a request, and then those of requests that wait.
    private func start(_ request: Request) {
        var next: Request? = request
        while let request = next {
            let hasStarted = BackgroundThread.start("netlink-resolve") { [self] in
                var next: Request? = request
                while let request = next {
                    let result = request.call()
                    next = state.withLock { $0.takeNext() }
                    request.end(result)
                }
            }
            if hasStarted { return }
            let failure = ReachabilityError(
                .resolverFailure, in: .thread, operation: "start a thread for the resolver", number: EAGAIN)
            request.end(.failure(failure))
            // Requests that wait would wait for a thread in vain.
            next = state.withLock { $0.takeNext() }
        }
    }

    /// Ends a request that timed out.
    ///
    /// If it never got a thread, it fails: the resolver was not asked.
    private func expire(_ request: Request) {
        // Without time to wait, the result does not depend on how many other calls there are.
        guard withdraw(request), request.timeout > .zero else { return request.end(.success(.timedOut)) }
        let failure = ReachabilityError(
            .resolverFailure,
            operation: "resolve a name",
            number: EAGAIN,
            message: "\(Self.limit) earlier names are still being resolved: is the resolver hanging?"
        )
        request.end(.failure(failure))
    }

    /// Removes a request from those that wait; returns whether it was one.
    private func withdraw(_ request: Request) -> Bool {
        state.withLock { $0.withdraw(request) }
    }
}

extension LookupThreads {
    /// A call with its time limit, from its submission to its result.
    private final class Request: Sendable {
        let deadline: DispatchTime
        private let body: Call
        let timeout: Duration
        /// `nil` after the request has ended.
        private let completion: Locked<(@Sendable (ResolvedName) -> Void)?>
        /// `nil` for a request whose thread waits.
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

        /// Calls a handler at the deadline, unless the request has ended.
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

        /// Passes a result on, unless there was one before; `nil` drops later ones.
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
        /// The requests that wait, by their turn.
        private(set) var waiting: [UInt64: Request] = [:]
        private var turns: [ObjectIdentifier: UInt64] = [:]
        /// No earlier turn waits.
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

        /// Returns the request that has waited longest; counts a thread less if there is none.
        mutating func takeNext() -> Request? {
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
