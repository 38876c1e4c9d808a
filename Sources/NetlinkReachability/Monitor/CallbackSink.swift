// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import NetlinkRoute
internal import Synchronization

/// The last flags of a started handle, to be read without a lock.
final class CurrentFlags: Sendable {
    /// Apple's bits, and one above them that tells that there are any.
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

/// Calls a handler on its queue with the newest flags.
///
/// At any time one block at the most is on the queue or running, so that calls never overlap, not even on a
/// concurrent queue, and a handler that takes its time finds the newest flags afterwards and no others.
final class CallbackSink: FlagsSink {
    typealias Handler = @Sendable (ReachabilityFlags) -> Void

    private struct State {
        /// `nil` once closed.
        var handler: Handler?
        var newest: ReachabilityFlags?
        var told: ReachabilityFlags?
        /// Whether a block is on the queue or running.
        var isScheduled = false
        /// Whether the first flags are for comparison only.
        var skipsFirst: Bool
    }

    private let queue: DispatchQueue
    private let current: CurrentFlags
    private let work: PendingWork?
    private let state: Locked<State>

    init(
        queue: DispatchQueue,
        current: CurrentFlags,
        skipsFirst: Bool,
        work: PendingWork? = nil,
        handler: @escaping Handler
    ) {
        self.queue = queue
        self.current = current
        self.work = work
        state = Locked(State(handler: handler, skipsFirst: skipsFirst))
    }

    func offer(_ flags: ReachabilityFlags) {
        let isDue = state.withLock { state in
            guard state.handler != nil else { return false }
            current.store(flags)
            state.newest = flags
            if state.skipsFirst {
                state.skipsFirst = false
                state.told = flags
            }
            guard !state.isScheduled, state.told != flags else { return false }
            state.isScheduled = true
            return true
        }
        if isDue { schedule() }
    }

    /// Ends it: no call begins any more, except one that another thread is just beginning.
    ///
    /// - Parameter keepsCurrent: Whether somebody else takes the last flags over.
    /// - Returns: The handler, to be let go of where no lock is held.
    func close(keepsCurrent: Bool = false) -> Handler? {
        state.withLock { state in
            let handler = state.handler
            state.handler = nil
            if handler != nil, !keepsCurrent { current.store(nil) }
            return handler
        }
    }

    private func schedule() {
        work?.begin()
        queue.async {
            self.call()
            self.work?.end()
        }
    }

    /// Runs on the queue, without a lock.
    private func call() {
        if let (handler, flags) = takeNews() { handler(flags) }
        if isStillDue() { schedule() }
    }

    private func takeNews() -> (Handler, ReachabilityFlags)? {
        state.withLock { state in
            guard let handler = state.handler, let newest = state.newest, newest != state.told else {
                return nil
            }
            state.told = newest
            return (handler, newest)
        }
    }

    private func isStillDue() -> Bool {
        state.withLock { state in
            state.isScheduled = state.handler != nil && state.newest != state.told
            return state.isScheduled
        }
    }
}
