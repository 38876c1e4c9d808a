// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The protocol of an IP packet, such as TCP.
///
/// A number can be written where a protocol is expected: `options.ipProtocol = 132`. It is encoded as its number.
///
/// The kernel's counterpart is the protocol field of the IP header, `IPPROTO_TCP` and so on.
public struct IPProtocol: RawRepresentable, Hashable, Sendable, Codable {
    /// The protocol's number.
    public let rawValue: UInt8

    /// Wraps a number.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// TCP.
    public static let tcp = IPProtocol(rawValue: UInt8(IPPROTO_TCP))
    /// UDP.
    public static let udp = IPProtocol(rawValue: UInt8(IPPROTO_UDP))
    /// ICMP, which stands for ICMPv6 where the destination is an IPv6 address.
    public static let icmp = IPProtocol(rawValue: UInt8(IPPROTO_ICMP))
}

extension IPProtocol: ExpressibleByIntegerLiteral {
    /// Wraps the number of a literal.
    public init(integerLiteral value: UInt8) {
        self.init(rawValue: value)
    }
}

extension IPProtocol: CustomStringConvertible {
    /// `tcp`, `udp`, `icmp`, or the number of another protocol.
    public var description: String {
        switch self {
        case .tcp: "tcp"
        case .udp: "udp"
        case .icmp: "icmp"
        default: "\(rawValue)"
        }
    }
}
