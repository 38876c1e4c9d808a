// SPDX-License-Identifier: Apache-2.0

/// A range of addresses that share their first bits, such as 10.0.0.0/8.
///
/// The bits after the length are zero, so two prefixes are equal if and only if they contain the same addresses. A
/// prefix has no zone.
///
/// ```swift
/// let prefix = IPPrefix("10.0.0.0/8")
/// prefix?.contains(IPAddress(10, 1, 2, 3))      // true
/// ```
///
/// The counterpart is `RTA_DST` with `rtm_dst_len` in a route (RFC 4632; RFC 4291, section 2.3).
public struct IPPrefix: Hashable, Sendable, BitwiseCopyable {
    /// The first 64 bits of an IPv6 prefix in host order; 0 for IPv4.
    package let high: UInt64
    /// The last 64 bits of an IPv6 prefix in host order; an IPv4 prefix in the lower 32 bits.
    package let low: UInt64
    /// The family of the addresses.
    public let family: IPAddress.Family
    private let lengthByte: UInt8

    /// Makes the prefix of a length that contains an address; nil if the length is out of range.
    ///
    /// The bits of the address after the length are cleared and its zone is dropped.
    public init?(_ address: IPAddress, length: Int) {
        guard (0...address.family.bitWidth).contains(length) else { return nil }
        let bits = address.bits & ~Self.hostMask(address.family, length: length)
        high = UInt64(truncatingIfNeeded: bits >> 64)
        low = UInt64(truncatingIfNeeded: bits)
        family = address.family
        lengthByte = UInt8(length)
    }

    /// Makes the prefix that holds all addresses of the family.
    private init(all family: IPAddress.Family) {
        (high, low, lengthByte) = (0, 0, 0)
        self.family = family
    }

    /// 0.0.0.0/0, all IPv4 addresses.
    public static let allV4 = Self(all: .v4)
    /// ::/0, all IPv6 addresses.
    public static let allV6 = Self(all: .v6)

    /// The number of bits that all addresses in the prefix share: 0 to 32, or 0 to 128.
    public var length: Int { Int(lengthByte) }

    /// The first address: the shared bits, then zeros.
    public var address: IPAddress { IPAddress(family: family, high: high, low: low) }

    /// The last address: the shared bits, then ones.
    public var lastAddress: IPAddress {
        IPAddress(family: family, bits: address.bits | Self.hostMask(family, length: length))
    }

    /// Whether this is the prefix of a default route, which holds all addresses of its family.
    public var isDefault: Bool { lengthByte == 0 }

    /// Whether the prefix holds one address only.
    public var isHost: Bool { length == family.bitWidth }

    /// Whether the address is in the prefix, regardless of its zone.
    ///
    /// An IPv4-mapped IPv6 address is in no IPv4 prefix: convert it with ``IPAddress/unmapped``.
    public func contains(_ address: IPAddress) -> Bool {
        guard address.family == family else { return false }
        return sharesBits(high: address.high, low: address.low)
    }

    /// Whether all addresses of the other prefix are in this one; a prefix contains itself.
    public func contains(_ other: Self) -> Bool {
        guard other.family == family, other.lengthByte >= lengthByte else { return false }
        return sharesBits(high: other.high, low: other.low)
    }

    /// Compares the network bits.
    ///
    /// `>>` by the full width yields 0 in Swift.
    private func sharesBits(high otherHigh: UInt64, low otherLow: UInt64) -> Bool {
        switch family {
        case .v4: (low ^ otherLow) >> (32 - length) == 0
        case .v6 where length <= 64: (high ^ otherHigh) >> (64 - length) == 0
        case .v6: high == otherHigh && (low ^ otherLow) >> (128 - length) == 0
        }
    }

    /// The bits after the length, as ones.
    private static func hostMask(_ family: IPAddress.Family, length: Int) -> UInt128 {
        ~(~0 << UInt128(family.bitWidth - length))
    }
}

extension IPPrefix: LosslessStringConvertible {
    /// Reads `address/length`.
    ///
    /// An address without a length is the prefix of only that address.
    ///
    /// The address has the strict form of ``IPAddress`` without a zone. The length is decimal, without leading zeros.
    /// Bits after the length are cleared. `default` gives nil, because it does not name a family.
    public init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = IPAddress(parts[0]), address.zone == nil else { return nil }
        var length = address.family.bitWidth
        if parts.count == 2 {
            guard let written = Int(parts[1]), String(written) == parts[1] else { return nil }
            length = written
        }
        self.init(address, length: length)
    }

    /// The first address and the length, such as `10.0.0.0/8`, even for a single address.
    public var description: String { "\(address)/\(length)" }
}

extension IPPrefix: Codable {
    /// Decodes a prefix from its text.
    ///
    /// - Throws: `DecodingError` if the value is no string, or no prefix.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let prefix = Self(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not an IP prefix")
        }
        self = prefix
    }

    /// Encodes the prefix as its text.
    public func encode(to encoder: any Encoder) throws {
        try description.encode(to: encoder)
    }
}

extension IPPrefix: Comparable {
    /// Orders prefixes by family, IPv4 first, then by first address, then by length: a prefix comes before its parts.
    public static func < (left: Self, right: Self) -> Bool {
        let leftKey = (left.family.rawValue, left.high, left.low, left.lengthByte)
        return leftKey < (right.family.rawValue, right.high, right.low, right.lengthByte)
    }
}
