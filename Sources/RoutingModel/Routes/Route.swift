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
    /// The treatment of the packets by the kernel.
    package var type: RouteType
    /// The number of the routing table.
    package var table: UInt32
    /// The distance of the destination.
    package var scope: RouteScope
    /// The origin of the route: one of the RTPROT numbers.
    package var origin: UInt8
    /// The type of service of the packets; 0 for any.
    package var tos: UInt8
    /// The metric: smaller is preferred.
    package var priority: UInt32
    /// A router's announced preference, for IPv6.
    package var preference: RouterPreference
    /// The nexthops: none for a route that refuses packets, several for a multipath route.
    package var nexthops: [Nexthop]
    /// The number of the nexthop object that the route refers to, 0 for none.
    package var nexthopID: UInt32
    /// The source address for packets that have none.
    package var preferredSource: IPAddress?
    /// The lifetime from the time at which the route was read, in the kernel's ticks (1/100 s); negative for an
    /// expired route, `nil` for a route without a lifetime.
    package var expires: Int32?
    /// All flag bits of the message: RTM_F bits, and RTNH_F bits of the single nexthop in the low byte.
    package var flags: UInt32

    /// Creates a route.
    ///
    /// Omitted properties are those of a unicast route of the main table.
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
    /// Whether the nexthops belong to an IPv6 nexthop object: see ``RouteMatch/ignoresBinding``.
    package var ignoresBinding: Bool { Self.ignoresBinding(nexthopID, destination.address.family) }

    /// Whether a route with a nexthop object's number, 0 for none, ignores the binding of packets.
    package static func ignoresBinding(_ nexthopID: UInt32, _ family: IPAddress.Family) -> Bool {
        nexthopID != 0 && family == .v6
    }

    /// Whether the route is an exception that the kernel caches for one destination.
    package var isCloned: Bool { flags & Self.clonedFlag != 0 }

    /// The bit of ``flags`` for an exception (`RTM_F_CLONED`).
    private static let clonedFlag: UInt32 = 0x200

    /// The number of the main table (`RT_TABLE_MAIN`).
    package static let mainTable: UInt32 = 254
    /// The number of the table of local and broadcast addresses (`RT_TABLE_LOCAL`).
    package static let localTable: UInt32 = 255
    /// The number of the table that the last IPv4 rule uses (`RT_TABLE_DEFAULT`).
    package static let defaultTable: UInt32 = 253
    /// The tables that every host has, by the names of ip-route(8).
    package static let namedTables = ["main": mainTable, "local": localTable, "default": defaultTable]

    /// The ip-route(8) name of a table that every host has; the number of any other table.
    package static func tableName(_ table: UInt32) -> String {
        namedTables.first { $0.value == table }?.key ?? "\(table)"
    }

    /// The origin of routes from ICMP redirects (`RTPROT_REDIRECT`).
    package static let redirectOrigin: UInt8 = 1
    /// The origin of routes that the kernel creates for addresses (`RTPROT_KERNEL`).
    package static let kernelOrigin: UInt8 = 2
    /// The default origin of routes from ip(8) (`RTPROT_BOOT`).
    package static let bootOrigin: UInt8 = 3
    /// The origin of routes from router advertisements (`RTPROT_RA`).
    package static let advertisedOrigin: UInt8 = 9

    /// The words of ip(8) for the origins.
    package static let origins: [String: UInt8] = [
        "redirect": 1, "kernel": 2, "boot": 3, "static": 4, "gated": 8, "ra": 9, "mrt": 10, "zebra": 11,
        "bird": 12, "dnrouted": 13, "xorp": 14, "ntk": 15, "dhcp": 16, "keepalived": 18, "babel": 42,
        "bgp": 186, "isis": 187, "ospf": 188, "rip": 189, "eigrp": 192,
    ]

    /// The word for the origin of the route, or its number if there is no word.
    package var originWord: String {
        Self.origins.first { $0.value == origin }?.key ?? "\(origin)"
    }

    /// Whether router advertisements can prolong the lifetime, which the kernel does not notify of (RTPROT_KERNEL,
    /// RTPROT_RA).
    package var mayBeProlonged: Bool { Self.mayBeProlonged(origin: origin) }

    /// Whether routes of an origin can come from router advertisements.
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
    /// The default preference.
    case medium = 0
    /// Preferred over others.
    case high = 1
    /// Used after others.
    case low = 3
}

/// The treatment of packets that match a route.
///
/// The kernel's counterpart is `rtm_type`, with the RTN numbers of `linux/rtnetlink.h`.
@usableFromInline
package struct RouteType: RawRepresentable, Hashable, Sendable {
    /// The kernel's number.
    @usableFromInline package let rawValue: UInt8

    /// Creates a value from the kernel's number, and keeps unknown numbers.
    @inlinable
    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Inlined, because the rules compare the type of each answer with several types.
    @inlinable
    package static func == (one: RouteType, other: RouteType) -> Bool {
        one.rawValue == other.rawValue
    }

    /// The packet goes to one host, on the link or through a gateway.
    package static let unicast = RouteType(rawValue: 1)
    /// The packet is for this host.
    package static let local = RouteType(rawValue: 2)
    /// The packet goes to every host of a link, as a link-layer broadcast.
    package static let broadcast = RouteType(rawValue: 3)
    /// The packet is for this host, which shares the address with other hosts.
    package static let anycast = RouteType(rawValue: 4)
    /// The packet goes to the members of a multicast group.
    package static let multicast = RouteType(rawValue: 5)
    /// The packet is dropped silently.
    package static let blackhole = RouteType(rawValue: 6)
    /// The packet is refused as unreachable.
    package static let unreachable = RouteType(rawValue: 7)
    /// The packet is refused as prohibited.
    package static let prohibit = RouteType(rawValue: 8)
    /// The lookup continues with the next rule.
    package static let `throw` = RouteType(rawValue: 9)
}

extension Route {
    /// Whether this is a unicast host route that a program added.
    package var isHostRoute: Bool {
        type == .unicast && !isCloned && origin != Self.kernelOrigin
            && destination.length == destination.address.family.bitWidth
    }
}

extension RouteType {
    /// The types of routes that send no packets.
    package static let refusing: [RouteType] = [.blackhole, .unreachable, .prohibit, .throw]

    /// Whether routes of the type refuse packets or continue the lookup, so that they have no nexthop.
    package var isRejecting: Bool { Self.refusing.contains(self) }
}

extension RouteType: CustomStringConvertible {
    /// The name that `ip route` uses.
    @usableFromInline package var description: String {
        [
            "type 0", "unicast", "local", "broadcast", "anycast", "multicast", "blackhole", "unreachable",
            "prohibit", "throw",
        ].word(rawValue) ?? "type \(rawValue)"
    }
}

/// The distance of a destination, or the range in which an address is valid.
///
/// The kernel's counterpart is `rtm_scope`, with the RT_SCOPE numbers of `linux/rtnetlink.h`: the larger the
/// number, the nearer.
package struct RouteScope: RawRepresentable, Hashable, Sendable {
    /// The kernel's number.
    package let rawValue: UInt8

    /// Creates a value from the kernel's number, and keeps unknown numbers.
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

/// The next step of a packet: an interface, and a gateway unless the destination is on the link.
///
/// The kernel's counterpart is RTA_OIF with RTA_GATEWAY or RTA_VIA, or one entry of RTA_MULTIPATH.
package struct Nexthop: Hashable, Sendable {
    /// The gateway, or `nil` when the destination is on the link.
    ///
    /// It can be an IPv6 address in an IPv4 route (RFC 5549).
    package var gateway: IPAddress?
    /// The outgoing interface's index; 0 if the kernel names none.
    package var interfaceIndex: UInt32
    /// The share of the traffic among several nexthops, from 1.
    package var weight: UInt16
    /// The state bits.
    package var flags: NexthopFlags
    /// Whether an IPv4 gateway was an address of the interface when the nexthop was added.
    ///
    /// No kernel message contains it. A snapshot stores it before the addresses change.
    package var gatewayScope = GatewayScope.unnoted
    /// The encapsulation of the packets; `nil` for none.
    ///
    /// Boxed, because few nexthops have one. `Optional` is written out, because with `Box<Encapsulation>?` an
    /// initializer would first write `nil` and then the value.
    package private(set) var encapsulation: Optional<Box<Encapsulation>>

    /// Creates a nexthop.
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

    /// Whether the interface has no carrier, or the kernel does not use the nexthop.
    package var isDown: Bool { !flags.isDisjoint(with: [.dead, .linkDown]) }

    /// The properties that decide the path of a packet, without the state and the weight of the nexthop.
    ///
    /// The kernel's counterpart is the comparison in `rt6_duplicate_nexthop`.
    package struct Path: Hashable, Sendable {
        fileprivate let interfaceIndex: UInt32
        fileprivate let gateway: IPAddress?
        fileprivate let encapsulation: Box<Encapsulation>?
    }

    /// The path of packets.
    package var path: Path {
        Path(interfaceIndex: interfaceIndex, gateway: gateway, encapsulation: encapsulation)
    }

    /// Whether another nexthop has the same path.
    package func isDuplicate(of other: Nexthop) -> Bool {
        path == other.path
    }
}

extension Nexthop {
    /// A nexthop in words, in the order of ip-route(8): `encap mpls 16`, `via 192.0.2.1`, `dev eth0`.
    ///
    /// - Parameters:
    ///   - encapsulation: What is put around the packets, in words; `nil` for nothing.
    ///   - gateway: The gateway; `nil` for none.
    ///   - preposition: What comes before the interface: `dev`, or `on` in a sentence.
    ///   - interface: The name of the interface; `nil` for none.
    /// - Returns: The words.
    package static func words(
        encapsulation: String? = nil,
        via gateway: IPAddress?,
        _ preposition: String,
        _ interface: String?
    ) -> [String] {
        [("encap", encapsulation), ("via", gateway?.description), (preposition, interface)]
            .compactMap { word, value in value.map { "\(word) \($0)" } }
    }
}

extension IPPrefix {
    /// A route to it in a sentence: `default route`, or `route to 192.0.2.0/24`.
    package var routeWords: String { isDefault ? "default route" : "route to \(self)" }
}

/// Whether an IPv4 gateway was an address of its interface when its nexthop was added: `fib_nh_scope`.
package enum GatewayScope: UInt8, Sendable {
    /// Not stored: the present addresses decide, because they have not changed in this respect.
    case unnoted
    /// The gateway was an address of the interface (`RT_SCOPE_HOST`). The kernel ignores it.
    case host
    /// The gateway was not an address of the interface (`RT_SCOPE_LINK`).
    case link
}

/// The state bits of a nexthop: the RTNH_F bits of `linux/rtnetlink.h`.
@usableFromInline
package struct NexthopFlags: OptionSet, Hashable, Sendable {
    /// The kernel's bits.
    @usableFromInline package let rawValue: UInt8

    /// Creates a value from the kernel's bits, and keeps unknown bits.
    @inlinable
    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The kernel does not use the nexthop.
    package static let dead = NexthopFlags(rawValue: 0x01)
    /// The gateway is treated as on the link, regardless of the interface's addresses.
    package static let onLink = NexthopFlags(rawValue: 0x04)
    /// The interface has no carrier.
    ///
    /// The kernel still uses the nexthop unless it is configured to ignore such routes.
    package static let linkDown = NexthopFlags(rawValue: 0x10)
    /// The neighbour did not answer.
    package static let unresolved = NexthopFlags(rawValue: 0x20)
}

extension [Nexthop] {
    /// The nexthops that packets can use: those that are not dead, or all if all are dead.
    package var possible: Self {
        let possible = filter { !$0.flags.contains(.dead) }
        return possible.isEmpty ? self : possible
    }
}

/// The encapsulation of a route's packets: a lightweight tunnel.
///
/// The kernel's counterpart is RTA_ENCAP_TYPE with RTA_ENCAP.
package struct Encapsulation: Hashable, Sendable {
    /// The kind: LWTUNNEL_ENCAP of `linux/lwtunnel.h`.
    package struct Kind: RawRepresentable, Hashable, Sendable {
        /// The kernel's number.
        package let rawValue: UInt16

        /// Creates a value from the kernel's number, and keeps unknown numbers.
        package init(rawValue: UInt16) {
            self.rawValue = rawValue
        }

        /// Labels in front of the packet, which is sent to the gateway of the route.
        package static let mpls = Kind(rawValue: 1)
        /// An outer IPv4 packet, which the interface of the route sends: a tunnel with `external`.
        package static let ip = Kind(rawValue: 2)
        /// An outer IPv6 packet, which the interface of the route sends.
        package static let ip6 = Kind(rawValue: 4)
        /// An outer IPv6 packet with a routing header.
        ///
        /// It is routed again and does not depend on the route's interface.
        package static let seg6 = Kind(rawValue: 5)
    }

    /// The kind.
    package var kind: Kind
    /// The destination of the outer packet; `nil` if there is none, or if the attribute does not contain it.
    package var destination: IPAddress?

    /// Creates an encapsulation.
    package init(_ kind: Kind, to destination: IPAddress? = nil) {
        (self.kind, self.destination) = (kind, destination)
    }

    /// Whether the kernel's answer and the destination of the outer packet show the path of the packets.
    package var isShown: Bool {
        kind == .mpls || ([.ip, .ip6, .seg6].contains(kind) && destination != nil)
    }
}

extension Encapsulation: CustomStringConvertible {
    /// The word of ip(8), and the destination of the outer packet.
    package var description: String {
        let names = ["none", "mpls", "ip", "ila", "ip6", "seg6", "bpf", "seg6local", "rpl", "ioam6", "xfrm"]
        let name = names.word(kind.rawValue) ?? "\(kind.rawValue)"
        return destination.map { "\(name) to \($0)" } ?? name
    }
}

// MARK: - Nexthop objects

/// A nexthop that several routes share by its number: a single nexthop or a group of nexthop objects.
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

    /// The kind of a nexthop object.
    package enum Kind: Hashable, Sendable {
        /// Packets use one nexthop.
        case single(Nexthop)
        /// Packets are spread over other nexthop objects.
        case group([Member])
        /// Packets are dropped.
        case blackhole
        /// The object belongs to a bridge's forwarding table, and not to routes.
        case forwarding
    }

    /// The number, from 1.
    package var id: UInt32
    /// The kind.
    package var kind: Kind

    /// Creates a nexthop.
    package init(id: UInt32, kind: Kind) {
        self.id = id
        self.kind = kind
    }

    /// The nexthops of routes with this object: its own, or those of its group's members with their weights; none for
    /// a blackhole, even as a member.
    ///
    /// - Parameter object: Returns the object with a number.
    /// - Returns: The nexthops; `nil` if a member is not known, and for an object that routes cannot use.
    /// - Throws: The error of the closure.
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
