// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
package import RoutingModel

/// A multicast group of rtnetlink (RTNLGRP_...).
package enum EventGroup: CaseIterable, Hashable, Sendable {
    /// Interfaces.
    case link
    /// IPv4 addresses.
    case ipv4Address
    /// IPv4 routes.
    case ipv4Route
    /// IPv4 rules.
    case ipv4Rule
    /// IPv6 addresses.
    case ipv6Address
    /// IPv6 routes.
    case ipv6Route
    /// IPv6 rules.
    case ipv6Rule
    /// IPv4 settings of interfaces.
    case ipv4Settings
    /// IPv6 settings of interfaces.
    case ipv6Settings
    /// Nexthop objects (Linux 5.3 and later).
    case nexthop

    /// The kernel's number.
    var group: rtnetlink_groups {
        switch self {
        case .link: RTNLGRP_LINK
        case .ipv4Address: RTNLGRP_IPV4_IFADDR
        case .ipv4Route: RTNLGRP_IPV4_ROUTE
        case .ipv4Rule: RTNLGRP_IPV4_RULE
        case .ipv6Address: RTNLGRP_IPV6_IFADDR
        case .ipv6Route: RTNLGRP_IPV6_ROUTE
        case .ipv6Rule: RTNLGRP_IPV6_RULE
        case .ipv4Settings: RTNLGRP_IPV4_NETCONF
        case .ipv6Settings: RTNLGRP_IPV6_NETCONF
        case .nexthop: RTNLGRP_NEXTHOP
        }
    }

    /// Whether a refusal means that the kernel has no such objects: nothing is missed then.
    ///
    /// Linux refuses the group of nexthop objects with EINVAL before 5.3.
    package func isUnknown(_ fault: RoutingFault) -> Bool {
        self == .nexthop && (fault.number == EINVAL || fault.number == EOPNOTSUPP)
    }
}

extension EventGroup: CustomStringConvertible {
    /// The kernel's name without its prefix.
    package var description: String {
        switch self {
        case .link: "LINK"
        case .ipv4Address: "IPV4_IFADDR"
        case .ipv4Route: "IPV4_ROUTE"
        case .ipv4Rule: "IPV4_RULE"
        case .ipv6Address: "IPV6_IFADDR"
        case .ipv6Route: "IPV6_ROUTE"
        case .ipv6Rule: "IPV6_RULE"
        case .ipv4Settings: "IPV4_NETCONF"
        case .ipv6Settings: "IPV6_NETCONF"
        case .nexthop: "NEXTHOP"
        }
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
    package init() throws(RoutingFault) {
        var fault = cnl_fault()
        guard let handle = cnl_events_open(&fault) else {
            throw RoutingFault("open a netlink event socket", fault)
        }
        self.handle = handle
    }

    deinit {
        cnl_events_close(handle)
    }

    /// Joins a group.
    ///
    /// - Throws: The kernel's or a sandbox's refusal.
    package mutating func join(_ group: EventGroup) throws(RoutingFault) {
        try join(group.group, name: group.description)
    }

    /// Joins the group of neighbours (RTNLGRP_NEIGH).
    ///
    /// Only a recording needs its many notifications.
    mutating func joinNeighbours() throws(RoutingFault) {
        try join(RTNLGRP_NEIGH, name: "NEIGH")
    }

    private mutating func join(_ group: rtnetlink_groups, name: String) throws(RoutingFault) {
        let status = cnl_events_join(handle, group.rawValue)
        guard status == 0 else {
            throw RoutingFault(operation: "join the group \(name)", number: -status)
        }
    }

    /// Requests a receive buffer.
    ///
    /// - Parameter bytes: The size; the kernel counts double.
    /// - Returns: The effective size in bytes, and whether it exceeds the limit for ordinary processes.
    /// - Throws: A fault when the kernel sets no size.
    package mutating func setBuffer(bytes: UInt32) throws(RoutingFault) -> (effective: Int, isForced: Bool) {
        var isForced = false
        let effective = cnl_events_set_buffer(handle, bytes, &isForced)
        guard effective >= 0 else {
            throw RoutingFault(operation: "size the receive buffer", number: Int32(-effective))
        }
        return (Int(effective), isForced)
    }

    /// The descriptor to wait on.
    ///
    /// The socket owns it.
    package var descriptor: Int32 {
        cnl_events_descriptor(handle)
    }

    /// Checks whether something is queued, without reading it.
    ///
    /// - Returns: ``FeedReading/changes`` when something is queued.
    package mutating func poll() throws(RoutingFault) -> FeedReading {
        try reading(cnl_events_poll(handle))
    }

    /// Reads one datagram without waiting.
    ///
    /// - Parameter body: Receives each message, valid during the call.
    /// - Returns: ``FeedReading/changes`` when a datagram was read.
    /// - Throws: A fault when the socket is broken.
    package mutating func receive(_ body: (NetlinkMessage) -> Void) throws(RoutingFault) -> FeedReading {
        let reading = try reading(cnl_events_receive(handle))
        // The shim fills it in before it is read. Its pointer may not be nil until then.
        var message = cnl_message(
            bytes: UnsafeRawPointer(handle),
            length: 0,
            type: 0,
            flags: 0,
            sequence: 0,
            port: 0
        )
        var status = cnl_events_next(handle, &message)
        while status > 0 {
            counters.messages += 1
            body(NetlinkMessage(message))
            status = cnl_events_next(handle, &message)
        }
        if status < 0 { counters.malformed += 1 }
        return reading
    }

    private mutating func reading(_ status: Int32) throws(RoutingFault) -> FeedReading {
        switch status {
        case 1: return .changes
        case 0: return .empty
        case CNL_UNTRUSTED:
            counters.spoofed += 1
            return .changes
        case -ENOBUFS:
            counters.overruns += 1
            return .overrun
        case -EMSGSIZE:
            counters.truncated += 1
            return .overrun
        default: throw RoutingFault(operation: "read notifications", number: -status)
        }
    }
}
