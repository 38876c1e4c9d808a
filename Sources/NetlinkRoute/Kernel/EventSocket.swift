// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
package import RoutingModel

/// A topic that the kernel announces changes of.
///
/// The kernel's counterparts are the RTNLGRP numbers of `linux/rtnetlink.h`.
package enum EventGroup: UInt32, CaseIterable, Sendable {
    /// Interfaces.
    case link = 1
    /// IPv4 addresses.
    case ipv4Address = 5
    /// IPv4 routes.
    case ipv4Route = 7
    /// IPv4 rules.
    case ipv4Rule = 8
    /// IPv6 addresses.
    case ipv6Address = 9
    /// IPv6 routes.
    case ipv6Route = 11
    /// IPv6 rules.
    case ipv6Rule = 19
    /// IPv4 settings of interfaces.
    case ipv4Settings = 24
    /// IPv6 settings of interfaces.
    case ipv6Settings = 25
    /// Nexthop objects (Linux 5.3 and later).
    case nexthop = 32
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

/// A socket that listens to the kernel's announcements, owned by whoever holds the value.
package struct EventSocket: ~Copyable {
    /// What a read brought.
    package enum Reading: Sendable {
        /// One datagram, whose messages were handed out.
        case messages
        /// Nothing is queued.
        case empty
        /// The kernel dropped announcements. Read on until ``empty``, then ask everything again: until the
        /// queue is empty the kernel drops further ones without saying so.
        case overrun
    }

    private let handle: OpaquePointer

    /// Opens a socket in the calling thread's network namespace, with no groups joined.
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

    /// Joins a group; a sandbox may refuse.
    package mutating func join(_ group: EventGroup) throws(RoutingFault) {
        try join(number: group.rawValue, name: group.description)
    }

    /// Joins the group of neighbours (RTNLGRP_NEIGH), which is no ``EventGroup``: it is noisy, and only a
    /// recording wants it.
    mutating func joinNeighbours() throws(RoutingFault) {
        try join(number: 3, name: "NEIGH")
    }

    private mutating func join(number: UInt32, name: String) throws(RoutingFault) {
        let status = cnl_events_join(handle, number)
        guard status == 0 else {
            throw RoutingFault(operation: "join the group \(name)", number: -status)
        }
    }

    /// Asks for a larger receive buffer.
    ///
    /// - Parameter bytes: The size wanted; the kernel counts the double.
    /// - Returns: The effective size in bytes, and whether it went beyond what an ordinary process may have.
    /// - Throws: A fault when the socket takes no size at all.
    package mutating func setBuffer(bytes: UInt32) throws(RoutingFault) -> (effective: Int, isForced: Bool) {
        var isForced = false
        let effective = cnl_events_set_buffer(handle, bytes, &isForced)
        guard effective >= 0 else {
            throw RoutingFault(operation: "size the receive buffer", number: Int32(-effective))
        }
        return (Int(effective), isForced)
    }

    /// The descriptor to wait on; it stays the socket's.
    package var descriptor: Int32 {
        cnl_events_descriptor(handle)
    }

    /// What has happened since the socket was opened.
    var readCounters: cnl_events_counters {
        cnl_events_read_counters(handle)
    }

    /// Looks whether something is queued, without reading it.
    ///
    /// Cheap, for those who look often.
    ///
    /// - Returns: ``Reading/messages`` when something is.
    package mutating func look() throws(RoutingFault) -> Reading {
        try reading(cnl_events_look(handle))
    }

    /// Reads one datagram without waiting and hands out its messages.
    package mutating func receive(_ body: (NetlinkMessage) -> Void) throws(RoutingFault) -> Reading {
        let reading = try reading(cnl_events_receive(handle))
        // Filled in before it is looked at; a pointer that is never nil has to point somewhere meanwhile.
        var message = cnl_message(
            bytes: UnsafeRawPointer(handle),
            length: 0,
            type: 0,
            flags: 0,
            sequence: 0,
            port: 0
        )
        while cnl_events_next(handle, &message) { body(NetlinkMessage(message)) }
        return reading
    }

    private func reading(_ status: Int32) throws(RoutingFault) -> Reading {
        switch status {
        case 1: return .messages
        case 0: return .empty
        case -ENOBUFS: return .overrun
        default: throw RoutingFault(operation: "read announcements", number: -status)
        }
    }
}
