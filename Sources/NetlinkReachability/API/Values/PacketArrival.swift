// SPDX-License-Identifier: Apache-2.0

/// What becomes of a packet that arrives on an interface of this host.
///
/// ```swift
/// let query = NetworkQuery.arriving(on: "eth1", from: peers[0], to: peers[1])
/// for try await arrival in NetworkSource.kernel.updates(of: query) { print(arrival) }
/// // dropped: the reverse path filter of eth1 (strict): the way back to 203.0.113.9 is eth0; silently
/// ```
///
/// It is about the first packet of a conversation: the kernel does not look at its routes again for one that it knows,
/// until a route changes.
///
/// What it cannot know: a firewall, which can drop the packet, translate its addresses, or set a mark that rules look
/// at; and on which interface the network sends a packet.
///
/// The kernel's counterpart is RTM_GETROUTE with RTA_IIF.
public struct PacketArrival: Hashable, Sendable, Codable {
    /// What becomes of a packet.
    public enum Outcome: String, Hashable, Sendable, CaseIterable, Codable {
        /// This host takes it.
        case delivered
        /// This host sends it on.
        case forwarded
        /// This host drops it.
        case dropped
    }

    /// What the sender of a dropped packet gets.
    public struct ICMPError: Hashable, Sendable, Codable {
        /// The type of the message of ICMP, or of ICMPv6.
        public let type: UInt8
        /// Its code.
        public let code: UInt8
    }

    /// What becomes of the packet.
    public let outcome: Outcome
    /// The interface through which the packet is forwarded; `nil` for another outcome, and where the kernel chooses one
    /// of several nexthops.
    public let interface: NetworkInterface?
    /// The gateway that the packet is forwarded to; `nil` if there is none.
    public let gateway: IPAddress?
    /// Why.
    ///
    /// A packet that is forwarded through an interface without a carrier has the reason
    /// ``ReachabilityReason/Code/noCarrier``: the kernel forwards it there all the same.
    public let reason: ReachabilityReason
    /// What the sender of a dropped packet gets, unless the kernel limits the rate; `nil` for nothing.
    public let icmpError: ICMPError?

    init(
        _ outcome: Outcome, _ reason: ReachabilityReason, interface: NetworkInterface? = nil,
        gateway: IPAddress? = nil, icmpError: ICMPError? = nil
    ) {
        (self.outcome, self.reason, self.interface) = (outcome, reason, interface)
        (self.gateway, self.icmpError) = (gateway, icmpError)
    }
}

extension PacketArrival: CustomStringConvertible {
    /// One line: the outcome, the reason, and for a dropped packet what its sender gets.
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
