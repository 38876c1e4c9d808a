// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import NetlinkRoute
internal import Synchronization
internal import SystemSupport

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

/// Calls a handler on its queue with the newest value, such as flags.
///
/// At any time one block at the most is on the queue or running, so that calls never overlap, not even on a
/// concurrent queue, and a handler that takes its time finds the newest value afterwards and no others.
final class CallbackSink<Value: Hashable & Sendable>: Sendable {
    typealias Handler = @Sendable (Value) -> Void

    private struct State {
        /// `nil` once closed.
        var handler: Handler?
        var newest: Value?
        var told: Value?
        /// Whether a block is on the queue or running.
        var isScheduled = false
        /// Whether the first value is for comparison only.
        var skipsFirst: Bool
        /// Whether no further value is taken.
        var isSealed = false
    }

    /// `nil` for one that is made for each block and is gone with it: most handles are silent most of the time.
    private let queue: DispatchQueue?
    /// Keeps the newest value elsewhere; called with the lock held, with `nil` at the end.
    private let keep: @Sendable (Value?) -> Void
    private let work: InFlightCounter?
    private let state: Locked<State>

    init(
        queue: DispatchQueue?,
        skipsFirst: Bool = false,
        work: InFlightCounter? = nil,
        keep: @escaping @Sendable (Value?) -> Void = { _ in },
        handler: @escaping Handler
    ) {
        self.queue = queue
        self.keep = keep
        self.work = work
        state = Locked(State(handler: handler, skipsFirst: skipsFirst))
    }

    func offer(_ value: Value) {
        let isDue = state.withLock { state in
            guard state.handler != nil, !state.isSealed else { return false }
            keep(value)
            state.newest = value
            if state.skipsFirst {
                state.skipsFirst = false
                state.told = value
            }
            guard !state.isScheduled, state.told != value else { return false }
            state.isScheduled = true
            return true
        }
        if isDue { schedule() }
    }

    /// Takes no further value; what it has is still told.
    func seal() {
        state.withLock { $0.isSealed = true }
    }

    /// Ends it: no call begins any more, except one that another thread is just beginning.
    ///
    /// - Parameter keepsCurrent: Whether somebody else takes the last value over.
    /// - Returns: The handler, to be let go of where no lock is held.
    func close(keepsCurrent: Bool = false) -> Handler? {
        state.withLock { state in
            let handler = state.handler
            state.handler = nil
            if handler != nil, !keepsCurrent { keep(nil) }
            return handler
        }
    }

    private func schedule() {
        work?.begin()
        let queue = queue ?? DispatchQueue(label: "NetworkReachability")
        queue.async {
            self.call()
            self.work?.end()
        }
    }

    /// Runs on the queue, without a lock.
    private func call() {
        if let (handler, value) = takeNews() { handler(value) }
        if isStillDue() { schedule() }
    }

    private func takeNews() -> (Handler, Value)? {
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

extension CallbackSink: FlagsSink where Value == ReachabilityFlags {}
