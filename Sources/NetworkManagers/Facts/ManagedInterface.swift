// SPDX-License-Identifier: Apache-2.0

public import NetlinkReachability

/// The facts of the managers about one interface.
public struct ManagedInterface: Hashable, Sendable {
    /// Whether traffic is metered, according to NetworkManager.
    ///
    /// NetworkManager's counterpart is NMMetered.
    public enum Metering: String, Hashable, Sendable, CaseIterable {
        /// The user has set the interface to metered.
        case metered
        /// The user has set the interface to unmetered.
        case unmetered
        /// A guess, for example from ANDROID_METERED in a lease, or for a modem.
        case probablyMetered
        /// A guess, which is also NetworkManager's value without any indication of a cost.
        case probablyUnmetered

        /// Whether traffic is metered, including guesses.
        public var isMetered: Bool { self == .metered || self == .probablyMetered }
    }

    /// The result of NetworkManager's connectivity check, in NetworkManager's order from the worst.
    ///
    /// NetworkManager's counterpart is NMConnectivityState. The result is unknown if no check is configured.
    public enum Connectivity: String, Hashable, Sendable, CaseIterable {
        /// There is no network connection.
        case none
        /// The address of the check could not be reached.
        case limited
        /// A captive portal answered instead of the address of the check.
        case portal
        /// The address of the check answered.
        case full
    }

    /// The connection of an interface.
    public struct Connection: Hashable, Sendable {
        /// NetworkManager's name of the profile, or the path of the file of systemd-networkd.
        public var name: String
        /// The profile's UUID, which does not change with the name; `nil` for systemd-networkd.
        public var uuid: String?
        /// The name of the wireless network, as bytes that need not be UTF-8; `nil` without Wi-Fi.
        public var ssid: [UInt8]?
    }

    /// A domain whose names are resolved by the name servers of an interface.
    public struct Domain: Hashable, Sendable {
        /// The domain, such as `example.com`; `.` means all names.
        public var name: String
        /// Whether the domain is only for routing queries to servers, and is not appended to short names.
        public var isRouteOnly: Bool
    }

    /// The interface's index.
    public let index: UInt32
    /// The interface's name.
    public let name: String
    /// Whether traffic is metered.
    ///
    /// Only NetworkManager knows this.
    public var metering = ManagerFact<Metering>.unknown
    /// The result of the connectivity check, the better one of IPv4 and IPv6.
    ///
    /// Only NetworkManager knows this.
    public var connectivity = ManagerFact<Connectivity>.unknown
    /// The address of a captive portal that the network announces (RFC 8910).
    ///
    /// Only systemd-networkd knows this.
    public var captivePortal = ManagerFact<String>.unknown
    /// The connection.
    public var connection = ManagerFact<Connection>.unknown
    /// The name servers of the interface: those that systemd-resolved uses, else those of the manager.
    public var nameservers = ManagerFact<[IPAddress]>.unknown
    /// The domains that these name servers resolve.
    public var domains = ManagerFact<[Domain]>.unknown
    /// The NAT64 prefixes that routers announce (RFC 8781).
    ///
    /// Only systemd-networkd knows these.
    public var nat64Prefixes = ManagerFact<[IPPrefix]>.unknown

    init(index: UInt32, name: String) {
        self.index = index
        self.name = name
    }
}
