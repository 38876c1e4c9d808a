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
