// SPDX-License-Identifier: Apache-2.0

/// A query to a routing table: the route of one packet that this host sends.
///
/// The flow fields (protocol, ports, type of service) matter only where a policy rule or a route matches on
/// them. The kernel's counterpart is the request RTM_GETROUTE.
@usableFromInline
package struct RouteQuery: Hashable, Sendable {
    /// The destination of the packet.
    ///
    /// The zone is ignored: set ``outputInterface``.
    @usableFromInline package var destination: IPAddress
    /// The index of the interface that the socket is bound to, 0 for none.
    @usableFromInline package var outputInterface: UInt32
    /// Whether an IPv6 packet with a source address must leave through ``outputInterface``, as the packets of a
    /// bound socket must (`RT6_LOOKUP_F_IFACE`).
    ///
    /// RTM_GETROUTE only prefers the interface for such a packet, and cannot be asked otherwise.
    @usableFromInline package var isStrict = false
    /// Whether to answer with the nexthop that this packet takes and the source address that it gets, instead of the
    /// table's entry with all its nexthops.
    ///
    /// The kernel's counterpart is a request without RTM_F_FIB_MATCH.
    @usableFromInline package var selectsNexthop = false
    /// Whether to answer with the whole entry (``RouteMatch/entry``).
    @usableFromInline package var wantsEntry = false
    /// The local address that the socket is bound to; it must be an address of this host.
    @usableFromInline package var source: IPAddress?
    /// The socket's mark (SO_MARK).
    @usableFromInline package var mark: UInt32
    /// The user that owns the socket; `nil` for the calling process's.
    @usableFromInline package var user: UInt32?
    /// The IP protocol (IPPROTO_UDP, IPPROTO_TCP, ...); `nil` for UDP.
    @usableFromInline package var ipProtocol: UInt8?
    /// The source port in host order; `nil` for an unspecified port.
    @usableFromInline package var sourcePort: UInt16?
    /// The destination port in host order; `nil` for an unspecified port.
    @usableFromInline package var destinationPort: UInt16?
    /// The type of service (IP_TOS) of IPv4 or the traffic class (IPV6_TCLASS) of IPv6.
    @usableFromInline package var typeOfService: UInt8 = 0

    /// Creates a query about the packets of a socket that is bound only where an argument says so.
    ///
    /// It asks for the calling process and without a flow: set those afterwards.
    @inlinable
    package init(
        destination: IPAddress,
        outputInterface: UInt32 = 0,
        source: IPAddress? = nil,
        mark: UInt32 = 0
    ) {
        self.destination = destination
        self.outputInterface = outputInterface
        self.source = source
        self.mark = mark
    }
}

extension RouteQuery {
    /// The query about the nexthop and the source address of this packet.
    package var forPacket: RouteQuery {
        var query = self
        (query.selectsNexthop, query.wantsEntry) = (true, false)
        return query
    }

    /// The query about the whole entry.
    package var forEntry: RouteQuery {
        var query = self
        (query.selectsNexthop, query.wantsEntry) = (false, true)
        return query
    }

    /// Whether the source address that a socket without one gets can change an answer, apart from policy rules.
    ///
    /// An IPv4 socket sends to a group through the interface of its source address, and to a local destination
    /// from that same address, which then has to be an address of this host. An IPv6 socket fails if the outgoing
    /// interface has no address that the destination's scope needs.
    ///
    /// - Parameters:
    ///   - type: The type of the answer's entry.
    ///   - origin: The entry's protocol: addresses of this host have RTPROT_KERNEL.
    /// - Returns: `false` where the source makes no difference, or the query has one.
    package func dependsOnSource(_ type: RouteType, origin: UInt8) -> Bool {
        guard source == nil else { return false }
        return switch destination.family {
        case .v4: destination.isIPv4Group || (type == .local && origin != Route.kernelOrigin)
        case .v6: outputInterface != 0 || destination.isLinkScoped
        }
    }
}
