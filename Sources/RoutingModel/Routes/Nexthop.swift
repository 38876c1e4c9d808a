// SPDX-License-Identifier: Apache-2.0

/// The next step of a route: out of an interface, to a gateway or straight to the destination.
///
/// The kernel's counterpart is RTA_OIF with RTA_GATEWAY or RTA_VIA, or one entry of RTA_MULTIPATH.
package struct Nexthop: Hashable, Sendable {
    /// The gateway, or `nil` when the destination is on the link.
    ///
    /// It can be an IPv6 address below an IPv4 route (RFC 5549).
    package var gateway: IPAddress?
    /// The outgoing interface's index; 0 where the kernel named none.
    package var interfaceIndex: UInt32
    /// The share of the traffic among several nexthops, from 1.
    package var weight: UInt16
    /// The state bits.
    package var flags: NexthopFlags
    /// Whether an IPv4 gateway was an address of the interface when the nexthop was added.
    ///
    /// No message of the kernel has it: a snapshot notes it before the addresses change.
    package var gatewayScope = GatewayScope.unnoted
    /// What is put around the packets; `nil` for nothing.
    ///
    /// It is on the heap, because few nexthops have it.
    package private(set) var encapsulation: Box<Encapsulation>?

    /// Describes a nexthop.
    package init(
        interfaceIndex: UInt32,
        gateway: IPAddress? = nil,
        weight: UInt16 = 1,
        flags: NexthopFlags = [],
        encapsulation: Encapsulation? = nil
    ) {
        self.interfaceIndex = interfaceIndex
        self.gateway = gateway
        self.weight = weight
        self.flags = flags
        self.encapsulation = encapsulation.map(Box.init)
    }

    /// What decides the path of a packet, whatever the state and the share of the nexthop.
    ///
    /// The kernel's counterpart is what `rt6_duplicate_nexthop` compares.
    package struct Path: Hashable, Sendable {
        fileprivate let interfaceIndex: UInt32
        fileprivate let gateway: IPAddress?
        fileprivate let encapsulation: Box<Encapsulation>?
    }

    /// The path of packets.
    package var path: Path {
        Path(interfaceIndex: interfaceIndex, gateway: gateway, encapsulation: encapsulation)
    }

    /// Whether packets take the same path with another nexthop.
    package func isDuplicate(of other: Nexthop) -> Bool {
        path == other.path
    }
}

/// Whether an IPv4 gateway was an address of its interface when its nexthop was added: `fib_nh_scope`.
package enum GatewayScope: UInt8, Sendable {
    /// It was if it is now: the addresses have not changed in that since.
    case unnoted
    /// It was an address of the interface (`RT_SCOPE_HOST`). The kernel ignores it.
    case host
    /// It was not (`RT_SCOPE_LINK`).
    case link
}

/// The state bits of a nexthop: the RTNH_F bits of `linux/rtnetlink.h`.
@usableFromInline
package struct NexthopFlags: OptionSet, Hashable, Sendable {
    /// The kernel's bits.
    @usableFromInline package let rawValue: UInt8

    /// Wraps the kernel's bits; unknown ones are kept.
    @inlinable
    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The kernel passes over it.
    package static let dead = NexthopFlags(rawValue: 0x01)
    /// The gateway counts as on the link, regardless of the addresses.
    package static let onLink = NexthopFlags(rawValue: 0x04)
    /// The interface has no carrier.
    ///
    /// The kernel still uses it unless configured to ignore such routes.
    package static let linkDown = NexthopFlags(rawValue: 0x10)
    /// The neighbour below did not answer.
    package static let unresolved = NexthopFlags(rawValue: 0x20)
}

extension [Nexthop] {
    /// The nexthops that packets can take: those that are not dead, or all where all are.
    package var possible: Self {
        let possible = filter { !$0.flags.contains(.dead) }
        return possible.isEmpty ? self : possible
    }
}

/// What a route puts around its packets: a lightweight tunnel.
///
/// The kernel's counterpart is RTA_ENCAP_TYPE with RTA_ENCAP.
package struct Encapsulation: Hashable, Sendable {
    /// The kind: LWTUNNEL_ENCAP of `linux/lwtunnel.h`.
    package struct Kind: RawRepresentable, Hashable, Sendable {
        /// The kernel's number.
        package let rawValue: UInt16

        /// Wraps the kernel's number; unknown ones are kept.
        package init(rawValue: UInt16) {
            self.rawValue = rawValue
        }

        /// Labels in front of the packet, which leaves to the gateway of the route.
        package static let mpls = Kind(rawValue: 1)
        /// An IPv4 packet, which the interface of the route sends: a tunnel with `external`.
        package static let ip = Kind(rawValue: 2)
        /// An IPv6 packet, which the interface of the route sends.
        package static let ip6 = Kind(rawValue: 4)
        /// An IPv6 packet with a routing header, which is routed again, whatever the interface of the route.
        package static let seg6 = Kind(rawValue: 5)
    }

    /// The kind.
    package var kind: Kind
    /// The destination of the outer packet; `nil` where there is none, or the attribute does not hold it.
    package var destination: IPAddress?

    /// Describes an encapsulation.
    package init(_ kind: Kind, to destination: IPAddress? = nil) {
        (self.kind, self.destination) = (kind, destination)
    }

    /// Whether the answer of the kernel and the destination of the outer packet show where packets go.
    package var isShown: Bool {
        kind == .mpls || ([.ip, .ip6, .seg6].contains(kind) && destination != nil)
    }
}

extension Encapsulation: CustomStringConvertible {
    /// The word of ip(8), and the destination of the outer packet.
    package var description: String {
        let names = ["none", "mpls", "ip", "ila", "ip6", "seg6", "bpf", "seg6local", "rpl", "ioam6", "xfrm"]
        let number = Int(kind.rawValue)
        let name = names.indices.contains(number) ? names[number] : "\(number)"
        return destination.map { "\(name) to \($0)" } ?? name
    }
}
