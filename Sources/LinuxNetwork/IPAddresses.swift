// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability

public import struct FoundationEssentials.Data

/// An IPv4 address, by Apple's name.
public struct IPv4Address: IPAddress, Hashable {
    let scoped: ScopedAddress

    init(_ scoped: ScopedAddress) {
        self.scoped = scoped
    }

    private init(_ first: UInt8, _ second: UInt8, _ third: UInt8, _ fourth: UInt8) {
        self.init(ScopedAddress(Address(first, second, third, fourth)))
    }

    /// Creates an address from 4 bytes in network order; `nil` for any other number of bytes.
    public init?(_ rawValue: Data, _ interface: NWInterface? = nil) {
        guard let scoped = ScopedAddress(rawValue, .v4, on: interface) else { return nil }
        self.init(scoped)
    }

    /// Reads an address such as `192.0.2.1`, `127.1` or `192.0.2.1%eth0`; `nil` for any other text, and if there is
    /// no such interface.
    public init?(_ addressString: String) {
        guard let scoped = ScopedAddress(addressString), scoped.address.family == .v4 else { return nil }
        self.init(scoped)
    }

    /// 0.0.0.0.
    public static let any = IPv4Address(0, 0, 0, 0)
    /// 127.0.0.1.
    public static let loopback = IPv4Address(127, 0, 0, 1)
    /// 255.255.255.255.
    public static let broadcast = IPv4Address(255, 255, 255, 255)
    /// 224.0.0.1, all hosts of a network.
    public static let allHostsGroup = IPv4Address(224, 0, 0, 1)
    /// 224.0.0.2, all routers of a network.
    public static let allRoutersGroup = IPv4Address(224, 0, 0, 2)
    /// 224.0.0.22, all routers that receive IGMPv3 reports.
    public static let allReportsGroup = IPv4Address(224, 0, 0, 22)
    /// 224.0.0.251, multicast DNS.
    public static let mdnsGroup = IPv4Address(224, 0, 0, 251)

    /// The 4 bytes of the address in network order.
    public var rawValue: Data { scoped.rawValue }
    /// The interface that the address belongs to; `nil` if it was created without one.
    public var interface: NWInterface? { scoped.interface }
    /// Whether the address is in 127.0.0.0/8.
    public var isLoopback: Bool { scoped.address.isLoopback }
    /// Whether the address is in 169.254.0.0/16.
    public var isLinkLocal: Bool { scoped.address.isLinkLocal }
    /// Whether the address is in 224.0.0.0/4.
    public var isMulticast: Bool { scoped.address.isMulticast }
}

extension IPv4Address: CustomDebugStringConvertible {
    /// The address, with `%` and the interface if it has one.
    public var debugDescription: String { scoped.description }
}

/// An IPv6 address, by Apple's name.
public struct IPv6Address: IPAddress, Hashable {
    /// The range of a multicast address (RFC 4291, section 2.7).
    public enum Scope: UInt8, Sendable {
        /// One host.
        case nodeLocal = 1
        /// One link.
        case linkLocal = 2
        /// One site.
        case siteLocal = 5
        /// The sites of one organization.
        case organizationLocal = 8
        /// Everywhere.
        case global = 14
    }

    let scoped: ScopedAddress

    init(_ scoped: ScopedAddress) {
        self.scoped = scoped
    }

    private init(high: UInt64, low: UInt64) {
        self.init(ScopedAddress(Address(v6High: high, low: low)))
    }

    /// Creates an address from 16 bytes in network order; `nil` for any other number of bytes.
    public init?(_ rawValue: Data, _ interface: NWInterface? = nil) {
        guard let scoped = ScopedAddress(rawValue, .v6, on: interface) else { return nil }
        self.init(scoped)
    }

    /// Reads an address such as `2001:db8::1` or `fe80::1%eth0`; `nil` for any other text, and if there is no such
    /// interface.
    public init?(_ addressString: String) {
        guard let scoped = ScopedAddress(addressString), scoped.address.family == .v6 else { return nil }
        self.init(scoped)
    }

    /// The unspecified address.
    public static let any = IPv6Address(high: 0, low: 0)
    /// The unspecified address, because IPv6 has no broadcast.
    public static let broadcast = any
    /// The loopback address.
    public static let loopback = IPv6Address(high: 0, low: 1)
    /// ff01::1, all nodes of this host.
    public static let nodeLocalNodes = IPv6Address(high: 0xff01 << 48, low: 1)
    /// ff02::1, all nodes of a link.
    public static let linkLocalNodes = IPv6Address(high: 0xff02 << 48, low: 1)
    /// ff02::2, all routers of a link.
    public static let linkLocalRouters = IPv6Address(high: 0xff02 << 48, low: 2)

    /// The 16 bytes of the address in network order.
    public var rawValue: Data { scoped.rawValue }
    /// The interface that the address belongs to; `nil` if it was created without one.
    public var interface: NWInterface? { scoped.interface }
    /// Whether the address is the unspecified address.
    public var isAny: Bool { scoped.address.isUnspecified }
    /// Whether the address is the loopback address.
    public var isLoopback: Bool { scoped.address.isLoopback }
    /// Whether the address is in fe80::/10.
    public var isLinkLocal: Bool { scoped.address.isLinkLocal }
    /// Whether the address is in fc00::/7 (RFC 4193).
    public var isUniqueLocal: Bool { scoped.address.networkBytes[0] & 0xfe == 0xfc }
    /// Whether the address is in ff00::/8.
    public var isMulticast: Bool { scoped.address.isMulticast }
    /// Whether the address is an IPv4-mapped address in ::ffff:0:0/96.
    public var isIPv4Mapped: Bool { scoped.address.isIPv4Mapped }
    /// Whether the address is an IPv4-compatible address in ::/96 (deprecated by RFC 4291).
    ///
    /// The spelling is Apple's.
    public var isIPv4Compatabile: Bool {
        let bytes = scoped.address.networkBytes
        return bytes.prefix(12).allSatisfy { $0 == 0 } && !isAny && !isLoopback
    }
    /// Whether the address is in 2002::/16 (RFC 3056).
    public var is6to4: Bool { scoped.address.networkBytes.starts(with: [0x20, 0x02]) }

    /// The IPv4 address of an IPv4-mapped or IPv4-compatible address, with its interface; `nil` for other addresses.
    public var asIPv4: IPv4Address? {
        guard isIPv4Mapped || isIPv4Compatabile else { return nil }
        return IPv4Address(Data(scoped.address.networkBytes.suffix(4)), interface)
    }

    /// The range of a multicast address; `nil` for other addresses, and if the scope has no name.
    public var multicastScope: Scope? {
        isMulticast ? Scope(rawValue: scoped.address.networkBytes[1] & 0xf) : nil
    }
}

extension IPv6Address: CustomDebugStringConvertible {
    /// The address, with `%` and the interface if it has one.
    public var debugDescription: String { scoped.description }
}
