// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Synchronization
internal import SystemSupport

/// The latest flags of a started handle, readable without a lock.
final class CurrentFlags: Sendable {
    /// Apple's bits, and one bit above them that is set if there are flags.
    private let bits = Atomic<UInt64>(0)
    private static let isKnown: UInt64 = 1 << 32

    var value: ReachabilityFlags? {
        let bits = bits.load(ordering: .acquiring)
        return bits & Self.isKnown == 0 ? nil : ReachabilityFlags(rawValue: UInt32(truncatingIfNeeded: bits))
    }

    func store(_ flags: ReachabilityFlags?) {
        bits.store(flags.map { UInt64($0.rawValue) | Self.isKnown } ?? 0, ordering: .releasing)
    }
}

/// A sink that stops delivering when it is closed.
protocol ClosableSink: AnyObject, Sendable {
    /// Ends the sink: no call begins after this, except one that another thread is just beginning.
    ///
    /// - Parameter keepsStored: Whether the stored answer stays, because another sink takes over.
    /// - Returns: What to release where no lock is held.
    func close(keepsStored: Bool) -> (any Sendable)?
}

/// Calls a handler on a queue, or on the monitor's thread, with the newest result.
///
/// At most one block at a time is enqueued or running. So calls never overlap, not even on a concurrent queue, and a
/// slow handler continues with the newest result and skips those in between. On the monitor's thread, ``deliver()``
/// takes the place of the block.
final class CallbackSink<Answer: MonitorAnswer>: ObservationSink, ClosableSink {
    /// What is called.
    enum Handler: Sendable {
        /// Called with answers only; failures are dropped.
        case answers(@Sendable (Answer) -> Void)
        /// Called with every kind of result.
        case results(@Sendable (Observed<Answer>) -> Void)

        fileprivate func accepts(_ observed: Observed<Answer>) -> Bool {
            if case .answers = self, observed.answer == nil { false } else { true }
        }

        fileprivate func call(_ observed: Observed<Answer>) {
            switch self {
            case .answers(let handler): if let answer = observed.answer { handler(answer) }
            case .results(let handler): handler(observed)
            }
        }
    }

    private struct State {
        /// `nil` after the sink is closed.
        var handler: Handler?
        var newest: Observed<Answer>?
        var delivered: Observed<Answer.Change>?
        /// Whether a block is enqueued or running, or the monitor is to call ``CallbackSink/deliver()``.
        var isScheduled = false
        /// Whether the first answer is only compared with.
        var skipsFirst: Bool

        var isDue: Bool {
            guard handler != nil, let newest else { return false }
            return newest.change != delivered
        }
    }

    /// `nil` for a queue that is created for each block: most handles are silent most of the time.
    private let delivery: NetworkReachability.Delivery?
    /// Stores the newest answer elsewhere; called with the lock held, with `nil` at the end.
    private let store: @Sendable (Answer?) -> Void
    private let work: InFlightCounter?
    private let state: Locked<State>

    init(
        delivery: NetworkReachability.Delivery?,
        skipsFirst: Bool = false,
        work: InFlightCounter? = nil,
        store: @escaping @Sendable (Answer?) -> Void = { _ in },
        handler: Handler
    ) {
        self.delivery = delivery
        self.store = store
        self.work = work
        state = Locked(State(handler: handler, skipsFirst: skipsFirst))
    }

    /// The newest answer; `nil` before the first.
    var newest: Answer? {
        state.withLock { $0.newest?.answer }
    }

    @discardableResult
    func offer(_ observed: Observed<Answer>) -> Bool {
        let (isChange, isDue) = state.withLock { state in
            guard state.handler?.accepts(observed) == true else { return (false, false) }
            let change = observed.change
            let isChange = state.newest?.change != change
            state.newest = observed
            if let answer = observed.answer {
                store(answer)
                if state.skipsFirst {
                    state.skipsFirst = false
                    state.delivered = change
                }
            }
            guard !state.isScheduled, state.delivered != change else { return (isChange, false) }
            state.isScheduled = true
            return (isChange, true)
        }
        if isDue { schedule() }
        return isChange
    }

    /// Delivers the newest result again, on a queue.
    ///
    /// - Parameter handler: What replaces the handler; `nil` keeps it.
    /// - Returns: The replaced handler, to be released where no lock is held.
    @discardableResult
    func redeliver(to handler: Handler? = nil) -> Handler? {
        let (old, isDue) = state.withLock { state in
            guard let old = state.handler else { return (nil as Handler?, false) }
            state.handler = handler ?? old
            state.delivered = nil
            guard !state.isScheduled, state.newest != nil else { return (old, false) }
            state.isScheduled = true
            return (old, true)
        }
        if isDue { schedule() }
        return old
    }

    func close(keepsStored: Bool) -> (any Sendable)? {
        state.withLock { state in
            let handler = state.handler.take()
            if handler != nil, !keepsStored { store(nil) }
            return handler
        }
    }

    func deliver() {
        if case .onMonitorThread = delivery { call() }
    }

    private func schedule() {
        let queue: DispatchQueue
        switch delivery {
        case .onMonitorThread: return
        case .queue(let given): queue = given
        case nil: queue = DispatchQueue(label: "NetworkReachability")
        }
        work?.begin()
        queue.async {
            self.call()
            self.work?.end()
        }
    }

    /// Runs on the queue or the monitor's thread, without a lock.
    private func call() {
        let next = state.withLock { state in
            guard state.isDue, let handler = state.handler, let newest = state.newest else {
                return nil as (Handler, Observed<Answer>)?
            }
            state.delivered = newest.change
            return (handler, newest)
        }
        if let (handler, newest) = next { handler.call(newest) }
        let isStillDue = state.withLock { state in
            state.isScheduled = state.isDue
            return state.isScheduled
        }
        if isStillDue { schedule() }
    }
}
