// SPDX-License-Identifier: Apache-2.0

// The names are Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

// Code from Apple's platforms finds sockets in both modules.
@_exported public import Glibc

// Socket addresses on Apple's platforms begin with their length. Those of Linux have no such field, so the length
// follows from the family, and a value that is set is not stored.

extension sockaddr {
    /// The length in bytes for the family; a value that is set is not stored.
    public var sa_len: UInt8 {
        get { SocketAddressLength.of(sa_family) ?? UInt8(MemoryLayout<sockaddr>.size) }
        set {}
    }

    /// Creates a socket address as on Apple's platforms; the length is not stored.
    public init(
        sa_len: UInt8,
        sa_family: sa_family_t,
        sa_data: (
            CChar, CChar, CChar, CChar, CChar, CChar, CChar, CChar, CChar, CChar, CChar, CChar, CChar, CChar
        )
    ) {
        self.init(sa_family: sa_family, sa_data: sa_data)
    }
}

extension sockaddr_in {
    /// The length in bytes; a value that is set is not stored.
    public var sin_len: UInt8 {
        get { UInt8(MemoryLayout<sockaddr_in>.size) }
        set {}
    }

    /// Creates a socket address as on Apple's platforms; the length is not stored.
    public init(
        sin_len: UInt8,
        sin_family: sa_family_t,
        sin_port: in_port_t,
        sin_addr: in_addr,
        sin_zero: (UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8)
    ) {
        self.init(sin_family: sin_family, sin_port: sin_port, sin_addr: sin_addr, sin_zero: sin_zero)
    }
}

extension sockaddr_in6 {
    /// The length in bytes; a value that is set is not stored.
    public var sin6_len: UInt8 {
        get { UInt8(MemoryLayout<sockaddr_in6>.size) }
        set {}
    }

    /// Creates a socket address as on Apple's platforms; the length is not stored.
    public init(
        sin6_len: UInt8,
        sin6_family: sa_family_t,
        sin6_port: in_port_t,
        sin6_flowinfo: UInt32,
        sin6_addr: in6_addr,
        sin6_scope_id: UInt32
    ) {
        self.init(
            sin6_family: sin6_family,
            sin6_port: sin6_port,
            sin6_flowinfo: sin6_flowinfo,
            sin6_addr: sin6_addr,
            sin6_scope_id: sin6_scope_id
        )
    }
}

extension sockaddr_storage {
    /// The length in bytes for the family; a value that is set is not stored.
    public var ss_len: UInt8 {
        get { SocketAddressLength.of(ss_family) ?? UInt8(MemoryLayout<sockaddr_storage>.size) }
        set {}
    }
}

/// The network of link-local addresses, 169.254.0.0, in host byte order.
///
/// Apple's idiom for "local Wi-Fi" uses it. The C library of Linux does not define the name.
public let IN_LINKLOCALNETNUM: UInt32 = 0xa9fe_0000

package enum SocketAddressLength {
    /// The length of an address of a family in bytes; `nil` for unsupported families.
    package static func of(_ family: sa_family_t) -> UInt8? {
        switch Int32(family) {
        case AF_INET: UInt8(MemoryLayout<sockaddr_in>.size)
        case AF_INET6: UInt8(MemoryLayout<sockaddr_in6>.size)
        default: nil
        }
    }
}
