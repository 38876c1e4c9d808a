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

/// What has settings of both families: an interface, and the network as a whole.
package protocol SettingsHolder {
    /// Whether IPv4 routes without a carrier are ignored; `nil` where it is not known.
    var ipv4IgnoresLinkdown: Bool? { get set }
    /// Whether IPv6 routes without a carrier are ignored; `nil` where it is not known.
    var ipv6IgnoresLinkdown: Bool? { get set }
    /// Whether IPv6 packets are forwarded; `nil` where it is not known.
    var ipv6Forwards: Bool? { get set }
}

extension SettingsHolder {
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
    package mutating func fillSettings(from other: Self) {
        ipv4IgnoresLinkdown = ipv4IgnoresLinkdown ?? other.ipv4IgnoresLinkdown
        ipv6IgnoresLinkdown = ipv6IgnoresLinkdown ?? other.ipv6IgnoresLinkdown
        ipv6Forwards = ipv6Forwards ?? other.ipv6Forwards
    }
}

extension Link: SettingsHolder {}
