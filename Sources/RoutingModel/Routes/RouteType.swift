// SPDX-License-Identifier: Apache-2.0

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
