// SPDX-License-Identifier: Apache-2.0

public import NetlinkReachability

/// What the managers say about one interface.
public struct ManagedInterface: Hashable, Sendable {
    /// Whether traffic is counted, as NetworkManager has it.
    ///
    /// NetworkManager's counterpart is NMMetered.
    public enum Metering: String, Hashable, Sendable, CaseIterable {
        /// Set by the user, and not guessed by the manager.
        case metered
        /// The user says that it is not.
        case unmetered
        /// A guess, such as from ANDROID_METERED in a lease, or for a modem.
        case probablyMetered
        /// A guess, which is also NetworkManager's value where nothing hints at a cost.
        case probablyUnmetered

        /// Whether traffic is counted, guesses included.
        public var isMetered: Bool { self == .metered || self == .probablyMetered }
    }

    /// How far a check of NetworkManager came, in its order from the worst.
    ///
    /// NetworkManager's counterpart is NMConnectivityState. It stays unknown where no check is configured.
    public enum Connectivity: String, Hashable, Sendable, CaseIterable {
        /// There is no network.
        case none
        /// The address of the check was not reached.
        case limited
        /// A captive portal answered in place of the address of the check.
        case portal
        /// The address of the check answered.
        case full
    }

    /// The connection that a manager has made over an interface.
    public struct Connection: Hashable, Sendable {
        /// NetworkManager's name of the profile, or the path of the file of systemd-networkd.
        public var name: String
        /// The profile's UUID, which stays if the name changes; `nil` for systemd-networkd.
        public var uuid: String?
        /// The name of the wireless network, as bytes, which need not be UTF-8; `nil` without Wi-Fi.
        public var ssid: [UInt8]?
    }

    /// A domain that the name servers of an interface are asked about.
    public struct Domain: Hashable, Sendable {
        /// The domain, such as `example.com`; `.` stands for all names.
        public var name: String
        /// Whether it only decides which servers are asked, and is not appended to short names.
        public var isRouteOnly: Bool
    }

    /// The interface's index.
    public let index: UInt32
    /// The interface's name.
    public let name: String
    /// Whether traffic is counted, which NetworkManager alone knows.
    public var metering = ManagerFact<Metering>.unknown
    /// How far a check came, the better of IPv4 and IPv6, which NetworkManager alone knows.
    public var connectivity = ManagerFact<Connectivity>.unknown
    /// The address of a captive portal that the network announces (RFC 8910), which systemd-networkd alone knows.
    public var captivePortal = ManagerFact<String>.unknown
    /// The connection.
    public var connection = ManagerFact<Connection>.unknown
    /// The name servers of the interface: those that systemd-resolved asks, else those of the manager.
    public var nameservers = ManagerFact<[IPAddress]>.unknown
    /// The domains that these name servers are asked about.
    public var domains = ManagerFact<[Domain]>.unknown
    /// The prefixes of NAT64 that routers announce (RFC 8781), which systemd-networkd alone knows.
    public var nat64Prefixes = ManagerFact<[IPPrefix]>.unknown

    init(index: UInt32, name: String) {
        self.index = index
        self.name = name
    }
}
