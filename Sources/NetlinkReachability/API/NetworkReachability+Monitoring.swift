// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
internal import SystemSupport

extension NetworkReachability {
    /// What happens to the current value at the start of monitoring.
    public enum InitialValue: Hashable, Sendable {
        /// The handler is called with it.
        case deliver
        /// The handler is called with changes only.
        case skip
    }

    /// Calls a handler with the current value, and then whenever it changes.
    ///
    /// ```swift
    /// let reachability = try NetworkReachability(host: "example.com")
    /// try reachability.start(.flags, on: .queue(.main)) { result in
    ///     switch result {
    ///     case .success(let flags): print(isNetworkReachable(flags: flags) ? "online" : "offline")
    ///     case .failure(let error): print("unknown: \(error)")
    ///     }
    /// }
    /// ```
    ///
    /// - A failure means that the target could not be evaluated, which is not the same as no. It comes once for as long
    ///   as evaluations fail in the same way, and the next value means that they succeed again. The monitor tries
    ///   again after 1 s, and then less and less often: the kernel up to every 30 s, a resolver that cannot run up to
    ///   every 60 s.
    /// - One call comes after the other even if the queue is concurrent, and with no lock held: the handler can start,
    ///   stop and release this handle. ``CallbackDelivery/onMonitorThread`` has further conditions.
    /// - The handler is never called twice in a row with the same result.
    /// - A handler that is slower than the network is called with the newest result and skips those in between.
    /// - The first value of an address is known when this returns, so ``currentFlags`` has its flags. That of a name
    ///   follows when it is resolved. While a resolver or an evaluation fails, ``currentFlags`` stays.
    /// - Starting a started handle replaces its handler; the new one begins with the current value. If that throws,
    ///   the old one stays.
    /// - Releasing the handle stops it: keep it. The handle keeps the handler until it is stopped.
    ///
    /// All handles of a process share one thread, which ends with the last of them, and one socket for the kernel's
    /// notifications. An idle handle costs only memory.
    ///
    /// Apple's counterparts are `SCNetworkReachabilitySetCallback` and
    /// `SCNetworkReachabilitySetDispatchQueue`.
    ///
    /// - Parameters:
    ///   - value: What the handler is called with, and what counts as a change of it.
    ///   - delivery: Where the handler is called.
    ///   - initial: What happens to the current value.
    ///   - handler: Called with the value, or the reason that there is none.
    /// - Throws: `ReachabilityError` if no netlink socket or thread can be created.
    public func start<Value>(
        _ value: MonitoredValue<Value>,
        on delivery: CallbackDelivery = .ownQueue,
        initial: InitialValue = .deliver,
        _ handler: @escaping @Sendable (Result<Value, ReachabilityError>) -> Void
    ) throws(ReachabilityError) {
        try value.start(self, delivery, initial == .skip, handler)
    }

    /// Stops calling the handler, and releases it.
    ///
    /// Called on the handler's queue, if that is serial, or by a handler on the monitor's thread, no call comes after
    /// this returns. Called elsewhere, a call that has begun can still be running, and none begins later. Stopping a
    /// handle that is not started has no effect.
    public func stop() {
        let (id, old) = source.monitor.handles.withLock { _ in
            let id = observationID.exchange(0, ordering: .acquiringAndReleasing)
            return (id, sink.take()?.close(keepsStored: false))
        }
        if id != 0 { source.monitor.leave(id) }
        // Released without the lock.
        withExtendedLifetime(old) {}
    }

    /// The latest flags while the handle is started; `nil` before, after, and until a name is first resolved.
    ///
    /// This reads one word of memory, without a lock or a system call. The flags can be newer than those that a slow
    /// handler was called with.
    public var currentFlags: ReachabilityFlags? {
        subject.current.value
    }

    /// Starts the handle, or replaces what it was started with.
    func begin<Question: MonitorQuery>(
        _ question: Question,
        _ delivery: CallbackDelivery,
        skipsFirst: Bool,
        _ handler: @escaping CallbackSink<Question>.Handler
    ) throws(ReachabilityError) {
        let subscription = try Subscription(question, source.monitor)
        let sink = CallbackSink(
            question, delivery: delivery, skipsFirst: skipsFirst, work: source.monitor.work, handler: handler)
        let (id, old) = source.monitor.handles.withLock { _ in
            let old = self.sink.take()?.close(keepsStored: true)
            if subscription.first?.answer == nil { subject.current.store(nil) }
            subscription.begin(sink)
            self.sink = sink
            let id = observationID.exchange(
                subscription.registration.id, ordering: .acquiringAndReleasing)
            return (id, old)
        }
        if id != 0 { source.monitor.leave(id) }
        // Released without the lock.
        withExtendedLifetime(old) {}
    }
}
