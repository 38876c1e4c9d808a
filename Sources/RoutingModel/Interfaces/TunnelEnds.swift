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

extension Link {
    /// The packets that the interface can send.
    var payloads: TunnelPayloads {
        let payloads = tunnel?.value.payloads ?? .all
        return kindTraits.contains(.sendsNoLabels) ? payloads.subtracting(.labels) : payloads
    }

    /// Whether the packets of this interface leave the host in other packets.
    package var isTunnel: Bool { tunnel != nil || kindTraits.contains(.isOpaqueTunnel) }

    /// The ends of a tunnel by which its outer packets can be looked up here; `nil` where they are not known, and for
    /// a tunnel whose outer packets belong to another network namespace.
    package var ends: TunnelEnds? { lowerIsForeign ? nil : tunnel?.value }
}
