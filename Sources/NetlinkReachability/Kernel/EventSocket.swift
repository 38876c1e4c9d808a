// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
package import RoutingModel
internal import SystemSupport

/// A socket that receives the kernel's notifications.
package struct EventSocket: ~Copyable {
    private let handle: OpaquePointer
    private let trace = WireTrace(NETLINK_ROUTE)
    /// The counters since the socket was opened.
    package private(set) var counters = FeedCounters()
    /// The number of consecutive errors.
    private var failures = 0
    /// After this many consecutive errors, the socket counts as broken.
    private static let failureLimit = 16

    /// Opens a socket in the calling thread's network namespace.
    ///
    /// The socket is in no multicast group yet.
    package init() throws(ReachabilityError) {
        try self.init(netlinkProtocol: NETLINK_ROUTE)
    }

    /// Opens a socket of a netlink protocol, in no multicast group.
    init(netlinkProtocol: Int32) throws(ReachabilityError) {
        var error = cnl_error()
        guard let handle = cnl_events_open(netlinkProtocol, &error) else {
            throw ReachabilityError("open a netlink event socket", error)
        }
        self.handle = handle
        // libnl reduces the kernel's default of 208 KiB to 64 KiB, which holds only 28 link notifications.
        _ = try? setBuffer(bytes: 212_992 / 2)
    }

    deinit {
        cnl_events_close(handle)
    }

    /// Joins a multicast group.
    ///
    /// - Returns: `false` if the kernel is older than the group, so that there is nothing to notify of.
    /// - Throws: An error if the kernel or a sandbox refuses.
    @discardableResult
    package func join(_ group: EventGroup) throws(ReachabilityError) -> Bool {
        let status = cnl_events_join(handle, group.number)
        if status == 0 { return true }
        let error = ReachabilityError(operation: "join the group \(group.name)", number: -status)
        guard group.isUnknown(error) else { throw error }
        return false
    }

    /// Requests a receive buffer.
    ///
    /// - Parameter bytes: The size. The kernel allocates twice this size.
    /// - Returns: The effective size in bytes, and whether it may exceed the limit for ordinary processes.
    /// - Throws: An error if the kernel sets no size.
    package func setBuffer(bytes: UInt32) throws(ReachabilityError) -> (effective: Int, isForced: Bool) {
        // SO_RCVBUFFORCE requires CAP_NET_ADMIN. Otherwise the kernel clamps the size to net.core.rmem_max without an
        // error, so the size is read back.
        var size = Int32(clamping: min(bytes, UInt32(Int32.max) / 2))
        var length = socklen_t(MemoryLayout<Int32>.size)
        let isForced = setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &size, length) == 0
        guard isForced || setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, length) == 0,
            getsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, &length) == 0
        else { throw ReachabilityError(operation: "size the receive buffer", number: errno) }
        return (Int(size), isForced)
    }

    /// The descriptor to poll.
    ///
    /// The socket owns the descriptor.
    package var descriptor: Int32 {
        cnl_events_descriptor(handle)
    }

    /// Reads one datagram without waiting.
    ///
    /// - Parameter body: Receives each message. A message is valid during the call.
    /// - Returns: ``FeedReading/changes`` if a datagram was read.
    /// - Throws: An error if the socket is broken.
    package mutating func receive(_ body: (NetlinkMessage) -> Void) throws(ReachabilityError) -> FeedReading {
        func pass(_ message: NetlinkMessage) {
            trace?.write(message, isSent: false)
            body(message)
        }
        let (status, count) = withMessageHandler(pass) { cnl_events_receive(handle, $0, $1) }
        counters.messages += count
        // If the kernel cannot queue a notification, it reports the errno of the failure once, such as ENOBUFS,
        // ENOMEM or EMSGSIZE.
        let isLoss = status < 0 && ![-EBADMSG, -EBADF, -ENOTSOCK, CNL_UNTRUSTED].contains(status)
        failures = isLoss ? failures + 1 : 0
        switch status {
        case 1: return .changes
        case 0: return .empty
        case -EBADMSG:
            counters.malformed += 1
            return .changes
        case CNL_UNTRUSTED:
            counters.spoofed += 1
            return .changes
        case -EMSGSIZE:
            counters.truncated += 1
            return .overrun
        case _ where isLoss && failures <= Self.failureLimit:
            counters.overruns += 1
            return .overrun
        default: throw ReachabilityError(operation: "read notifications", number: -status)
        }
    }
}

/// The notifications of the kernel in one network namespace.
package final class KernelChanges: ChangeFeed {
    /// The default receive buffer to request, in bytes.
    ///
    /// The kernel allocates twice this size, and uses about 830 bytes for each queued route notification.
    package static let standardBuffer: UInt32 = 8 << 20

    private let socket: Locked<EventSocket>
    package let descriptor: Int32
    package let refusedGroups: Int

    /// Opens a socket in the calling thread's network namespace and joins all groups that the sandbox allows.
    ///
    /// - Parameter buffer: The receive buffer to request, in bytes.
    /// - Throws: An error if no socket can be opened. A refused group or buffer is not an error.
    package init(buffer: UInt32 = standardBuffer) throws(ReachabilityError) {
        let socket = try EventSocket()
        var refused = 0
        for group in EventGroup.monitored {
            do {
                try socket.join(group)
            } catch {
                refused += 1
            }
        }
        // A smaller buffer overruns more often, and the reader handles overruns.
        _ = try? socket.setBuffer(bytes: buffer)
        descriptor = socket.descriptor
        refusedGroups = refused
        self.socket = Locked(socket)
    }

    package var counters: FeedCounters {
        socket.withLock { $0.counters }
    }

    package func read(_ body: (KernelNotification) -> Void) throws(ReachabilityError) -> FeedReading {
        // The lock is held only while reading.
        let (reading, messages) = try socket.withLock { (socket) throws(ReachabilityError) in
            var messages: [UInt8] = []
            let reading = try socket.receive { $0.append(to: &messages) }
            return (reading, messages)
        }
        NetlinkMessage.forEach(in: messages) { message in
            if let change = message.notification ?? message.neighbourNotification { body(change) }
        }
        return reading
    }
}

extension KernelChanges {
    package func closings() -> (any ClosingFeed)? { KernelClosings() }

    package func followNeighbours() -> Bool {
        socket.withLock { (try? $0.join(.neighbour)) != nil }
    }
}
