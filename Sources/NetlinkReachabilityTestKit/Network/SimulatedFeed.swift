// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import RoutingModel
internal import SystemSupport

/// The notifications of a simulated network that one monitor reads.
package final class SimulatedFeed: ChangeFeed {
    fileprivate struct State {
        var queue: [KernelNotification] = []
        var isOverrun = false
        var error: ReachabilityError?
        var counters = FeedCounters()
    }

    private let state = Locked(State())
    private let wakeUp: EventFD
    package let refusedGroups: Int

    fileprivate init(refusedGroups: Int) throws(ReachabilityError) {
        do {
            wakeUp = try EventFD()
        } catch {
            throw ReachabilityError(error)
        }
        self.refusedGroups = refusedGroups
    }

    package var descriptor: Int32 { wakeUp.descriptor }

    package var counters: FeedCounters { state.withLock { $0.counters } }

    fileprivate func update(_ body: (inout State) -> Void) {
        state.withLock { body(&$0) }
        wakeUp.signal()
    }

    package func read(_ body: (KernelNotification) -> Void) throws(ReachabilityError) -> FeedReading {
        wakeUp.reset()
        let taken: [KernelNotification]? = try state.withLock { (state) throws(ReachabilityError) in
            if let error = state.error { throw error }
            if state.isOverrun {
                state.isOverrun = false
                state.counters.overruns += 1
                return nil
            }
            defer { state.queue = [] }
            state.counters.messages += UInt64(state.queue.count)
            return state.queue
        }
        guard let taken else { return .overrun }
        for notification in taken { body(notification) }
        return taken.isEmpty ? .empty : .changes
    }
}

/// The feeds of all monitors that read one network's notifications.
package final class SimulatedFeeds: Sendable {
    private struct Entry {
        weak var feed: SimulatedFeed?
    }

    private struct State {
        var entries: [Entry] = []
        var openedCount = 0
    }

    private let state = Locked(State())

    /// Starts without a feed.
    package init() {}

    /// The number of feeds opened so far.
    package var openedCount: Int { state.withLock { $0.openedCount } }

    /// Opens a feed for a monitor that starts.
    ///
    /// - Parameter refusedGroups: The number of notification groups that a sandbox refuses; if not 0, the feed stays
    ///   silent.
    /// - Returns: The feed.
    /// - Throws: When no descriptor is available.
    package func open(refusedGroups: Int = 0) throws(ReachabilityError) -> SimulatedFeed {
        let feed = try SimulatedFeed(refusedGroups: refusedGroups)
        state.withLock { state in
            state.entries.removeAll { $0.feed == nil }
            state.entries.append(Entry(feed: feed))
            state.openedCount += 1
        }
        return feed
    }

    /// Queues notifications, all at once.
    package func notify(_ notifications: [KernelNotification]) {
        guard !notifications.isEmpty else { return }
        for feed in open where feed.refusedGroups == 0 { feed.update { $0.queue += notifications } }
    }

    /// Drops the queued notifications and reports the loss.
    package func overrun() {
        for feed in open where feed.refusedGroups == 0 {
            feed.update { ($0.queue, $0.isOverrun) = ([], true) }
        }
    }

    /// Makes every read fail from now on.
    package func breakDown() {
        let error = ReachabilityError(operation: "read notifications", number: EBADF)
        for feed in open { feed.update { $0.error = error } }
    }

    private var open: [SimulatedFeed] {
        state.withLock { $0.entries.compactMap(\.feed) }
    }
}
