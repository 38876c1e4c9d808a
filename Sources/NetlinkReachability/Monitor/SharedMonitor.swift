// SPDX-License-Identifier: Apache-2.0

internal import NetlinkRoute
internal import Synchronization
internal import SystemSupport

/// The one monitor of a network source: it runs while somebody uses it.
package final class SharedMonitor: Sendable {
    /// Opens what announces changes; it is called on the thread of whoever comes first.
    package typealias Opening = @Sendable () throws(RoutingFault) -> any ChangeFeed

    private struct State {
        var engine: MonitorMailbox?
        var userCount = 0
        var nextID: MonitorState.ID = 1
    }

    /// A place at the monitor, held by one user.
    struct Registration: Sendable {
        let id: MonitorState.ID
        let engine: MonitorMailbox
    }

    let facts: NetworkFacts
    let clock: any MonitorClock
    let resolverFiles: [String]
    /// Counts what is under way for whoever wants to know; `nil` for nobody.
    let work: InFlightCounter?
    private let opening: Opening
    private let state = Locked(State())
    private let totals = Locked(MonitorCounters())
    /// How many threads there are: more than one for as long as an earlier one takes to end.
    private let running = Atomic<Int>(0)

    package init(
        facts: NetworkFacts,
        clock: any MonitorClock,
        resolverFiles: [String],
        work: InFlightCounter? = nil,
        opening: @escaping Opening
    ) {
        self.facts = facts
        self.clock = clock
        self.resolverFiles = resolverFiles
        self.work = work
        self.opening = opening
        // Once for all its engines: a clock keeps what it is given.
        clock.onMove { [weak self] in self?.wake() }
    }

    /// What the monitor has done since the source exists.
    var counters: MonitorCounters {
        totals.withLock { $0 }
    }

    /// Adds what a thread has counted since it last said so; an earlier one can still be ending.
    func note(_ counters: MonitorCounters, after published: MonitorCounters) {
        totals.withLock { $0.add(counters, after: published) }
    }

    /// Takes a place at the monitor, and starts it for the first one.
    ///
    /// From now on no announcement is missed.
    func join() throws(RoutingFault) -> Registration {
        try state.withLock { (state) throws(RoutingFault) in
            let engine = if let running = state.engine { running } else { try start() }
            state.engine = engine
            state.userCount += 1
            state.nextID += 1
            return Registration(id: state.nextID - 1, engine: engine)
        }
    }

    /// Gives a place back; with the last one the monitor ends.
    func leave(_ membership: Registration) {
        state.withLock { state in
            membership.engine.post(.remove(membership.id))
            state.userCount -= 1
            guard state.userCount == 0 else { return }
            state.engine = nil
            membership.engine.post(.end)
        }
    }

    /// How many places are taken.
    package var userCount: Int {
        state.withLock { $0.userCount }
    }

    /// Waits until every thread of this source that was told to end has let go of what it held, for tests.
    func untilEnded() async {
        while running.load(ordering: .acquiring) > (userCount > 0 ? 1 : 0) { await Task.yield() }
    }

    /// Waits until the monitor has nothing more to do for now, for tests.
    ///
    /// - Returns: When it has something to do if nothing happens before; `nil` for never.
    @discardableResult
    package func settle() async -> MonitorInstant? {
        // The first time it may have looked at the announcements before those that the caller has just made.
        _ = await whenIdle()
        return await whenIdle()
    }

    private func whenIdle() async -> MonitorInstant? {
        await withCheckedContinuation { continuation in
            let isRunning = state.withLock { state in
                // Under the lock nobody can tell it to end first: then it would read no more mail.
                state.engine?.post(.whenIdle { continuation.resume(returning: $0) })
                return state.engine != nil
            }
            if !isRunning { continuation.resume(returning: nil) }
        }
    }

    /// Says that the resolver has been told to do otherwise, as a change of its files does.
    package func noteResolverChange() {
        state.withLock { $0.engine?.post(.resolverChanged) }
    }

    private func start() throws(RoutingFault) -> MonitorMailbox {
        let engine = try MonitorMailbox()
        let feed = try opening()
        running.add(1, ordering: .relaxed)
        let hasStarted = BackgroundThread.start("netlink-monitor") {
            MonitorLoop(engine: engine, feed: feed, hub: self).run()
            self.running.subtract(1, ordering: .releasing)
        }
        guard hasStarted else {
            running.subtract(1, ordering: .relaxed)
            throw RoutingFault(operation: "start a thread for the monitor", number: 11)
        }
        return engine
    }

    /// Has the monitor look at the clock.
    private func wake() {
        state.withLock { $0.engine?.wakeUp.signal() }
    }
}
