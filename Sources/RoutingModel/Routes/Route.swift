// SPDX-License-Identifier: Apache-2.0

/// An entry of a routing table.
///
/// The kernel's counterpart is RTM_NEWROUTE.
package struct Route: Hashable, Sendable {
    /// The addresses it is for.
    package var destination: IPPrefix
    /// The sources it is for: only IPv6 has routes that look at the source (RFC 8043).
    package var source: IPPrefix?
    /// What happens to the packets.
    package var type: RouteType
    /// The routing table: 254 main, 255 local, 253 default.
    package var table: UInt32
    /// How far away the destination is.
    package var scope: RouteScope
    /// Who made the route: the RTPROT numbers (2 kernel, 3 boot, 4 static, 9 router advertisement ...).
    package var origin: UInt8
    /// The type of service it is for; 0 for any.
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
    /// When it ends, in the kernel's ticks (1/100 s) from the time it was read; negative when over, `nil`
    /// when never.
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
        origin: UInt8 = 3,
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
    /// Whether it is an exception that the kernel keeps for one destination: RTM_F_CLONED.
    package var isCloned: Bool { flags & 0x200 != 0 }

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

    /// The origin of the routes that the kernel makes of addresses (`RTPROT_KERNEL`).
    package static let kernelOrigin: UInt8 = 2
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
