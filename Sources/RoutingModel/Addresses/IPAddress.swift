// SPDX-License-Identifier: Apache-2.0

package import Glibc

/// An IPv4 or IPv6 address, with the interface it belongs to if one was given.
///
/// A plain value of two words, a family and a zone: copying it costs no reference count. Numbers are in host byte
/// order and bytes in network byte order.
///
/// ```swift
/// let address = IPAddress("fe80::1%eth0")
/// address?.isLinkLocal      // true
/// address?.zone?.name      // "eth0"
/// ```
///
/// Two addresses are equal if family, number and zone are; an IPv4-mapped IPv6 address is not equal to its
/// IPv4 address (see ``unmapped``). The counterparts are `in_addr`, and `in6_addr` with `sin6_scope_id`.
public struct IPAddress: Hashable, Sendable, BitwiseCopyable {
    /// The address family, with the kernel's number on Linux.
    public enum Family: UInt8, Sendable, CaseIterable, BitwiseCopyable {
        /// IPv4, `AF_INET`.
        case v4 = 2
        /// IPv6, `AF_INET6` (10 on Linux, another number elsewhere).
        case v6 = 10
    }

    /// The first 64 bits of an IPv6 address in host order; 0 for IPv4.
    @usableFromInline package let high: UInt64
    /// The last 64 bits of an IPv6 address in host order; an IPv4 address in the lower 32 bits.
    @usableFromInline package let low: UInt64
    /// The interface the address belongs to, if one was given.
    ///
    /// Both families can have a zone.
    ///
    /// Index 0, the kernel's "no interface", is kept as nil.
    public var zone: ZoneIdentifier? {
        didSet { zone = Self.meaningful(zone) }
    }
    /// The family of the address.
    public let family: Family

    /// Makes an IPv4 address from its number in host order: `0x7F00_0001` is 127.0.0.1.
    @inlinable
    public init(v4 number: UInt32) {
        self.init(family: .v4, high: 0, low: UInt64(number))
    }

    /// Makes an IPv4 address from its four bytes, in the order they are written.
    public init(_ first: UInt8, _ second: UInt8, _ third: UInt8, _ fourth: UInt8) {
        let upper = UInt32(first) << 24 | UInt32(second) << 16
        self.init(v4: upper | UInt32(third) << 8 | UInt32(fourth))
    }

    /// Makes an IPv6 address from its two halves in host order.
    public init(v6High high: UInt64, low: UInt64, zone: ZoneIdentifier? = nil) {
        self.init(family: .v6, high: high, low: low, zone: zone)
    }

    /// Makes an address from 4 or 16 bytes in network order; nil for any other number of bytes.
    public init?(bytes: some Collection<UInt8>, zone: ZoneIdentifier? = nil) {
        var (high, low, count): (UInt64, UInt64, Int) = (0, 0, 0)
        for byte in bytes {
            guard count < Family.v6.byteCount else { return nil }
            (high, low) = (high << 8 | low >> 56, low << 8 | UInt64(byte))
            count += 1
        }
        guard let family = Family.allCases.first(where: { $0.byteCount == count }) else { return nil }
        self.init(family: family, high: high, low: low, zone: zone)
    }

    /// Makes an address from memory that holds as many bytes as the family has, in network order.
    ///
    /// The memory needs no alignment and is read before the initialiser returns.
    package init(family: Family, networkBytes bytes: UnsafeRawPointer) {
        switch family {
        case .v4:
            self.init(v4: UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self)))
        case .v6:
            let high = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
            let low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            self.init(v6High: high, low: low)
        }
    }

    /// Makes an address from its words.
    ///
    /// The caller ensures that an IPv4 number fits into 32 bits.
    ///
    /// Inlined like ``RouteQuery/init(destination:outputInterface:source:mark:)``: a copy of fields that were just
    /// written has to wait for all earlier instructions.
    @inlinable
    init(family: Family, high: UInt64, low: UInt64, zone: ZoneIdentifier? = nil) {
        self.high = high
        self.low = low
        self.family = family
        self.zone = Self.meaningful(zone)
    }

    /// Makes an address from its number in host order, which is within 32 bits for IPv4.
    package init(family: Family, bits: UInt128) {
        let high = UInt64(truncatingIfNeeded: bits >> 64)
        self.init(family: family, high: high, low: UInt64(truncatingIfNeeded: bits))
    }

    @inlinable
    static func meaningful(_ zone: ZoneIdentifier?) -> ZoneIdentifier? {
        zone?.index == 0 ? nil : zone
    }
}

extension IPAddress.Family: CustomStringConvertible {
    /// The number of bits in an address: 32 or 128.
    public var bitWidth: Int { self == .v4 ? 32 : 128 }

    /// The number of bytes in an address: 4 or 16.
    public var byteCount: Int { bitWidth / 8 }

    /// `IPv4` or `IPv6`.
    public var description: String { self == .v4 ? "IPv4" : "IPv6" }
}

// MARK: - Constants and bytes

extension IPAddress {
    /// 0.0.0.0, any IPv4 address: `INADDR_ANY`.
    public static let anyV4 = Self(v4: 0)
    /// ::, any IPv6 address: `in6addr_any`.
    public static let anyV6 = Self(v6High: 0, low: 0)
    /// 127.0.0.1, `INADDR_LOOPBACK`.
    public static let loopbackV4 = Self(127, 0, 0, 1)
    /// ::1, `in6addr_loopback`.
    public static let loopbackV6 = Self(v6High: 0, low: 1)

    /// Calls the body with the 4 or 16 bytes of the address in network order.
    ///
    /// The bytes are valid only during the call. The zone is not part of them.
    @inlinable
    public func withNetworkBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        switch family {
        case .v4: try withUnsafeBytes(of: UInt32(truncatingIfNeeded: low).bigEndian, body)
        case .v6: try withUnsafeBytes(of: (high.bigEndian, low.bigEndian), body)
        }
    }

    /// The 4 or 16 bytes of the address in network order, without the zone.
    public var networkBytes: [UInt8] { withNetworkBytes { Array($0) } }

    /// The address as one number in host order, IPv4 in the lower 32 bits.
    package var bits: UInt128 { UInt128(high) << 64 | UInt128(low) }
}

// MARK: - Kinds of addresses

extension IPAddress {
    /// Whether this is 0.0.0.0 or :: (RFC 1122, section 3.2.1.3; RFC 4291, section 2.5.2).
    public var isUnspecified: Bool { high == 0 && low == 0 }

    /// Whether this is in 127.0.0.0/8 or is ::1 (RFC 1122, section 3.2.1.3; RFC 4291, section 2.5.3).
    public var isLoopback: Bool { family == .v4 ? low >> 24 == 127 : high == 0 && low == 1 }

    /// Whether this is in 169.254.0.0/16 (RFC 3927) or fe80::/10 (RFC 4291, section 2.5.6).
    public var isLinkLocal: Bool { family == .v4 ? low >> 16 == 0xA9FE : high >> 54 == 0xFE80 >> 6 }

    /// Whether this is in 224.0.0.0/4 (RFC 5771) or ff00::/8 (RFC 4291, section 2.7).
    public var isMulticast: Bool { family == .v4 ? low >> 28 == 0xE : high >> 56 == 0xFF }

    /// Whether the address is valid only on one link, so that a route lookup needs a zone.
    ///
    /// True for fe80::/10 and for multicast of interface-local or link-local scope, ff01::/16 and ff02::/16. The four
    /// flag bits of a multicast address (RFC 4291, section 2.7) are ignored: ff12:: and ff32:: are link-local too.
    /// IPv4 link-local addresses are routed without a zone. The kernel counterpart is `__ipv6_addr_needs_scope_id`.
    public var needsZone: Bool {
        guard family == .v6 else { return false }
        let multicastScope = high >> 48 & 0xF
        return isLinkLocal || isMulticast && (multicastScope == 1 || multicastScope == 2)
    }

    /// Whether this is IPv4 multicast or the limited broadcast address 255.255.255.255.
    package var isIPv4Group: Bool { family == .v4 && (isMulticast || low == 0xFFFF_FFFF) }

    /// Whether this is link-local or multicast.
    ///
    /// IPv6 sends to such an address from an address of the outgoing interface.
    package var isLinkScoped: Bool { family == .v6 && (isLinkLocal || isMulticast) }

    /// Whether this is in ::ffff:0:0/96, an IPv4 address in IPv6 form (RFC 4291, section 2.5.5.2).
    public var isIPv4Mapped: Bool { family == .v6 && high == 0 && low >> 32 == 0xFFFF }

    /// The IPv4 address of an IPv4-mapped address, with its zone; any other address unchanged.
    public var unmapped: Self {
        guard isIPv4Mapped else { return self }
        return Self(family: .v4, high: 0, low: low & 0xFFFF_FFFF, zone: zone)
    }

    /// The same address with no zone.
    public var withoutZone: Self { Self(family: family, high: high, low: low) }
}

extension IPAddress: Comparable {
    /// Orders addresses by family, IPv4 first, then by number, then by zone: no zone, indices, names.
    public static func < (left: Self, right: Self) -> Bool {
        let leftKey = (left.family.rawValue, left.high, left.low)
        let rightKey = (right.family.rawValue, right.high, right.low)
        guard leftKey == rightKey else { return leftKey < rightKey }
        guard let rightZone = right.zone else { return false }
        return left.zone.map { $0 < rightZone } ?? true
    }
}

extension IPAddress: Codable {
    /// Decodes an address from its text.
    ///
    /// - Throws: `DecodingError` if the value is no string, or no address.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let address = Self(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not an IP address")
        }
        self = address
    }

    /// Encodes the address as its text.
    public func encode(to encoder: any Encoder) throws {
        try description.encode(to: encoder)
    }
}

// MARK: - Text

extension IPAddress: LosslessStringConvertible {
    /// Reads an address in its strict form, with an optional `%zone` on either family.
    ///
    /// IPv4 is four decimal numbers without leading zeros. IPv6 is any form of RFC 4291, section 2.2: groups of up to
    /// four hexadecimal digits in either case, one `::`, and a dotted quad in place of the last two groups. The zone
    /// (RFC 4007, section 11) is an interface index or name. Any other text gives nil, including text with white
    /// space or a NUL. Without the zone, this is `inet_pton`.
    public init?(_ text: some StringProtocol) {
        let percent = text.utf8.firstIndex(of: UInt8(ascii: "%"))
        guard let address = Self(withoutZone: String(text[..<(percent ?? text.endIndex)])) else { return nil }
        self = address
        guard let percent else { return }
        guard let zone = ZoneIdentifier(text[text.utf8.index(after: percent)...]) else { return nil }
        self.zone = zone
    }

    private init?(withoutZone text: String) {
        // C functions stop at a NUL.
        guard !text.utf8.contains(0) else { return nil }
        let family: Family = text.utf8.contains(UInt8(ascii: ":")) ? .v6 : .v4
        var bytes = in6_addr()
        guard inet_pton(Int32(family.rawValue), text, &bytes) == 1 else { return nil }
        self.init(family: family, networkBytes: &bytes)
    }

    /// Reads the numbers-and-dots forms of IPv4 that old programs accept: `127.1`, `0x7f.1`, `2130706433`.
    ///
    /// One to four numbers, each decimal, octal (leading `0`) or hexadecimal (leading `0x`). The last number fills
    /// all remaining bytes, and each other number one byte. A number that is too large is refused. This is
    /// `inet_aton`, except that white space is refused.
    public static func legacyIPv4(_ text: some StringProtocol) -> Self? {
        var number = in_addr()
        guard !text.utf8.contains(where: { $0 <= UInt8(ascii: " ") }), inet_aton(String(text), &number) != 0
        else { return nil }
        return Self(v4: UInt32(bigEndian: number.s_addr))
    }

    /// The canonical text: a dotted quad, or the form of RFC 5952, and `%zone` if there is one.
    ///
    /// IPv4-mapped addresses end in a dotted quad (`::ffff:192.0.2.1`). IPv4-compatible addresses do so too
    /// (`::192.0.2.1`, deprecated by RFC 4291), except those below ::1:0, which remain groups (`::1`). RFC 5952,
    /// section 5, leaves this open. Without the zone, the text is that of glibc's `inet_ntop`.
    public var description: String {
        let address = family == .v4 ? dottedQuad : groups
        return zone.map { "\(address)%\($0)" } ?? address
    }

    /// The text of an IPv4 address.
    ///
    /// `inet_ntop` uses `sprintf`, which takes six times as long.
    private var dottedQuad: String {
        // 255.255.255.255 has 15 characters, and a string of 15 needs no allocation.
        String(unsafeUninitializedCapacity: 15) { text in
            var count = 0
            func append(_ character: UInt8) {
                text[count] = character
                count += 1
            }
            for shift in stride(from: 24, through: 0, by: -8) {
                let octet = UInt8(truncatingIfNeeded: low >> shift)
                if octet >= 100 { append(UInt8(ascii: "0") + octet / 100) }
                if octet >= 10 { append(UInt8(ascii: "0") + octet / 10 % 10) }
                append(UInt8(ascii: "0") + octet % 10)
                if shift > 0 { append(UInt8(ascii: ".")) }
            }
            return count
        }
    }

    /// The text of an IPv6 address.
    private var groups: String {
        let capacity = Int(INET6_ADDRSTRLEN)
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: capacity) { text in
            withNetworkBytes { bytes in
                let first = text.baseAddress.unsafelyUnwrapped
                inet_ntop(AF_INET6, bytes.baseAddress, first, socklen_t(capacity))
                return String(cString: first)
            }
        }
    }
}

// MARK: - Socket addresses

extension IPAddress {
    /// Reads a `sockaddr_in` or a `sockaddr_in6`, with `sin6_scope_id` as the zone.
    ///
    /// It need not be aligned.
    ///
    /// `nil` for other families, and for too few bytes.
    package init?(sockaddr bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress, bytes.count >= 2,
            let family = UInt8(exactly: bytes.loadUnaligned(as: sa_family_t.self)).flatMap(Family.init)
        else { return nil }
        // The flow label comes before an IPv6 address, and the scope after it.
        let (size, place) = family == .v4 ? (16, 4) : (28, 8)
        guard bytes.count >= size else { return nil }
        self.init(family: family, networkBytes: base + place)
        guard family == .v6 else { return }
        let scope = bytes.loadUnaligned(fromByteOffset: 24, as: UInt32.self)
        if scope != 0 { zone = ZoneIdentifier(index: scope) }
    }

    /// Calls a closure with the address as a `sockaddr_in` or a `sockaddr_in6`, and its size in bytes.
    ///
    /// - Parameters:
    ///   - port: The port in host byte order.
    ///   - scope: The `sin6_scope_id`. A `sockaddr_in` does not have this field.
    ///   - body: Called with the socket address, which is valid only during the call.
    /// - Returns: The result of the closure.
    /// - Throws: The error of the closure.
    package func withSockaddr<Result>(
        port: UInt16,
        scope: UInt32,
        _ body: (UnsafePointer<sockaddr>, socklen_t) throws -> Result
    ) rethrows -> Result {
        switch family {
        case .v4:
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr = withNetworkBytes { $0.loadUnaligned(as: in_addr.self) }
            return try Self.withSockaddr(address, body)
        case .v6:
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_addr = withNetworkBytes { $0.loadUnaligned(as: in6_addr.self) }
            address.sin6_scope_id = scope
            return try Self.withSockaddr(address, body)
        }
    }

    private static func withSockaddr<Address, Result>(
        _ address: Address,
        _ body: (UnsafePointer<sockaddr>, socklen_t) throws -> Result
    ) rethrows -> Result {
        try withUnsafePointer(to: address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                try body($0, socklen_t(MemoryLayout<Address>.size))
            }
        }
    }
}
