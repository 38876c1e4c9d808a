// SPDX-License-Identifier: Apache-2.0

/// The ends of a tunnel.
///
/// Its outer packets are routed between them.
///
/// The kernel's counterpart is IFLA_INFO_DATA of the tunnel's kind, and a peer of ``WireGuardPeers``.
package struct TunnelEnds: Hashable, Sendable {
    /// The destination of the outer packets; `nil` if each packet can have another destination.
    package var remote: IPAddress?
    /// The source address of the outer packets; `nil` if the route selects it.
    package var local: IPAddress?
    /// The interface that the outer packets are bound to, 0 for none.
    package var link: UInt32 = 0
    /// The mark of the outer packets; `nil` if they keep the mark of the inner packets.
    package var mark: UInt32? = 0
    /// The type of service of the outer packets.
    package var typeOfService: UInt8 = 0
    /// The destination UDP port of the outer packets, in host byte order; `nil` if they are not UDP.
    package var destinationPort: UInt16?
    /// The source UDP port of the outer packets, in host byte order; `nil` if it is not known.
    package var sourcePort: UInt16?
    /// The packets that the tunnel accepts.
    ///
    /// It drops others without an error to their sender.
    package var payloads = TunnelPayloads.all

    /// Creates ends that are all unspecified.
    package init() {}
}

/// The packets that a tunnel can carry, by their protocol.
package struct TunnelPayloads: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    package static let ipv4 = TunnelPayloads(rawValue: 1 << 0)
    package static let ipv6 = TunnelPayloads(rawValue: 1 << 1)
    /// Packets with labels (MPLS).
    package static let labels = TunnelPayloads(rawValue: 1 << 2)
    package static let all: TunnelPayloads = [.ipv4, .ipv6, .labels]
}

// MARK: - WireGuard

/// The peers of a WireGuard interface, by the destinations of packets.
///
/// The kernel's counterpart is the answer to WG_CMD_GET_DEVICE, which requires CAP_NET_ADMIN.
package struct WireGuardPeers: Hashable, Sendable {
    /// The result for packets to a destination.
    package enum CryptokeyRoute: Hashable, Sendable {
        /// No peer has the destination. The kernel refuses to send (ENOKEY).
        case noPeer
        /// The peer's endpoint is unknown until the peer sends a packet. The kernel refuses to send (EDESTADDRREQ).
        case noEndpoint
        /// The packets go to the endpoint of the peer.
        case endpoint(TunnelEnds)

        /// The ends of the outer packets; `nil` if the packets cannot be sent.
        package var ends: TunnelEnds? {
            if case .endpoint(let ends) = self { ends } else { nil }
        }
    }

    /// The ends of the peer with an allowed prefix; `nil` if the peer's endpoint is not known.
    private var ends: [IPPrefix: TunnelEnds?] = [:]
    /// The lengths of the prefixes, the longest first.
    private var lengths: [Int] = []

    /// Creates an interface without peers.
    package init() {}

    /// Adds a prefix of a peer's allowed IPs.
    ///
    /// - Parameters:
    ///   - prefix: The prefix, which belongs to only one peer.
    ///   - ends: The ends of the outer packets; `nil` if the peer has no endpoint yet.
    package mutating func allow(_ prefix: IPPrefix, _ ends: TunnelEnds?) {
        self.ends[prefix] = .some(ends)
        guard !lengths.contains(prefix.length) else { return }
        lengths.insert(prefix.length, at: lengths.firstIndex { $0 < prefix.length } ?? lengths.endIndex)
    }

    /// The result for packets to a destination: the peer with the longest matching prefix gets them.
    package func route(to destination: IPAddress) -> CryptokeyRoute {
        for length in lengths {
            guard let prefix = IPPrefix(destination, length: length), let found = ends[prefix] else {
                continue
            }
            return found.map(CryptokeyRoute.endpoint) ?? .noEndpoint
        }
        return .noPeer
    }
}
