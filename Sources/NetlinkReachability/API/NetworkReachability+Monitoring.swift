// SPDX-License-Identifier: Apache-2.0

public import Dispatch
internal import NetlinkRoute
internal import SystemSupport

extension NetworkReachability {
    /// What becomes of the flags that are true when a handle is started.
    public enum InitialValue: Hashable, Sendable {
        /// The handler is called with them.
        case deliver
        /// The handler is called with changes only.
        case skip
    }

    /// Calls a handler with the flags, at once and then whenever they change.
    ///
    /// ```swift
    /// let reachability = try NetworkReachability(host: "example.com")
    /// try reachability.start(queue: .main) { flags in
    ///     print(isNetworkReachable(flags: flags) ? "online" : "offline")
    /// }
    /// ```
    ///
    /// - The handler is called on the queue and nowhere else, one call after the other also where the queue is
    ///   concurrent, never twice in a row with the same flags, and with no lock held: it may start, stop and
    ///   release this handle.
    /// - A handler that is slower than the network is called with the newest flags; what was true for a moment
    ///   while it was busy is left out.
    /// - The first flags of an address are found out before this returns, so ``currentFlags`` has them. Those
    ///   of a name come when it is resolved; while a resolver fails for now, the last flags stay.
    /// - To start a handle that is started replaces its handler; the new one begins with the current flags. When
    ///   that throws, the old one stays.
    /// - Releasing the handle stops it: keep it. The handle keeps the handler until it is stopped.
    ///
    /// All handles of a process share one thread, which ends with the last of them, and announcements of the
    /// kernel: an idle handle costs memory and nothing else.
    ///
    /// Apple's counterparts are `SCNetworkReachabilitySetCallback` and
    /// `SCNetworkReachabilitySetDispatchQueue`.
    ///
    /// - Parameters:
    ///   - queue: Where the handler is called; `nil` for a queue of this start's own, which is there only while
    ///     there is something to tell. A handler that is replaced or stopped may still be running when the first
    ///     call of the next one comes, as on a concurrent queue: give a serial one where that matters.
    ///   - initial: What becomes of the flags that are true now.
    ///   - handler: What is called.
    /// - Throws: ``ReachabilityError`` when there is no netlink socket or thread to be had, or the first
    ///   question fails. An interface that does not exist is no failure here: it may come.
    public func start(
        queue: DispatchQueue? = nil,
        initial: InitialValue = .deliver,
        _ handler: @escaping @Sendable (ReachabilityFlags) -> Void
    ) throws(ReachabilityError) {
        let subscription = try Subscription(source.monitor, subject)
        let sink = CallbackSink(
            queue: queue,
            skipsFirst: initial == .skip,
            work: source.monitor.work,
            keep: { [current] in current.store($0) },
            handler: handler
        )
        let old = session.withLock { session in
            let old = session.map { ($0.subscription, $0.sink.close(keepsCurrent: true)) }
            if subscription.firstFlags == nil { current.store(nil) }
            subscription.begin(sink)
            session = Session(subscription: subscription, sink: sink)
            return old
        }
        old?.0.end()
    }

    /// Stops calling the handler, and lets go of it.
    ///
    /// Called on the handler's queue, if that is serial, nothing is called after this returns. Called elsewhere,
    /// a call that has begun may still be running, and none begins later. To stop a handle that is not started
    /// does nothing.
    public func stop() {
        let old = session.withLock { session in
            let old = session.map { ($0.subscription, $0.sink.close()) }
            session = nil
            return old
        }
        old?.0.end()
    }

    /// The last flags while the handle is started; `nil` before, after, and until a name is first resolved.
    ///
    /// This reads one word of memory: no lock, no system call. The flags can be newer than those that a slow
    /// handler was called with.
    public var currentFlags: ReachabilityFlags? {
        current.value
    }

    /// What the monitor behind this handle and all others of its source has done.
    public var monitorCounters: MonitorCounters {
        source.monitor.counters
    }

    /// What a started handle holds.
    struct Session: Sendable {
        let subscription: Subscription
        let sink: CallbackSink<ReachabilityFlags>
    }
}
