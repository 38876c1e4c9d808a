// SPDX-License-Identifier: Apache-2.0

public import Dispatch
internal import Synchronization
internal import SystemSupport

extension NetworkReachability {
    /// What happens to the flags at the start of monitoring.
    public enum InitialValue: Hashable, Sendable {
        /// The handler is called with them.
        case deliver
        /// The handler is called with changes only.
        case skip
    }

    /// Where a handler is called.
    public typealias Delivery = CallbackDelivery

    /// Calls a handler with the current flags, and then whenever they change.
    ///
    /// ```swift
    /// let reachability = try NetworkReachability(host: "example.com")
    /// try reachability.start(queue: .main) { flags in
    ///     print(isNetworkReachable(flags: flags) ? "online" : "offline")
    /// }
    /// ```
    ///
    /// - The handler is called on the queue only, one call after the other even if the queue is concurrent, and with
    ///   no lock held: it can start, stop and release this handle.
    /// - The handler is never called twice in a row with the same flags, except after a failure if there is an
    ///   `onFailure`.
    /// - A handler that is slower than the network is called with the newest flags and skips those in between.
    /// - The first flags of an address are known when this returns, so ``currentFlags`` has them. Those of a name
    ///   follow when it is resolved. While a resolver or an evaluation fails, the last flags stay.
    /// - Starting a started handle replaces its handler; the new one begins with the current flags. If that throws,
    ///   the old one stays.
    /// - Releasing the handle stops it: keep it. The handle keeps the handler until it is stopped.
    ///
    /// All handles of a process share one thread, which ends with the last of them, and one socket for the kernel's
    /// notifications. A handler that must be called as early as possible can run on that thread:
    /// ``start(delivery:initial:_:onFailure:)``. An idle handle costs only memory.
    ///
    /// Apple's counterparts are `SCNetworkReachabilitySetCallback` and
    /// `SCNetworkReachabilitySetDispatchQueue`.
    ///
    /// - Parameters:
    ///   - queue: Where the handler is called; `nil` for a queue of this start's own, which exists only while a call
    ///     is due. A handler that is replaced or stopped can still be running when the first call of the next one
    ///     comes, as on a concurrent queue: pass a serial one where that matters.
    ///   - initial: What happens to the current flags.
    ///   - handler: Called with the flags.
    ///   - onFailure: Called on the queue when an evaluation fails, once for as long as it fails in the same way. The
    ///     next call of the handler means that evaluations succeed again.
    /// - Throws: ``ReachabilityError`` if no netlink socket or thread can be created, or the first evaluation fails.
    ///   A missing interface is no failure here: it can appear, and there is no way until then.
    public func start(
        queue: DispatchQueue? = nil,
        initial: InitialValue = .deliver,
        _ handler: @escaping @Sendable (ReachabilityFlags) -> Void,
        onFailure: (@Sendable (ReachabilityError) -> Void)? = nil
    ) throws(ReachabilityError) {
        try begin(
            subject, queue.map(Delivery.queue), FlagsHandler(handler, onFailure),
            skipsFirst: initial == .skip, throwsFirstFailure: true)
    }

    /// Calls a handler with the current flags, and then whenever they change, on a queue or on the monitor's thread.
    ///
    /// ```swift
    /// try reachability.start(delivery: .onMonitorThread) { flags in
    ///     isUp.store(flags.isNetworkReachable, ordering: .relaxed)
    /// }
    /// ```
    ///
    /// The handler is called under the conditions of ``start(queue:initial:_:onFailure:)``, and under those of
    /// ``CallbackDelivery/onMonitorThread`` there.
    ///
    /// - Parameters:
    ///   - delivery: Where the handler is called.
    ///   - initial: What happens to the current flags.
    ///   - handler: Called with the flags.
    ///   - onFailure: Called in the same place when an evaluation fails, once for as long as it fails in the same way.
    /// - Throws: ``ReachabilityError`` if no netlink socket or thread can be created, or the first evaluation fails.
    public func start(
        delivery: Delivery,
        initial: InitialValue = .deliver,
        _ handler: @escaping @Sendable (ReachabilityFlags) -> Void,
        onFailure: (@Sendable (ReachabilityError) -> Void)? = nil
    ) throws(ReachabilityError) {
        try begin(
            subject, delivery, FlagsHandler(handler, onFailure),
            skipsFirst: initial == .skip, throwsFirstFailure: true)
    }

    /// Calls a handler with the target's reports, with failures and unresolved names.
    ///
    /// The handler is called under the conditions of ``start(queue:initial:_:onFailure:)``, with the results that
    /// ``observations(_:)`` has. The handle is started then: this replaces the handler of an earlier start.
    ///
    /// - Parameters:
    ///   - detail: How much a report contains. The evaluations run on the monitor's thread.
    ///   - queue: Where the handler is called; `nil` for a queue of this start's own.
    ///   - handler: Called with the results.
    /// - Throws: ``ReachabilityError`` if no netlink socket or thread can be created.
    public func startObserving(
        _ detail: ReachabilityReport.Detail = .brief,
        queue: DispatchQueue? = nil,
        _ handler: @escaping @Sendable (Observed<ReachabilityReport>) -> Void
    ) throws(ReachabilityError) {
        let question = ReportQuestion(target: subject, detail: detail)
        try begin(question, queue.map(Delivery.queue), AnswerHandler.results(handler))
    }

    /// Calls a handler with the target's reports, with failures and unresolved names, on a queue or on the monitor's
    /// thread.
    ///
    /// See ``startObserving(_:queue:_:)`` for the results, and ``CallbackDelivery/onMonitorThread`` for its conditions.
    ///
    /// - Parameters:
    ///   - detail: How much a report contains. The evaluations run on the monitor's thread.
    ///   - delivery: Where the handler is called.
    ///   - handler: Called with the results.
    /// - Throws: ``ReachabilityError`` if no netlink socket or thread can be created.
    public func startObserving(
        _ detail: ReachabilityReport.Detail = .brief,
        delivery: Delivery,
        _ handler: @escaping @Sendable (Observed<ReachabilityReport>) -> Void
    ) throws(ReachabilityError) {
        let question = ReportQuestion(target: subject, detail: detail)
        try begin(question, delivery, AnswerHandler.results(handler))
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

    /// What the monitor of this handle's source has done: ``NetworkSource/monitorCounters``.
    public var monitorCounters: MonitorCounters {
        source.monitorCounters
    }

    /// Starts the handle, or replaces what it was started with.
    private func begin<Question: MonitorQuestion, Handler: SinkHandler<Question.Answer>>(
        _ question: Question,
        _ delivery: Delivery?,
        _ handler: Handler,
        skipsFirst: Bool = false,
        throwsFirstFailure: Bool = false
    ) throws(ReachabilityError) {
        let subscription = try Subscription(question, source.monitor)
        if throwsFirstFailure, case .failure(let error) = subscription.first {
            subscription.end()
            throw error
        }
        let sink = CallbackSink(
            question, delivery: delivery, skipsFirst: skipsFirst, work: source.monitor.work, handler: handler)
        let (id, old) = source.monitor.handles.withLock { _ in
            let old = self.sink.take()?.close(keepsStored: true)
            if subscription.first.answer == nil { subject.current.store(nil) }
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
