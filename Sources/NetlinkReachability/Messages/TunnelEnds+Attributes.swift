// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
internal import RoutingModel

extension TunnelEnds {
    /// Reads IFLA_LINKINFO of a tunnel; `nil` for an interface of another kind, and where the data is cut.
    init?(kind: String, _ info: Attributes?) {
        guard let layout = Layout.of(kind), let data = try? info?.nested(IFLA_INFO_DATA),
            let ends = try? Self(data, layout)
        else { return nil }
        self = ends
    }

    private init(_ data: Attributes, _ layout: Layout) throws(MalformedMessage) {
        self.init()
        link = try data.nonzero(layout.link) ?? 0
        if let mode = layout.mode {
            payloads = TunnelPayloads(ofMode: try data.value(mode.type, as: UInt8.self) ?? mode.standard)
                .intersection(mode.payloads)
        }
        // With `external`, each packet brings its own ends. It is a flag without a value, and a byte for vxlan.
        if let external = layout.external, let value = data[external], value.first != 0 {
            link = 0
            return
        }
        remote = try data.firstAddress(layout.remotes)
        local = try data.firstAddress(layout.locals)
        if local?.family != remote?.family { local = nil }
        if let port = layout.port {
            destinationPort = try data.value(port, as: UInt16.self).map(UInt16.init(bigEndian:))
        }
        // 1 stands for that of the packets inside, which is not known.
        if let tos = layout.typeOfService {
            typeOfService = try data.value(tos, as: UInt8.self).flatMap { $0 == 1 ? nil : $0 } ?? 0
        }
        guard let mark = layout.mark else {
            self.mark = nil
            return
        }
        self.mark = try data.value(mark, as: UInt32.self) ?? 0
        guard let flags = layout.flags else { return }
        let bits = try data.value(flags, as: UInt32.self) ?? 0
        if bits & Layout.keepsMark != 0 { self.mark = nil }
    }
}

extension TunnelPayloads {
    /// What a mode lets through: packets of one IP protocol, or those of each if it is 0.
    fileprivate init(ofMode ipProtocol: UInt8) {
        self =
            switch Int(ipProtocol) {
            case IPPROTO_IP: .all
            case IPPROTO_IPIP: .ipv4
            case IPPROTO_IPV6: .ipv6
            case IPPROTO_MPLS: .labels
            default: []
            }
    }
}

extension Attributes {
    /// The first address that is there and not unspecified.
    fileprivate func firstAddress(_ places: [Layout.Place]) throws(MalformedMessage) -> IPAddress? {
        for (family, type) in places {
            if let found = try address(type, family), !found.isUnspecified { return found }
        }
        return nil
    }
}

/// Where the data of a kind of tunnel has its ends.
///
/// The numbers are those of `linux/if_link.h` and of `linux/if_tunnel.h`, which defines what glibc defines too. An
/// attribute of one family is never there with that of the other.
private struct Layout {
    typealias Place = (family: IPAddress.Family, type: Int)

    var link = 1
    var remotes: [Place] = []
    var locals: [Place] = []
    /// `nil` for tunnels whose outer packets keep the mark.
    var mark: Int?
    /// The flags of an IPv6 tunnel, with ``keepsMark``.
    var flags: Int?
    var typeOfService: Int?
    var port: Int?
    /// COLLECT_METADATA.
    var external: Int?
    /// The IP protocol of the packets that the tunnel sends (IFLA_IPTUN_PROTO), the one that it has if the kernel shows
    /// none, and what the driver carries at all; `nil` for tunnels that send packets of each protocol.
    var mode: (type: Int, standard: UInt8, payloads: TunnelPayloads)?

    // IP6_TNL_F_USE_ORIG_FWMARK
    static let keepsMark: UInt32 = 0x20

    static func of(_ kind: String) -> Layout? {
        switch kind {
        // IFLA_GRE_
        case "gre", "gretap", "erspan":
            Layout(remotes: [(.v4, 7)], locals: [(.v4, 6)], mark: 20, typeOfService: 9, external: 18)
        case "ip6gre", "ip6gretap", "ip6erspan":
            Layout(remotes: [(.v6, 7)], locals: [(.v6, 6)], mark: 20, flags: 13, external: 18)
        // IFLA_IPTUN_
        case "ipip":
            Layout(
                remotes: [(.v4, 3)], locals: [(.v4, 2)], mark: 20, typeOfService: 5, external: 19,
                mode: (9, UInt8(IPPROTO_IPIP), [.ipv4, .labels]))
        // Its mode decides about what it receives alone: it sends packets of each protocol (`sit_tunnel_xmit`).
        case "sit": Layout(remotes: [(.v4, 3)], locals: [(.v4, 2)], mark: 20, typeOfService: 5, external: 19)
        case "ip6tnl":
            Layout(
                remotes: [(.v6, 3)], locals: [(.v6, 2)], mark: 20, flags: 8, external: 19,
                mode: (9, UInt8(IPPROTO_IP), .all))
        case "vxlan":
            Layout(
                link: IFLA_VXLAN_LINK,
                remotes: [(.v4, IFLA_VXLAN_GROUP), (.v6, IFLA_VXLAN_GROUP6)],
                locals: [(.v4, IFLA_VXLAN_LOCAL), (.v6, IFLA_VXLAN_LOCAL6)],
                typeOfService: IFLA_VXLAN_TOS,
                port: IFLA_VXLAN_PORT,
                external: IFLA_VXLAN_COLLECT_METADATA
            )
        case "geneve":
            Layout(
                // It has no link.
                link: IFLA_GENEVE_UNSPEC,
                remotes: [(.v4, IFLA_GENEVE_REMOTE), (.v6, IFLA_GENEVE_REMOTE6)],
                typeOfService: IFLA_GENEVE_TOS,
                port: IFLA_GENEVE_PORT,
                external: IFLA_GENEVE_COLLECT_METADATA
            )
        default: nil
        }
    }
}
