// SPDX-License-Identifier: Apache-2.0

/// An address in the order in which a program tries to connect: RFC 6724, section 6.
///
/// The counterpart is an entry of the list that getaddrinfo(3) returns, which has the address alone.
public struct OrderedAddress: Hashable, Sendable, Codable {
    /// What puts an address behind the one before it.
    public enum Rule: String, Hashable, Sendable, CaseIterable, Codable {
        /// Rule 1: packets cannot leave for it.
        case unreachable
        /// Rule 2: its scope is not that of its source address.
        case scope
        /// Rule 3: its source address is deprecated, or optimistic.
        case deprecated
        /// Rule 4: its source address is not a home address.
        case homeAddress
        /// Rule 5: its label is not that of its source address.
        case label
        /// Rule 6: its precedence is lower.
        case precedence
        /// Rule 7: its packets go through an IP tunnel (IPv6 in IPv4, or into IPv6).
        case nativeTransport
        /// Rule 8: its scope is larger.
        case smallerScope
        /// Rule 9: it has fewer leading bits in common with its source address.
        ///
        /// RFC 6724 does not compare families by prefix length; their position follows from a swap within one family.
        case longestPrefix
        /// Rule 10: it comes later in the list that was given.
        case givenOrder
        /// RFC 8305, section 4: the families alternate.
        case interleaved
    }

    /// The address, as it was given.
    public let address: IPAddress
    /// The source address of packets; `nil` if packets cannot leave, or it is unknown.
    public let sourceAddress: IPAddress?
    /// The interface that packets leave through; `nil` if there is none.
    public let interface: NetworkInterface?
    /// The gateway that packets are sent to; `nil` if there is none.
    public let gateway: IPAddress?
    /// The flags.
    public let flags: ReachabilityFlags
    /// Why the address has these flags.
    public let reason: ReachabilityReason
    /// The position among those that can be reached, from 1; `nil` if packets cannot leave for the address now.
    public internal(set) var rank: Int?
    /// What puts it behind the one before; `nil` for the first.
    public internal(set) var rule: Rule?

    /// Whether packets can leave for the address.
    public var isReachable: Bool { flags.isNetworkReachable }
}

extension OrderedAddress.Rule: CustomStringConvertible {
    /// The number of the rule in RFC 6724, section 6; `nil` for ``interleaved``.
    public var number: Int? {
        self == .interleaved ? nil : (Self.allCases.firstIndex(of: self) ?? 0) + 1
    }

    /// The number and a word, such as `rule 2: scope`.
    public var description: String {
        let word =
            switch self {
            case .homeAddress: "home address"
            case .nativeTransport: "native transport"
            case .smallerScope: "smaller scope"
            case .longestPrefix: "longest prefix"
            case .givenOrder: "order given"
            default: rawValue
            }
        return number.map { "rule \($0): \(word)" } ?? "RFC 8305: \(word)"
    }
}

extension OrderedAddress: CustomStringConvertible {
    /// One line: the rank, the address, the source address and the reason.
    public var description: String {
        let source = sourceAddress.map { " from \($0)" } ?? ""
        return "\(rank.map(String.init) ?? "-") \(address)\(source): \(reason)"
    }
}
