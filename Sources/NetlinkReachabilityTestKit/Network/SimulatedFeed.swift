// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import NetlinkRoute
internal import RoutingModel
internal import SystemSupport

/// What one monitor reads of a simulated network's announcements.
final class SimulatedFeed: ChangeFeed {
    fileprivate struct State {
        var queue: [KernelNotification] = []
        var isOverrun = false
        var fault: RoutingFault?
        var counters = FeedCounters()
    }

    private let state = Locked(State())
    private let wakeUp: EventFD
    let refusedGroups: Int

    init(isRefused: Bool) throws(RoutingFault) {
        do {
            wakeUp = try EventFD()
        } catch {
            throw RoutingFault(error)
        }
        refusedGroups = isRefused ? EventGroup.allCases.count : 0
    }

    var descriptor: Int32 { wakeUp.descriptor }

    var counters: FeedCounters { state.withLock { $0.counters } }

    /// Queues announcements, all at once.
    func announce(_ announcements: [KernelNotification]) {
        guard refusedGroups == 0, !announcements.isEmpty else { return }
        state.withLock { $0.queue += announcements }
        wakeUp.signal()
    }

    /// Loses whatever is queued.
    func overrun() {
        guard refusedGroups == 0 else { return }
        state.withLock { state in
            state.queue = []
            state.isOverrun = true
        }
        wakeUp.signal()
    }

    /// Makes every read fail from now on.
    func breakDown() {
        state.withLock { $0.fault = RoutingFault(operation: "read announcements", number: 9) }
        wakeUp.signal()
    }

    func read(_ body: (KernelNotification) -> Void) throws(RoutingFault) -> FeedReading {
        wakeUp.reset()
        let (reading, announcements) = try state.withLock { (state) throws(RoutingFault) in
            try state.take()
        }
        for announcement in announcements { body(announcement) }
        return reading
    }
}

extension SimulatedFeed.State {
    mutating func take() throws(RoutingFault) -> (FeedReading, [KernelNotification]) {
        if let fault { throw fault }
        if isOverrun {
            isOverrun = false
            counters.overruns += 1
            return (.overrun, [])
        }
        let taken = queue
        queue = []
        counters.messages += UInt64(taken.count)
        return (taken.isEmpty ? .empty : .changes, taken)
    }
}

/// The feeds of all monitors that a network has had.
final class FeedList: Sendable {
    private struct Entry {
        weak var feed: SimulatedFeed?
    }

    private let entries = Locked<[Entry]>([])

    func open(isRefused: Bool) throws(RoutingFault) -> SimulatedFeed {
        let feed = try SimulatedFeed(isRefused: isRefused)
        entries.withLock { entries in
            entries.removeAll { $0.feed == nil }
            entries.append(Entry(feed: feed))
        }
        return feed
    }

    /// The feeds that somebody reads.
    var open: [SimulatedFeed] {
        entries.withLock { $0.compactMap(\.feed) }
    }
}
