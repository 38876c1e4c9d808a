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
