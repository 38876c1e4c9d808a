// SPDX-License-Identifier: Apache-2.0

/// An address of an interface.
///
/// The kernel's counterpart is RTM_NEWADDR.
package struct InterfaceAddress: Sendable {
    /// The interface's index.
    package var interfaceIndex: UInt32
    /// The address of this host (IFA_LOCAL, or IFA_ADDRESS without it).
    package var address: IPAddress
    /// The other end of a point-to-point interface; `nil` if it is not a different address.
    package var peer: IPAddress?
    /// The prefix length of the link.
    ///
    /// If there is a peer, it is that of the peer's address.
    package var prefixLength: UInt8
    /// The scope in which the address is valid.
    package var scope: RouteScope
    /// The state bits.
    package var flags: InterfaceAddressFlags
    /// The broadcast address of an IPv4 address, which has a route of its own; `nil` for none.
    ///
    /// It is ignored when addresses are compared. The kernel's counterpart is `IFA_BROADCAST`.
    package var broadcast: IPAddress?
    /// When the address was added, in 1/100 s since the kernel's start; `nil` if it is unknown.
    ///
    /// Changes of the address do not change this time. It wraps after 497 days. It is ignored when addresses are
    /// compared. The kernel's counterpart is `ifa_cacheinfo.cstamp`.
    package var created: UInt32?
    /// Whether the lifetime of the address is over, so that the kernel removes the address by itself.
    ///
    /// It is ignored when addresses are compared. The kernel's counterpart is `ifa_cacheinfo.ifa_valid`.
    package var isExpired = false

    /// Creates an address of an interface.
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
    /// Whether all properties are equal that are not ignored.
    package static func == (left: Self, right: Self) -> Bool {
        left.interfaceIndex == right.interfaceIndex && left.address == right.address
            && left.peer == right.peer && left.prefixLength == right.prefixLength
            && left.scope == right.scope && left.flags == right.flags
    }

    /// Hashes the interface and the address, which tell the addresses of a host apart.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(interfaceIndex)
        hasher.combine(address)
    }
}

/// The state bits of an address: the IFA_F bits of `linux/if_addr.h`.
package struct InterfaceAddressFlags: OptionSet, Hashable, Sendable {
    /// The kernel's bits.
    package let rawValue: UInt32

    /// Creates a value from the kernel's bits, and keeps unknown bits.
    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// An additional IPv4 address of the same subnet, or a temporary IPv6 address.
    package static let secondary = InterfaceAddressFlags(rawValue: 0x01)
    /// Without duplicate address detection (IFA_F_NODAD).
    package static let noDetection = InterfaceAddressFlags(rawValue: 0x02)
    /// Usable while duplicate address detection is under way (RFC 4429).
    package static let optimistic = InterfaceAddressFlags(rawValue: 0x04)
    /// Duplicate address detection found another owner.
    package static let dadFailed = InterfaceAddressFlags(rawValue: 0x08)
    /// The home address of a mobile host (RFC 6275).
    package static let homeAddress = InterfaceAddressFlags(rawValue: 0x10)
    /// Valid for existing connections, but not used for new ones.
    package static let deprecated = InterfaceAddressFlags(rawValue: 0x20)
    /// Duplicate address detection is under way, so the address is not usable yet.
    package static let tentative = InterfaceAddressFlags(rawValue: 0x40)
    /// Set by an administrator, not by a router advertisement.
    package static let permanent = InterfaceAddressFlags(rawValue: 0x80)
    /// Without a route to its subnet (`IFA_F_NOPREFIXROUTE`).
    package static let noPrefixRoute = InterfaceAddressFlags(rawValue: 0x200)
}

extension InterfaceAddress {
    /// Whether this is neither an additional address of the same subnet nor a temporary address.
    package var isPrimary: Bool { !flags.contains(.secondary) }

    /// The prefix of the link.
    package var subnet: IPPrefix? { IPPrefix(peer ?? address, length: Int(prefixLength)) }

    /// Whether this is the placeholder address pair of pppd on a dial-on-demand link, before the first call sets the
    /// real addresses.
    ///
    /// See pppd's `ipcp.c`: local 10.64.64.0 plus the unit number, peer 10.112.112.112 plus the unit number.
    package var isDialPlaceholder: Bool {
        guard let local = IPPrefix(IPAddress(10, 64, 64, 0), length: 24),
            let remote = IPPrefix(IPAddress(10, 112, 112, 0), length: 24),
            let peer
        else { return false }
        return local.contains(address) && remote.contains(peer)
    }
}
