// SPDX-License-Identifier: Apache-2.0

/// An entry of a routing table.
///
/// The kernel's counterpart is RTM_NEWROUTE.
package struct Route: Hashable, Sendable {
    /// The prefix of the packets' destinations.
    package var destination: IPPrefix
    /// The prefix of the packets' sources; `nil` for any.
    ///
    /// Only IPv6 has such routes (RFC 8043).
    package var source: IPPrefix?
    /// What happens to the packets.
    package var type: RouteType
    /// The number of the routing table.
    package var table: UInt32
    /// How far away the destination is.
    package var scope: RouteScope
    /// Who made the route: one of the RTPROT numbers.
    package var origin: UInt8
    /// The type of service of the packets; 0 for any.
    package var tos: UInt8
    /// The metric: smaller is preferred.
    package var priority: UInt32
    /// A router's announced preference, for IPv6.
    package var preference: RouterPreference
    /// Its nexthops: none for a rejecting route, several for a multipath route.
    package var nexthops: [Nexthop]
    /// The nexthop object behind it, 0 for none.
    package var nexthopID: UInt32
    /// The source address that packets get unless they have one.
    package var preferredSource: IPAddress?
    /// The lifetime from the time the route was read, in the kernel's ticks (1/100 s); negative for an expired route,
    /// `nil` for one without a lifetime.
    package var expires: Int32?
    /// All flag bits of the message: RTM_F bits, and RTNH_F bits of the single nexthop in the low byte.
    package var flags: UInt32

    /// Describes a route; what is left out is as in a plain unicast route of the main table.
    package init(
        destination: IPPrefix,
        source: IPPrefix? = nil,
        type: RouteType = .unicast,
        table: UInt32 = Route.mainTable,
        scope: RouteScope = .universe,
        origin: UInt8 = Route.bootOrigin,
        tos: UInt8 = 0,
        priority: UInt32 = 0,
        preference: RouterPreference = .medium,
        nexthops: [Nexthop] = [],
        nexthopID: UInt32 = 0,
        preferredSource: IPAddress? = nil,
        expires: Int32? = nil,
        flags: UInt32 = 0
    ) {
        self.destination = destination
        self.source = source
        self.type = type
        self.table = table
        self.scope = scope
        self.origin = origin
        self.tos = tos
        self.priority = priority
        self.preference = preference
        self.nexthops = nexthops
        self.nexthopID = nexthopID
        self.preferredSource = preferredSource
        self.expires = expires
        self.flags = flags
    }
}

extension Route {
    /// Whether its nexthops are those of an IPv6 nexthop object: see ``RouteMatch/ignoresBinding``.
    package var ignoresBinding: Bool { Self.ignoresBinding(nexthopID, destination.address.family) }

    /// The same for a route of a family with the number of its nexthop object, 0 for none.
    package static func ignoresBinding(_ nexthopID: UInt32, _ family: IPAddress.Family) -> Bool {
        nexthopID != 0 && family == .v6
    }

    /// Whether it is an exception that the kernel keeps for one destination.
    package var isCloned: Bool { flags & Self.clonedFlag != 0 }

    /// The bit of ``flags`` for an exception (`RTM_F_CLONED`).
    private static let clonedFlag: UInt32 = 0x200

    /// The number of the main table (`RT_TABLE_MAIN`).
    package static let mainTable: UInt32 = 254
    /// The number of the table of own and broadcast addresses (`RT_TABLE_LOCAL`).
    package static let localTable: UInt32 = 255
    /// The number of the table behind the last IPv4 rule (`RT_TABLE_DEFAULT`).
    package static let defaultTable: UInt32 = 253
    /// The tables that every host has, by the names of ip-route(8).
    package static let namedTables = ["main": mainTable, "local": localTable, "default": defaultTable]

    /// The name that ip-route(8) gives to a table that every host has; the number of any other.
    package static func tableName(_ table: UInt32) -> String {
        namedTables.first { $0.value == table }?.key ?? "\(table)"
    }

    /// The origin of the routes of ICMP redirects (`RTPROT_REDIRECT`).
    package static let redirectOrigin: UInt8 = 1
    /// The origin of the routes that the kernel makes of addresses (`RTPROT_KERNEL`).
    package static let kernelOrigin: UInt8 = 2
    /// The origin that ip(8) gives to a route unless it names another one (`RTPROT_BOOT`).
    package static let bootOrigin: UInt8 = 3
    /// The origin of the routes of router advertisements (`RTPROT_RA`).
    package static let advertisedOrigin: UInt8 = 9

    /// The words of ip(8) for the origins.
    package static let origins: [String: UInt8] = [
        "redirect": 1, "kernel": 2, "boot": 3, "static": 4, "gated": 8, "ra": 9, "mrt": 10, "zebra": 11,
        "bird": 12, "dnrouted": 13, "xorp": 14, "ntk": 15, "dhcp": 16, "keepalived": 18, "babel": 42,
        "bgp": 186, "isis": 187, "ospf": 188, "rip": 189, "eigrp": 192,
    ]

    /// The word for who made the route, or the number where there is none.
    package var originWord: String {
        Self.origins.first { $0.value == origin }?.key ?? "\(origin)"
    }

    /// Whether router advertisements can prolong the lifetime, which no notification shows (RTPROT_KERNEL, RTPROT_RA).
    package var mayBeProlonged: Bool { Self.mayBeProlonged(origin: origin) }

    /// Whether routes of an origin can be a router's.
    package static func mayBeProlonged(origin: UInt8) -> Bool {
        origin == kernelOrigin || origin == advertisedOrigin
    }

    /// The route without its state and lifetime.
    package var identity: Route {
        var route = self
        route.expires = nil
        route.flags = 0
        for index in route.nexthops.indices {
            route.nexthops[index].flags.formIntersection(.onLink)
            route.nexthops[index].gatewayScope = .unnoted
        }
        return route
    }
}

/// The preference of a router (RFC 4191).
///
/// The kernel's counterpart is RTA_PREF.
package enum RouterPreference: UInt8, Hashable, Sendable {
    /// As good as any.
    case medium = 0
    /// Before others.
    case high = 1
    /// After others.
    case low = 3
}

/// What the kernel does with packets that take a route.
///
/// The kernel's counterpart is `rtm_type`, with the RTN numbers of `linux/rtnetlink.h`.
@usableFromInline
package struct RouteType: RawRepresentable, Hashable, Sendable {
    /// The kernel's number.
    @usableFromInline package let rawValue: UInt8

    /// Wraps the kernel's number; unknown ones are kept.
    @inlinable
    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Compares in line: the rules compare the type of each answer with several.
    @inlinable
    package static func == (one: RouteType, other: RouteType) -> Bool {
        one.rawValue == other.rawValue
    }

    /// To one host, on the link or through a gateway.
    package static let unicast = RouteType(rawValue: 1)
    /// To this host.
    package static let local = RouteType(rawValue: 2)
    /// To every host of a link, as a link-layer broadcast.
    package static let broadcast = RouteType(rawValue: 3)
    /// To this host, as one of several that share the address.
    package static let anycast = RouteType(rawValue: 4)
    /// To the members of a group.
    package static let multicast = RouteType(rawValue: 5)
    /// Dropped in silence.
    package static let blackhole = RouteType(rawValue: 6)
    /// Refused as unreachable.
    package static let unreachable = RouteType(rawValue: 7)
    /// Refused by the administrator.
    package static let prohibit = RouteType(rawValue: 8)
    /// Not in this table: the lookup continues with the next rule.
    package static let `throw` = RouteType(rawValue: 9)
}

extension Route {
    /// Whether it is a unicast route to one host that a program added.
    package var isHostRoute: Bool {
        type == .unicast && !isCloned && origin != Self.kernelOrigin
            && destination.length == destination.address.family.bitWidth
    }
}

extension RouteType {
    /// The types of routes that send nothing.
    package static let refusing: [RouteType] = [.blackhole, .unreachable, .prohibit, .throw]

    /// Whether routes of the type reject packets or go on, and have no nexthop.
    package var isRejecting: Bool { Self.refusing.contains(self) }
}

extension RouteType: CustomStringConvertible {
    /// The name that `ip route` uses.
    @usableFromInline package var description: String {
        let names = [
            "unicast", "local", "broadcast", "anycast", "multicast", "blackhole", "unreachable", "prohibit",
            "throw",
        ]
        let index = Int(rawValue) - 1
        return names.indices.contains(index) ? names[index] : "type \(rawValue)"
    }
}

/// How far away a destination is, or how far an address is valid.
///
/// The kernel's counterpart is `rtm_scope`, with the RT_SCOPE numbers of `linux/rtnetlink.h`: the larger the
/// number, the nearer.
package struct RouteScope: RawRepresentable, Hashable, Sendable {
    /// The kernel's number.
    package let rawValue: UInt8

    /// Wraps the kernel's number; unknown ones are kept.
    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Anywhere.
    package static let universe = RouteScope(rawValue: 0)
    /// On the link.
    package static let link = RouteScope(rawValue: 253)
    /// On this host.
    package static let host = RouteScope(rawValue: 254)
}

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
    /// It is on the heap, because few nexthops have it. `Optional` is written out: an initializer would write the `nil`
    /// of the short form first and then replace it.
    package private(set) var encapsulation: Optional<Box<Encapsulation>>

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

    /// Whether its interface has no carrier, or the kernel passes it over.
    package var isDown: Bool { !flags.isDisjoint(with: [.dead, .linkDown]) }

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

// MARK: - Nexthop objects

/// A nexthop that routes share by its number, alone or as a group of others.
///
/// The kernel's counterpart is RTM_NEWNEXTHOP (Linux 5.3 and later).
package struct NexthopObject: Hashable, Sendable {
    /// A member of a group and its share of the traffic.
    package struct Member: Hashable, Sendable {
        /// The member's number.
        package var id: UInt32
        /// The share, from 1.
        package var weight: UInt16

        /// Names a member.
        package init(id: UInt32, weight: UInt16 = 1) {
            self.id = id
            self.weight = weight
        }
    }

    /// What a nexthop does with packets.
    package enum Kind: Hashable, Sendable {
        /// Sends them one way.
        case single(Nexthop)
        /// Spreads them over other nexthops.
        case group([Member])
        /// Drops them.
        case blackhole
        /// Belongs to a bridge's forwarding table and to no route.
        case forwarding
    }

    /// The number, from 1.
    package var id: UInt32
    /// What it does.
    package var kind: Kind

    /// Describes a nexthop.
    package init(id: UInt32, kind: Kind) {
        self.id = id
        self.kind = kind
    }

    /// The nexthops of routes with this object: its own, or those of its group's members with their weights; none for
    /// a blackhole, also as a member.
    ///
    /// - Parameter object: The object with a number.
    /// - Returns: The nexthops; `nil` where a member is not known, and for an object that no route can have.
    /// - Throws: What the closure throws.
    package func nexthops<Failure>(
        _ object: (UInt32) throws(Failure) -> NexthopObject?
    ) throws(Failure) -> [Nexthop]? {
        switch kind {
        case .single(let nexthop): return [nexthop]
        case .blackhole: return []
        case .forwarding: return nil
        case .group(let members):
            var nexthops: [Nexthop] = []
            for member in members {
                switch try object(member.id)?.kind {
                case .single(var nexthop)?:
                    nexthop.weight = member.weight
                    nexthops.append(nexthop)
                case .blackhole?: return []
                case .group?, .forwarding?, nil: return nil
                }
            }
            return nexthops
        }
    }
}
