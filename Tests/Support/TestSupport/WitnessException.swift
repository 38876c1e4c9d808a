// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import RoutingModel

/// The cases in which the flags intentionally say "not reachable" although a socket connects:
/// `docs/decisions/0015-the-socket-is-the-witness.md`.
///
/// There is no exception in the other direction: if the flags say "reachable", a socket must connect.
package enum WitnessException: String, Hashable, Sendable, CaseIterable {
    /// The interface of every nexthop is down or has no carrier.
    case deadLink
    /// An IPv4 unicast destination of a bound socket that no route matches, even from the selected source address: the
    /// kernel resolves the destination by ARP.
    case boundWithoutRoute
    /// A loopback destination of a socket bound to another interface: the packets never arrive.
    case loopbackElsewhere
    /// A unicast route through the loopback interface: an IPv6 route discards its packets (`fib6_is_reject`,
    /// `ip6_pkt_discard_out`), and packets of an IPv4 route come back in, where no socket receives them.
    case loopbackRoute
    /// No answer can arrive at the source address: link-local or loopback behind an IPv6 gateway, or 0.0.0.0.
    case unusableSource
    /// The outer packets of an encapsulating route cannot leave, which connect(2) does not check.
    case outerUnreachable
    /// A tunnel drops packets of this protocol (`ipip_tunnel_xmit`, `ip6_tnl_start_xmit`), which connect(2) does not
    /// check.
    case payloadNotCarried
    /// WireGuard has no peer for the destination: send(2) fails with ENOKEY (`wg_xmit`), but connect(2) succeeds.
    case noPeer
    /// A vxlan or geneve over IPv6 waits for its local end, not an address of this host: `udp_tunnel6_xmit_skb`
    /// still sends from it, and no answer arrives. This is the only exception for a socket that sends.
    case foreignTunnelEnd

    /// Finds the exception that a negative answer falls under.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - reason: The code of the answer's reason.
    ///   - entry: The entry of the tables that matches the packets of the connected socket; `nil` where it is unknown.
    package init?(_ query: RouteQuery, reason: String, entry: () -> RouteAnswer?) {
        let destination = query.destination.unmapped.withoutZone
        // bind(2) to a link-local address binds to its interface too.
        let zone = query.source?.needsZone == true ? query.source?.zone?.interfaceIndex : nil
        let bound = query.outputInterface != 0 ? query.outputInterface : zone ?? 0
        switch reason {
        case _ where destination.isLoopback && ![0, if_nametoindex("lo")].contains(bound):
            self = .loopbackElsewhere
        case "unusableSource": self = .unusableSource
        case "outerUnreachable": self = .outerUnreachable
        case "payloadNotCarried": self = .payloadNotCarried
        case "noPeer": self = .noPeer
        case "unreachable"
        where (destination.family == .v6 ? [bound, query.destination.zone?.interfaceIndex] : []).contains(
            if_nametoindex("lo")) || entry()?.nexthops.first?.interfaceIndex == if_nametoindex("lo"):
            self = .loopbackRoute
        case "interfaceDown", "noCarrier", "lowerInterfaceDown", "lowerNoCarrier":
            self = .deadLink
        case _
        where destination.family == .v4 && !destination.isIPv4Group && query.outputInterface != 0
            && entry()?.isRejected != false:
            self = .boundWithoutRoute
        default:
            return nil
        }
    }
}
