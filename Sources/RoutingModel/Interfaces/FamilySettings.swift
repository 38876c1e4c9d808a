// SPDX-License-Identifier: Apache-2.0

/// Settings of one address family that decide about routes, for one interface or for all.
///
/// The kernel's counterpart is RTM_NEWNETCONF: sysctls below `net.ipv4.conf` and `net.ipv6.conf`.
package struct FamilySettings: Hashable, Sendable {
    /// What the settings are for.
    package enum Place: Hashable, Sendable {
        /// The whole network: `conf.all`.
        case all
        /// Interfaces that are yet to come: `conf.default`.
        case newInterfaces
        /// One interface, by its index.
        case interface(UInt32)
    }

    /// The family.
    package var family: IPAddress.Family
    /// What they are for.
    package var place: Place
    /// Whether routes without a carrier are ignored (`ignore_routes_with_linkdown`); `nil` where nothing is said.
    package var ignoresLinkdown: Bool?
    /// Whether packets are forwarded (`forwarding`); `nil` where nothing is said.
    package var forwards: Bool?

    /// Describes settings.
    package init(
        family: IPAddress.Family,
        place: Place,
        ignoresLinkdown: Bool? = nil,
        forwards: Bool? = nil
    ) {
        self.family = family
        self.place = place
        self.ignoresLinkdown = ignoresLinkdown
        self.forwards = forwards
    }
}

/// Settings of both families, for one interface or for a whole network; `nil` is unknown.
///
/// Dumps of links hold those of each interface; ``FamilySettings`` hold either.
package struct RoutingSettings: Hashable, Sendable {
    /// The sysctl `ignore_routes_with_linkdown` for IPv4.
    package var ipv4IgnoresLinkdown: Bool?
    /// The sysctl `ignore_routes_with_linkdown` for IPv6.
    package var ipv6IgnoresLinkdown: Bool?
    /// The sysctl `forwarding` for IPv6.
    ///
    /// A router does not ask whether its neighbours answer.
    package var ipv6Forwards: Bool?

    /// The initial settings of a network namespace.
    package static let initial = RoutingSettings(
        ipv4IgnoresLinkdown: false, ipv6IgnoresLinkdown: false, ipv6Forwards: false)

    /// Describes settings; what is left out is unknown.
    package init(
        ipv4IgnoresLinkdown: Bool? = nil, ipv6IgnoresLinkdown: Bool? = nil, ipv6Forwards: Bool? = nil
    ) {
        self.ipv4IgnoresLinkdown = ipv4IgnoresLinkdown
        self.ipv6IgnoresLinkdown = ipv6IgnoresLinkdown
        self.ipv6Forwards = ipv6Forwards
    }

    /// The sysctl `ignore_routes_with_linkdown` for a family.
    package func ignoresLinkdown(_ family: IPAddress.Family) -> Bool? {
        family == .v4 ? ipv4IgnoresLinkdown : ipv6IgnoresLinkdown
    }

    /// Takes over what a notification says.
    package mutating func take(_ settings: FamilySettings) {
        switch settings.family {
        case .v4:
            ipv4IgnoresLinkdown = settings.ignoresLinkdown ?? ipv4IgnoresLinkdown
        case .v6:
            ipv6IgnoresLinkdown = settings.ignoresLinkdown ?? ipv6IgnoresLinkdown
            ipv6Forwards = settings.forwards ?? ipv6Forwards
        }
    }

    /// Takes over what is unknown.
    package mutating func fill(from other: Self) {
        ipv4IgnoresLinkdown = ipv4IgnoresLinkdown ?? other.ipv4IgnoresLinkdown
        ipv6IgnoresLinkdown = ipv6IgnoresLinkdown ?? other.ipv6IgnoresLinkdown
        ipv6Forwards = ipv6Forwards ?? other.ipv6Forwards
    }
}
