// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NetlinkRoute
internal import Synchronization
internal import SystemSupport

/// What a monitor asks about for one user, immutable and shared with the engine.
final class MonitorSubject: Sendable {
    /// Options that few want; `nil` for the ordinary ones, which then need no memory.
    private final class Special: Sendable {
        let options: ReachabilityOptions

        init(_ options: ReachabilityOptions) {
            self.options = options
        }
    }

    let target: ReachabilityTarget
    private let special: Special?

    init(target: ReachabilityTarget, options: ReachabilityOptions) {
        self.target = target
        special = options == ReachabilityOptions() ? nil : Special(options)
    }

    var options: ReachabilityOptions {
        special?.options ?? ReachabilityOptions()
    }

    /// The name that has to be resolved first; `nil` for none.
    var name: String? {
        guard case .host(let name) = target.kind else { return nil }
        return name
    }
}

/// Whoever wants to know: the callback's queue, or a sequence.
protocol FlagsSink: AnyObject, Sendable {
    /// Takes flags that differ from those before; must not wait.
    func offer(_ flags: ReachabilityFlags)
}

/// The way to a monitor's thread, from any other.
final class MonitorMailbox: Sendable {
    /// Something for the thread to do.
    enum Mail: Sendable {
        /// Monitor something, of which flags are known and told already unless they are `nil`.
        case add(MonitorState.ID, MonitorSubject, any FlagsSink, ReachabilityFlags?)
        /// Monitor the default path; the rest as with ``add(_:_:_:_:)``.
        case addPath(MonitorState.ID, PathRestriction, any PathSink, NetworkPath?)
        case remove(MonitorState.ID)
        case resolved(MonitorState.ID, generation: UInt32, HostResolution)
        /// The resolver has been told to do otherwise.
        case resolverChanged
        /// Call this when there is nothing more to do for now, with the time when there is.
        case whenIdle(@Sendable (MonitorInstant?) -> Void)
        case end
    }

    let wakeUp: EventFD
    /// What the thread waits for.
    let waitSet: EpollSet
    private let mailbox = Locked<[Mail]>([])
    /// Whether there is any; changed with the mailbox only, so that the thread need not open it to find it empty.
    private let hasMail = Atomic<Bool>(false)

    init() throws(RoutingFault) {
        do {
            wakeUp = try EventFD()
            waitSet = try EpollSet()
        } catch {
            throw RoutingFault(error)
        }
        guard waitSet.add(wakeUp.descriptor, as: WaitToken.wakeUp) else {
            throw RoutingFault(operation: "wait for an eventfd", number: ENOMEM)
        }
    }

    /// Leaves something for the thread, and wakes it up.
    func post(_ mail: Mail) {
        let isFirst = mailbox.withLock { mailbox in
            mailbox.append(mail)
            hasMail.store(true, ordering: .releasing)
            return mailbox.count == 1
        }
        if isFirst { wakeUp.signal() }
    }

    /// Empties the mailbox, for the thread.
    func takeMail() -> [Mail] {
        guard hasMail.load(ordering: .acquiring) else { return [] }
        return mailbox.withLock { mailbox in
            let mail = mailbox
            hasMail.store(false, ordering: .releasing)
            mailbox.removeAll(keepingCapacity: mail.count < 1_024)
            return mail
        }
    }
}

/// What the monitor's thread waits for, by its place among the descriptors.
enum WaitToken {
    static let wakeUp: UInt32 = 0
    static let announcements: UInt32 = 1
    static let resolverFiles: UInt32 = 2
    static let systemClock: UInt32 = 3
}
