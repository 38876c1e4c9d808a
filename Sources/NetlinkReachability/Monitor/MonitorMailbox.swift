// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NetlinkRoute
internal import RoutingModel
internal import Synchronization
internal import SystemSupport

/// What the monitor's thread does for a query for events.
struct EventListener: Sendable {
    /// Receives each event.
    let receive: @Sendable (NetworkEvent) -> Void
    /// Where the results go.
    let sink: any ResultSink
}

/// Messages from any thread to the monitor's thread.
final class MonitorMailbox: Sendable {
    /// Work for the monitor's thread.
    enum Mail: Sendable {
        /// Begin an observation, which expires at an instant unless that is `nil`.
        case add(MonitorState.ID, Observation, MonitorInstant?)
        /// Pass each event to this, until an instant unless that is `nil`.
        case listen(MonitorState.ID, EventListener, MonitorInstant?)
        /// End an observation, or stop listening.
        case remove(MonitorState.ID)
        /// The resolver has finished a name.
        case resolved(MonitorState.ID, generation: UInt32, ResolvedName)
        /// Evaluate all observations again.
        case evaluateAll
        /// The resolver's configuration has changed.
        case resolverChanged
        /// Call this when no work is left, with the time of the next scheduled work.
        case whenIdle(@Sendable (MonitorInstant?) -> Void)
        /// Stop the thread.
        case end
    }

    /// The descriptors that the thread waits for, by their tokens in the epoll set.
    enum WaitToken {
        static let mail: UInt32 = 0
        static let notifications: UInt32 = 1
        static let resolverFiles: UInt32 = 2
        static let systemClock: UInt32 = 3
    }

    let wakeUp: EventFD
    /// The descriptors that the thread waits for.
    let waitSet: EpollSet
    private let mailbox = Locked<[Mail]>([])
    /// Whether there is mail; changed with the lock held, so that an empty mailbox is found without the lock.
    private let hasMail = Atomic<Bool>(false)

    init() throws(ReachabilityError) {
        do {
            wakeUp = try EventFD()
            waitSet = try EpollSet()
        } catch {
            throw ReachabilityError(error)
        }
        guard waitSet.add(wakeUp.descriptor, as: WaitToken.mail) else {
            throw ReachabilityError(in: .systemCall, operation: "wait for an eventfd", number: ENOMEM)
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
    func takeMail() -> [Mail] {
        guard !isEmpty else { return [] }
        return mailbox.withLock { mailbox in
            let mail = mailbox
            hasMail.store(false, ordering: .releasing)
            mailbox.removeAll(keepingCapacity: mail.count < 1_024)
            return mail
        }
    }
}
