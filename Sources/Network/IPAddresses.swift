// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability

/// An IPv4 address, by Apple's name.
public struct IPv4Address: Hashable, Sendable {
    let base: IPAddress
    /// The interface of its zone; `nil` without a zone, or if it was created from text.
    public let interface: NWInterface?

    init(_ base: IPAddress, on interface: NWInterface? = nil) {
        self.base = base
        self.interface = interface
    }

    /// Reads an address such as `192.0.2.1`; `nil` for any other text.
    public init?(_ addressString: String) {
        guard let address = IPAddress(addressString), address.family == .v4 else { return nil }
        self.init(address)
    }

    /// 0.0.0.0.
    public static let any = IPv4Address(.anyV4)
    /// 127.0.0.1.
    public static let loopback = IPv4Address(.loopbackV4)
    /// 255.255.255.255.
    public static let broadcast = IPv4Address(IPAddress(255, 255, 255, 255))

    /// Whether it is in 127.0.0.0/8.
    public var isLoopback: Bool { base.isLoopback }
    /// Whether it is in 169.254.0.0/16.
    public var isLinkLocal: Bool { base.isLinkLocal }
    /// Whether it is in 224.0.0.0/4.
    public var isMulticast: Bool { base.isMulticast }
}

extension IPv4Address: CustomDebugStringConvertible {
    /// The address, with `%` and the interface if it has one.
    public var debugDescription: String { base.description }
}

/// An IPv6 address, by Apple's name.
public struct IPv6Address: Hashable, Sendable {
    let base: IPAddress
    /// The interface of its zone; `nil` without a zone, or if it was created from text.
    public let interface: NWInterface?

    init(_ base: IPAddress, on interface: NWInterface? = nil) {
        self.base = base
        self.interface = interface
    }

    /// Reads an address such as `2001:db8::1` or `fe80::1%eth0`; `nil` for any other text.
    public init?(_ addressString: String) {
        guard let address = IPAddress(addressString), address.family == .v6 else { return nil }
        self.init(address)
    }

    /// The unspecified address.
    public static let any = IPv6Address(.anyV6)
    /// The loopback address.
    public static let loopback = IPv6Address(.loopbackV6)

    /// Whether it is the unspecified address.
    public var isAny: Bool { base.isUnspecified }
    /// Whether it is the loopback address.
    public var isLoopback: Bool { base.isLoopback }
    /// Whether it is in fe80::/10.
    public var isLinkLocal: Bool { base.isLinkLocal }
    /// Whether it is in ff00::/8.
    public var isMulticast: Bool { base.isMulticast }
    /// Whether it is an IPv4 address in ::ffff:0:0/96.
    public var isIPv4Mapped: Bool { base.unmapped.family == .v4 }

    /// The IPv4 address that it maps; `nil` if it maps none.
    public var asIPv4: IPv4Address? {
        isIPv4Mapped ? IPv4Address(base.unmapped) : nil
    }
}

extension IPv6Address: CustomDebugStringConvertible {
    /// The address, with `%` and the interface if it has one.
    public var debugDescription: String { base.description }
}
