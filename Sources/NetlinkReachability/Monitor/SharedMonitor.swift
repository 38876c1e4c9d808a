// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NetlinkRoute
package import RoutingModel
internal import Synchronization
internal import SystemSupport

/// The one monitor of a network source, whose thread runs while there are observations.
package final class SharedMonitor: Sendable {
    /// Opens a feed of notifications; called on the thread that begins the first observation.
    package typealias Opening = @Sendable () throws(ReachabilityError) -> (any ChangeFeed)?

    private struct State {
        var mailbox: MonitorMailbox?
        var observationCount = 0
        var lastNumber: UInt32 = 0
        /// The indices that observations have left.
        var freeIndices: [UInt32] = []

        /// A number for a new observation, with an index of its own.
        mutating func makeID() -> MonitorState.ID {
            lastNumber = lastNumber == .max ? 1 : lastNumber + 1
            // Without a free index, the observations have all the lower ones.
            let index = freeIndices.popLast() ?? UInt32(observationCount)
            observationCount += 1
            return UInt64(lastNumber) << 32 | UInt64(index)
        }
    }

    /// The registration of one observation.
    struct Registration: Sendable {
        let id: MonitorState.ID
        let mailbox: MonitorMailbox
    }

    let facts: NetworkFacts
    let clock: any MonitorClock
    let resolverFiles: [String]
    /// Counts work in flight for a simulated network; `nil` for others.
    let work: InFlightCounter?
    let opening: Opening
    /// Called with each evaluation; `nil` unless a program traces them.
    let trace: (@Sendable (NetworkTrace) -> Void)?
    private let state = Locked(State())
    private let totals = Locked(MonitorCounters())
    private let threads = Atomic<Int>(0)

    package init(
        facts: NetworkFacts,
        clock: any MonitorClock,
        resolverFiles: [String],
        work: InFlightCounter? = nil,
        trace: (@Sendable (NetworkTrace) -> Void)? = nil,
        opening: @escaping Opening
    ) {
        self.trace = trace
        self.facts = facts
        self.clock = clock
        self.resolverFiles = resolverFiles
        self.work = work
        self.opening = opening
        // Registered once for all threads of this monitor: a clock keeps its listeners.
        clock.onMove { [weak self] in self?.wake() }
    }

    /// What the monitor has done since the source exists.
    var counters: MonitorCounters {
        totals.withLock { $0 }
    }

    /// Adds what a thread has counted since it last did so; an earlier thread can still be ending.
    func add(_ counters: MonitorCounters, after published: MonitorCounters) {
        totals.withLock { $0.add(counters, after: published) }
    }

    /// The number of observations.
    package var userCount: Int {
        state.withLock { $0.observationCount }
    }

    /// The number of threads: more than one while an earlier one is still ending.
    package var threadCount: Int {
        threads.load(ordering: .acquiring)
    }

    // MARK: Registrations

    /// Registers an observation, and starts the thread for the first one.
    ///
    /// From now on no notification is missed.
    func join() throws(ReachabilityError) -> Registration {
        try state.withLock { (state) throws(ReachabilityError) in
            let mailbox = if let running = state.mailbox { running } else { try start() }
            state.mailbox = mailbox
            return Registration(id: state.makeID(), mailbox: mailbox)
        }
    }

    /// Ends the registration of an observation, once.
    ///
    /// The thread ends after the last one has left.
    func leave(_ id: MonitorState.ID) {
        state.withLock { state in
            // While it is registered, the mailbox is the one through which it came.
            state.mailbox?.post(.remove(id))
            // A later message adds its successor.
            state.freeIndices.append(UInt32(truncatingIfNeeded: id))
            state.observationCount -= 1
            guard state.observationCount == 0 else { return }
            state.mailbox?.post(.end)
            state.mailbox = nil
        }
    }

    private func start() throws(ReachabilityError) -> MonitorMailbox {
        let mailbox = try MonitorMailbox()
        let feed = try opening()
        threads.add(1, ordering: .relaxed)
        let hasStarted = BackgroundThread.start("netlink-monitor") {
            do {
                var loop = MonitorLoop(mailbox: mailbox, feed: feed, monitor: self)
                loop.run()
            }
            // After the loop has closed what it had open.
            self.threads.subtract(1, ordering: .releasing)
        }
        guard hasStarted else {
            threads.subtract(1, ordering: .relaxed)
            throw ReachabilityError(
                in: .thread, operation: "start a thread for the monitor", number: EAGAIN)
        }
        return mailbox
    }

    // MARK: Simulated networks

    /// Waits until the monitor has no work left without the clock moving.
    ///
    /// - Returns: The time of the next scheduled work; `nil` if there is none.
    @discardableResult
    package func settle() async -> MonitorInstant? {
        // The first time, the monitor may have looked at the feed before the caller's latest notifications.
        _ = await whenIdle()
        return await whenIdle()
    }

    private func whenIdle() async -> MonitorInstant? {
        await withCheckedContinuation { continuation in
            let isRunning = state.withLock { state in
                // The lock is held because no mail is read after `end`: it must not be posted first.
                state.mailbox?.post(.whenIdle { continuation.resume(returning: $0) })
                return state.mailbox != nil
            }
            if !isRunning { continuation.resume(returning: nil) }
        }
    }

    /// Reports a change of the resolver's configuration, as a change of its files does.
    package func noteResolverChange() {
        state.withLock { $0.mailbox?.post(.resolverChanged) }
    }

    /// Has all observations evaluated again.
    func evaluateAll() {
        state.withLock { $0.mailbox?.post(.evaluateAll) }
    }

    /// Makes the thread look at the clock.
    private func wake() {
        state.withLock { $0.mailbox?.wakeUp.signal() }
    }
}
