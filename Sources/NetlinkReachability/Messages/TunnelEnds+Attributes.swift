// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
internal import RoutingModel

extension TunnelEnds {
    /// Reads IFLA_LINKINFO of a tunnel; `nil` for another kind of interface, and if the data is truncated.
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
        // With `external`, each packet has its own ends. The attribute is a flag without a value, except for vxlan,
        // where it is a byte.
        if let external = layout.external, let value = data[external], value.first != 0 {
            link = 0
            return
        }
        remote = try data.firstAddress(layout.remotes)
        local = try data.firstAddress(layout.locals)
        if let remote, local?.family != remote.family { local = nil }
        if let port = layout.port {
            destinationPort = try data.value(port, as: UInt16.self).map(UInt16.init(bigEndian:))
        }
        // 1 means that the type of service is copied from the inner packets, so it is not known.
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
    /// The packets that a mode carries: those of one IP protocol, or of all protocols if it is 0.
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
    /// The first address that is present and not unspecified.
    fileprivate func firstAddress(_ places: [Layout.Place]) throws(MalformedMessage) -> IPAddress? {
        for (family, type) in places {
            if let found = try address(type, family), !found.isUnspecified { return found }
        }
        return nil
    }
}

/// The attribute types for the ends of a kind of tunnel.
///
/// The numbers come from `linux/if_link.h` and from `linux/if_tunnel.h`, which clashes with glibc. A tunnel never has
/// both the attribute of one family and that of the other.
private struct Layout {
    typealias Place = (family: IPAddress.Family, type: Int)

    var link = 1
    var remotes: [Place] = []
    var locals: [Place] = []
    /// `nil` for tunnels whose outer packets keep the mark of the inner ones.
    var mark: Int?
    /// The flags of an IPv6 tunnel, which can contain ``keepsMark``.
    var flags: Int?
    var typeOfService: Int?
    var port: Int?
    /// COLLECT_METADATA.
    var external: Int?
    /// The IP protocol of the packets in the tunnel (IFLA_IPTUN_PROTO), the default if the kernel shows none, and the
    /// payloads that the driver supports; `nil` for tunnels that carry all protocols.
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
        // The mode applies only to received packets: sit sends packets of all protocols (`sit_tunnel_xmit`).
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
                // geneve has no link attribute.
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
