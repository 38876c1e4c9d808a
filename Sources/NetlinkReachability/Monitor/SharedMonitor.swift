// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import RoutingModel
internal import Synchronization
internal import SystemSupport

/// The monitor of a network source.
///
/// Its thread runs while there are observations.
package final class SharedMonitor: Sendable {
    /// Opens a feed of notifications.
    ///
    /// Called on the thread that begins the first observation.
    package typealias Opening = @Sendable () throws(ReachabilityError) -> (any ChangeFeed)?

    private struct State {
        var mailbox: MonitorMailbox?
        var observationCount = 0
        var lastNumber: UInt32 = 0
        /// The indices of observations that have ended.
        var freeIndices: [UInt32] = []

        /// Returns a number for a new observation, with an index that no other observation has.
        mutating func makeID() -> MonitorState.ID {
            lastNumber = lastNumber == .max ? 1 : lastNumber + 1
            // Without a free index, observations use all lower indices.
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
    /// Counts work in flight for a simulated network; `nil` for other networks.
    let work: InFlightCounter?
    let opening: Opening
    /// Called with each evaluation; `nil` if the program traces none.
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
        // Registered once for all threads of this monitor, because a clock keeps its listeners.
        clock.onMove { [weak self] in self?.state.withLock { $0.mailbox?.wakeUp.signal() } }
    }

    /// The counters since the source was created.
    var counters: MonitorCounters {
        totals.withLock { $0 }
    }

    /// Adds what a thread has counted since its last call.
    ///
    /// An earlier thread can still be ending.
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
    /// No notification after this call is missed.
    func join() throws(ReachabilityError) -> Registration {
        try state.withLock { (state) throws(ReachabilityError) in
            let mailbox = if let running = state.mailbox { running } else { try start() }
            state.mailbox = mailbox
            return Registration(id: state.makeID(), mailbox: mailbox)
        }
    }

    /// Ends the registration of an observation, once.
    ///
    /// The thread ends after the last observation has left.
    func leave(_ id: MonitorState.ID) {
        state.withLock { state in
            // The observation registered through this mailbox, which stays the same while any observation is
            // registered.
            state.mailbox?.post(.remove(id))
            // A later message adds the next observation with this index.
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
            // The loop has closed its descriptors by now.
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

    /// Waits until the monitor has no work left at the clock's present instant.
    ///
    /// - Returns: The time of the next scheduled work; `nil` if there is none.
    @discardableResult
    package func settle() async -> MonitorInstant? {
        // At the first call, the monitor may have read the feed before the caller's latest notifications.
        _ = await whenIdle()
        return await whenIdle()
    }

    private func whenIdle() async -> MonitorInstant? {
        await withCheckedContinuation { continuation in
            let isRunning = state.withLock { state in
                // The lock prevents `end` from being posted first: no mail is read after it.
                state.mailbox?.post(.whenIdle { continuation.resume(returning: $0) })
                return state.mailbox != nil
            }
            if !isRunning { continuation.resume(returning: nil) }
        }
    }

    /// Reports a change of the resolver's configuration, as a change of its files does.
    package func resolverChanged() {
        state.withLock { $0.mailbox?.post(.resolverChanged) }
    }

    /// Makes the monitor evaluate all observations again.
    func evaluateAll() {
        state.withLock { $0.mailbox?.post(.evaluateAll) }
    }
}

/// Messages from any thread to the monitor's thread.
final class MonitorMailbox: Sendable {
    /// Work for the monitor's thread.
    enum Mail: Sendable {
        /// Begin an observation, which expires at an instant; `nil` for never.
        case add(MonitorState.ID, any Observation, MonitorInstant?)
        /// End an observation.
        case remove(MonitorState.ID)
        /// A name has been resolved, or its resolution has failed.
        case resolved(MonitorState.ID, generation: UInt32, ResolvedName)
        /// Evaluate all observations again.
        case evaluateAll
        /// The resolver's configuration has changed.
        case resolverChanged
        /// Call a closure when no work is left, with the time of the next scheduled work.
        case whenIdle(@Sendable (MonitorInstant?) -> Void)
        /// Stop the thread.
        case end
    }

    let wakeUp: EventFD
    private let mailbox = Locked<[Mail]>([])
    /// Whether there is mail.
    ///
    /// Changed under the lock, and read without it.
    private let hasMail = Atomic<Bool>(false)

    init() throws(ReachabilityError) {
        do {
            wakeUp = try EventFD()
        } catch {
            throw ReachabilityError(error)
        }
    }

    /// Adds mail and wakes the thread.
    func post(_ mail: Mail) {
        let isFirst = mailbox.withLock { mailbox in
            mailbox.append(mail)
            hasMail.store(true, ordering: .releasing)
            return mailbox.count == 1
        }
        if isFirst { wakeUp.signal() }
    }

    /// Whether there is no mail.
    var isEmpty: Bool { !hasMail.load(ordering: .acquiring) }

    /// Removes and returns all mail; called by the thread.
    func readAll() -> [Mail] {
        guard !isEmpty else { return [] }
        return mailbox.withLock { mailbox in
            let mail = mailbox
            hasMail.store(false, ordering: .releasing)
            mailbox.removeAll(keepingCapacity: mail.count < 1_024)
            return mail
        }
    }
}
