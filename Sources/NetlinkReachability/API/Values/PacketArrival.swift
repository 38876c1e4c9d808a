// SPDX-License-Identifier: Apache-2.0

/// What this host does with a packet that arrives on one of its interfaces.
///
/// ```swift
/// let query = NetworkQuery.arriving(on: "eth1", from: peers[0], to: peers[1])
/// for try await arrival in NetworkSource.kernel.updates(of: query) { print(arrival) }
/// // dropped: the reverse path filter of eth1 (strict): the way back to 203.0.113.9 is eth0; silently
/// ```
///
/// This is about the first packet of a conversation. For further packets, the kernel does not look up routes again
/// until a route changes.
///
/// What it cannot know: a firewall, which can drop the packet, translate its addresses, or set a mark that rules
/// match; and on which interface a packet arrives.
///
/// The kernel's counterpart is RTM_GETROUTE with RTA_IIF.
public struct PacketArrival: Hashable, Sendable, Codable {
    /// What this host does with a packet.
    public enum Outcome: String, Hashable, Sendable, CaseIterable, Codable {
        /// This host receives the packet: it is for a local address.
        case delivered
        /// This host forwards the packet.
        case forwarded
        /// This host drops it.
        case dropped
    }

    /// The ICMP error that the sender of a dropped packet gets.
    public struct ICMPError: Hashable, Sendable, Codable {
        /// The ICMP or ICMPv6 type.
        public let type: UInt8
        /// The ICMP or ICMPv6 code.
        public let code: UInt8
    }

    /// What this host does with the packet.
    public let outcome: Outcome
    /// The interface through which the packet is forwarded; `nil` for other outcomes, and if the kernel chooses
    /// between several nexthops.
    public internal(set) var interface: NetworkInterface?
    /// The gateway that the packet is forwarded to; `nil` if there is none.
    public internal(set) var gateway: IPAddress?
    /// Why the packet has this outcome.
    ///
    /// A packet that is forwarded through an interface without a carrier has the reason
    /// ``ReachabilityReason/Code/noCarrier``: the kernel forwards the packet in spite of it.
    public let reason: ReachabilityReason
    /// The error that the sender of a dropped packet gets, within the kernel's rate limit; `nil` for none.
    public internal(set) var icmpError: ICMPError?
}

extension PacketArrival: CustomStringConvertible {
    /// One line: the outcome, the reason, and for a dropped packet the ICMP error that its sender gets.
    public var description: String {
        let words = "\(outcome.rawValue): \(reason)"
        guard outcome == .dropped else { return words }
        return words + (icmpError.map { "; the sender gets ICMP \($0)" } ?? "; silently")
    }
}

extension PacketArrival.ICMPError: CustomStringConvertible {
    /// The type and the code, such as `3/1`.
    public var description: String { "\(type)/\(code)" }
}
