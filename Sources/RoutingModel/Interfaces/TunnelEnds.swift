// SPDX-License-Identifier: Apache-2.0

/// How a tunnel sends its packets: in other packets, which have a route of their own.
///
/// The kernel's counterpart is IFLA_INFO_DATA of the tunnel's kind, and a peer of ``WireGuardPeers``.
package struct TunnelEnds: Hashable, Sendable {
    /// The destination of the outer packets; `nil` where each packet can have another one.
    package var remote: IPAddress?
    /// The source address of the outer packets; `nil` where the route selects it.
    package var local: IPAddress?
    /// The interface that the outer packets are bound to, 0 for none.
    package var link: UInt32 = 0
    /// The mark of the outer packets; `nil` where they keep that of the packets inside.
    package var mark: UInt32? = 0
    /// The type of service of the outer packets.
    package var typeOfService: UInt8 = 0
    /// The UDP port that the outer packets are sent to, in host byte order; `nil` where they are not UDP.
    package var destinationPort: UInt16?
    /// The UDP port that the outer packets are sent from, in host byte order; `nil` where it is not known.
    package var sourcePort: UInt16?
    /// The packets that the tunnel takes; it drops others, without an error to their sender.
    package var payloads = TunnelPayloads.all

    /// A tunnel without ends.
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
    /// Packets behind labels (MPLS).
    package static let labels = TunnelPayloads(rawValue: 1 << 2)
    package static let all: TunnelPayloads = [.ipv4, .ipv6, .labels]
}

// MARK: - WireGuard

/// Where a WireGuard interface sends packets, by their destinations.
///
/// The kernel's counterpart is the answer to WG_CMD_GET_DEVICE, which takes CAP_NET_ADMIN.
package struct WireGuardPeers: Hashable, Sendable {
    /// Where packets to a destination go.
    package enum Exit: Hashable, Sendable {
        /// No peer has the destination: the kernel refuses to send (ENOKEY).
        case noPeer
        /// Nowhere until the peer sends, which shows its endpoint: the kernel refuses to send (EDESTADDRREQ).
        case noEndpoint
        /// To the endpoint of the peer.
        case endpoint(TunnelEnds)

        /// The ends of the packets; `nil` if they cannot be sent.
        package var ends: TunnelEnds? {
            if case .endpoint(let ends) = self { ends } else { nil }
        }
    }

    /// The ends of the peer that an allowed prefix belongs to; `nil` for a peer whose endpoint is not known.
    private var ends: [IPPrefix: TunnelEnds?] = [:]
    /// The lengths of the prefixes, the longest first.
    private var lengths: [Int] = []

    /// No peers.
    package init() {}

    /// Adds a prefix of a peer's allowed addresses.
    ///
    /// - Parameters:
    ///   - prefix: The prefix, which is that of one peer.
    ///   - ends: The ends of its packets; `nil` if the peer has no endpoint yet.
    package mutating func allow(_ prefix: IPPrefix, _ ends: TunnelEnds?) {
        self.ends[prefix] = .some(ends)
        guard !lengths.contains(prefix.length) else { return }
        lengths.insert(prefix.length, at: lengths.firstIndex { $0 < prefix.length } ?? lengths.endIndex)
    }

    /// Where packets to a destination go: to the peer with the longest prefix that holds it.
    package func exit(to destination: IPAddress) -> Exit {
        for length in lengths {
            guard let prefix = IPPrefix(destination, length: length), let found = ends[prefix] else {
                continue
            }
            return found.map(Exit.endpoint) ?? .noEndpoint
        }
        return .noPeer
    }
}
