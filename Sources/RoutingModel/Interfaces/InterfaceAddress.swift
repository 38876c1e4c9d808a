// SPDX-License-Identifier: Apache-2.0

/// An address of an interface.
///
/// The kernel's counterpart is RTM_NEWADDR.
package struct InterfaceAddress: Sendable {
    /// The interface's index.
    package var interfaceIndex: UInt32
    /// The address of this host (IFA_LOCAL, or IFA_ADDRESS where there is none).
    package var address: IPAddress
    /// The other end of a point-to-point interface; `nil` where it is not another address.
    package var peer: IPAddress?
    /// How many leading bits the link shares, of the peer's address where there is one.
    package var prefixLength: UInt8
    /// How far the address is valid.
    package var scope: RouteScope
    /// The state bits.
    package var flags: InterfaceAddressFlags
    /// The broadcast address that was given with an IPv4 address, which has a route of its own; `nil` for none.
    ///
    /// Two addresses that differ in nothing else are equal. The kernel's counterpart is `IFA_BROADCAST`.
    package var broadcast: IPAddress?
    /// When the address was added, in 1/100 s since the kernel's start; `nil` if it is unknown.
    ///
    /// Changes of the address do not change it. It wraps after 497 days. Two addresses that differ in nothing else are
    /// equal. The kernel's counterpart is `ifa_cacheinfo.cstamp`.
    package var created: UInt32?
    /// Whether the lifetime of the address is over, which is when the kernel removes it by itself.
    ///
    /// Two addresses that differ in nothing else are equal. The kernel's counterpart is `ifa_cacheinfo.ifa_valid`.
    package var isExpired = false

    /// Describes an address of an interface.
    package init(
        interfaceIndex: UInt32,
        address: IPAddress,
        peer: IPAddress? = nil,
        prefixLength: UInt8,
        scope: RouteScope = .universe,
        flags: InterfaceAddressFlags = []
    ) {
        self.interfaceIndex = interfaceIndex
        self.address = address
        self.peer = peer
        self.prefixLength = prefixLength
        self.scope = scope
        self.flags = flags
    }
}

extension InterfaceAddress: Hashable {
    /// Whether the public properties are equal.
    package static func == (left: Self, right: Self) -> Bool {
        left.interfaceIndex == right.interfaceIndex && left.address == right.address
            && left.peer == right.peer && left.prefixLength == right.prefixLength
            && left.scope == right.scope && left.flags == right.flags
    }

    /// Hashes the public properties.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(interfaceIndex)
        hasher.combine(address)
        hasher.combine(peer)
        hasher.combine(prefixLength)
        hasher.combine(scope)
        hasher.combine(flags)
    }
}

/// The state bits of an address: the IFA_F bits of `linux/if_addr.h`.
package struct InterfaceAddressFlags: OptionSet, Hashable, Sendable {
    /// The kernel's bits.
    package let rawValue: UInt32

    /// Wraps the kernel's bits; unknown ones are kept.
    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// A further IPv4 address of the same subnet, or a temporary IPv6 one.
    package static let secondary = InterfaceAddressFlags(rawValue: 0x01)
    /// Without duplicate detection (IFA_F_NODAD).
    package static let noDetection = InterfaceAddressFlags(rawValue: 0x02)
    /// Usable while duplicate detection is under way (RFC 4429).
    package static let optimistic = InterfaceAddressFlags(rawValue: 0x04)
    /// Duplicate detection found another owner.
    package static let dadFailed = InterfaceAddressFlags(rawValue: 0x08)
    /// The home address of a mobile host (RFC 6275).
    package static let homeAddress = InterfaceAddressFlags(rawValue: 0x10)
    /// Still works, but not for new connections.
    package static let deprecated = InterfaceAddressFlags(rawValue: 0x20)
    /// Duplicate detection is under way: not usable yet.
    package static let tentative = InterfaceAddressFlags(rawValue: 0x40)
    /// Set by an administrator, not by a router advertisement.
    package static let permanent = InterfaceAddressFlags(rawValue: 0x80)
    /// Without a route to its subnet (`IFA_F_NOPREFIXROUTE`).
    package static let noPrefixRoute = InterfaceAddressFlags(rawValue: 0x200)
}

extension InterfaceAddress {
    /// Whether it is not a further address of the same subnet, or a temporary one.
    package var isPrimary: Bool { !flags.contains(.secondary) }

    /// The prefix of the link.
    package var subnet: IPPrefix? { IPPrefix(peer ?? address, length: Int(prefixLength)) }

    /// Whether this is the address pair that pppd sets up on a link which it dials on demand, before the first
    /// call has set the real ones.
    ///
    /// The source is pppd's `ipcp.c`: local 10.64.64.0 and up by the unit's number, peer 10.112.112.112 and up.
    package var isDialPlaceholder: Bool {
        guard let local = IPPrefix(IPAddress(10, 64, 64, 0), length: 24),
            let remote = IPPrefix(IPAddress(10, 112, 112, 0), length: 24),
            let peer
        else { return false }
        return local.contains(address) && remote.contains(peer)
    }
}
