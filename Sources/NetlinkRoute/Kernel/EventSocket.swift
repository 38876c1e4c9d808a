// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
package import RoutingModel

/// A multicast group of rtnetlink (RTNLGRP_...).
package struct EventGroup: Hashable, Sendable {
    /// The kernel's name without its prefix.
    package let name: String
    /// The kernel's number.
    let number: UInt32

    private init(_ name: String, _ group: rtnetlink_groups) {
        self.name = name
        number = group.rawValue
    }

    /// Interfaces.
    static let link = EventGroup("LINK", RTNLGRP_LINK)
    /// IPv4 addresses.
    static let ipv4Address = EventGroup("IPV4_IFADDR", RTNLGRP_IPV4_IFADDR)
    /// IPv4 routes.
    static let ipv4Route = EventGroup("IPV4_ROUTE", RTNLGRP_IPV4_ROUTE)
    /// IPv4 rules.
    static let ipv4Rule = EventGroup("IPV4_RULE", RTNLGRP_IPV4_RULE)
    /// Nexthop objects (Linux 5.3 and later).
    package static let nexthop = EventGroup("NEXTHOP", RTNLGRP_NEXTHOP)
    /// Neighbours: frequent, so only recordings and observations of an identity join this group.
    package static let neighbour = EventGroup("NEIGH", RTNLGRP_NEIGH)

    /// The groups of all that answers depend on, except neighbours.
    package static let monitored = [
        link,
        ipv4Address,
        ipv4Route,
        ipv4Rule,
        EventGroup("IPV6_IFADDR", RTNLGRP_IPV6_IFADDR),
        EventGroup("IPV6_ROUTE", RTNLGRP_IPV6_ROUTE),
        EventGroup("IPV6_RULE", RTNLGRP_IPV6_RULE),
        EventGroup("IPV4_NETCONF", RTNLGRP_IPV4_NETCONF),
        EventGroup("IPV6_NETCONF", RTNLGRP_IPV6_NETCONF),
        nexthop,
    ]

    /// Whether a refusal means that the kernel has no such objects: nothing is missed then.
    ///
    /// Linux refuses the group of nexthop objects with EINVAL before 5.3.
    func isUnknown(_ error: ReachabilityError) -> Bool {
        self == .nexthop && (error.number == EINVAL || error.number == EOPNOTSUPP)
    }
}

/// A socket that receives the kernel's notifications.
package struct EventSocket: ~Copyable {
    private let handle: OpaquePointer
    /// The events since the socket was opened.
    package private(set) var counters = FeedCounters()

    /// Opens a socket in the calling thread's network namespace.
    ///
    /// It joins no group.
    package init() throws(ReachabilityError) {
        var error = cnl_error()
        guard let handle = cnl_events_open(&error) else {
            throw ReachabilityError("open a netlink event socket", error)
        }
        self.handle = handle
        // libnl shrinks the kernel's default of 208 KiB to 64 KiB, which holds 28 link notifications.
        _ = try? setBuffer(bytes: 212_992 / 2)
    }

    deinit {
        cnl_events_close(handle)
    }

    /// Joins a group.
    ///
    /// - Returns: `false` when the kernel is older than the group: there is nothing to be notified of.
    /// - Throws: The kernel's or a sandbox's refusal.
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
    /// - Parameter bytes: The size; the kernel counts double.
    /// - Returns: The effective size in bytes, and whether it exceeds the limit for ordinary processes.
    /// - Throws: An error when the kernel sets no size.
    package func setBuffer(bytes: UInt32) throws(ReachabilityError) -> (effective: Int, isForced: Bool) {
        // SO_RCVBUFFORCE takes CAP_NET_ADMIN. Without it the kernel clamps the size to net.core.rmem_max without an
        // error, so the size is read back.
        var size = Int32(clamping: min(bytes, UInt32(Int32.max) / 2))
        var length = socklen_t(MemoryLayout<Int32>.size)
        let isForced = setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &size, length) == 0
        guard isForced || setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, length) == 0,
            getsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, &length) == 0
        else { throw ReachabilityError(operation: "size the receive buffer", number: errno) }
        return (Int(size), isForced)
    }

    /// The descriptor to wait on.
    ///
    /// The socket owns it.
    package var descriptor: Int32 {
        cnl_events_descriptor(handle)
    }

    /// Reads one datagram without waiting.
    ///
    /// - Parameter body: Receives each message, valid during the call.
    /// - Returns: ``FeedReading/changes`` when a datagram was read.
    /// - Throws: An error when the socket is broken.
    package mutating func receive(_ body: (NetlinkMessage) -> Void) throws(ReachabilityError) -> FeedReading {
        let (status, count) = withMessageHandler(body) { cnl_events_receive(handle, $0, $1) }
        counters.messages += count
        switch status {
        case 1: return .changes
        case 0: return .empty
        case -EBADMSG:
            counters.malformed += 1
            return .changes
        case CNL_UNTRUSTED:
            counters.spoofed += 1
            return .changes
        case -ENOBUFS:
            counters.overruns += 1
            return .overrun
        case -EMSGSIZE:
            counters.truncated += 1
            return .overrun
        default: throw ReachabilityError(operation: "read notifications", number: -status)
        }
    }
}
