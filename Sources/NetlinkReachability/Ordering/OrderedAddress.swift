// SPDX-License-Identifier: Apache-2.0

/// An address in the order in which a program tries to connect: RFC 6724, section 6.
///
/// The counterpart is an entry of the list that getaddrinfo(3) returns, which contains only the address.
public struct OrderedAddress: Hashable, Sendable, Codable {
    /// The rule that puts an address behind the one before it.
    public enum Rule: String, Hashable, Sendable, CaseIterable, Codable {
        /// Rule 1: packets cannot leave for the address.
        case unreachable
        /// Rule 2: the scopes of the address and its source address differ.
        case scope
        /// Rule 3: its source address is deprecated, or optimistic.
        case deprecated
        /// Rule 4: its source address is not a home address.
        case homeAddress
        /// Rule 5: the labels of the address and its source address differ.
        case label
        /// Rule 6: its precedence is lower.
        case precedence
        /// Rule 7: its packets use an IP tunnel (IPv6 in IPv4, or in IPv6).
        case nativeTransport
        /// Rule 8: its scope is larger.
        case smallerScope
        /// Rule 9: it shares fewer leading bits with its source address.
        ///
        /// RFC 6724 does not compare different families by prefix length. An address of another family has this rule
        /// if it moved because of a swap within one family.
        case longestPrefix
        /// Rule 10: it comes later in the given list.
        case givenOrder
        /// RFC 8305, section 4: the families alternate.
        case interleaved
    }

    /// The address, as it was given.
    public let address: IPAddress
    /// The source address of packets; `nil` if packets cannot leave, or if it is unknown.
    public let sourceAddress: IPAddress?
    /// The interface that packets leave through; `nil` if there is none.
    public let interface: NetworkInterface?
    /// The gateway that packets are sent to; `nil` if there is none.
    public let gateway: IPAddress?
    /// The flags.
    public let flags: ReachabilityFlags
    /// Why the address has these flags.
    public let reason: ReachabilityReason
    /// The position among the reachable addresses, from 1; `nil` if packets cannot leave for the address now.
    public internal(set) var rank: Int?
    /// The rule that puts the address behind the one before; `nil` for the first address.
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
