// SPDX-License-Identifier: Apache-2.0

/// What the driver's kind of an interface says about it.
///
/// The kernel's counterpart is IFLA_INFO_KIND. What the attributes of a kind say is read where its message is parsed.
struct KindTraits: OptionSet {
    let rawValue: UInt16

    /// There is one peer at the other end, also where the hardware type and the flags do not show it.
    static let isPointToPoint = KindTraits(rawValue: 1 << 0)
    /// A cellular modem.
    static let isCellular = KindTraits(rawValue: 1 << 1)
    /// A tunnel whose ends rtnetlink does not show.
    static let isOpaqueTunnel = KindTraits(rawValue: 1 << 2)
    /// It has the type of its ports.
    static let hasPorts = KindTraits(rawValue: 1 << 3)
    /// It has the type of the interface below it.
    static let isLayer = KindTraits(rawValue: 1 << 4)
    /// One end of a pair, whose IFLA_LINK is the other end.
    static let isPairEnd = KindTraits(rawValue: 1 << 5)
    /// What is sent through it leads nowhere: a dummy drops what it is given, and an ifb what was not redirected to it.
    static let leadsNowhere = KindTraits(rawValue: 1 << 6)
    /// The driver reports the operational state "unknown" rather than "up".
    static let hidesState = KindTraits(rawValue: 1 << 7)
    /// Its IFLA_LINK is no layer below: it selects the VRF of its packets alone (`xfrm_dst_lookup`).
    static let linkSelectsDomain = KindTraits(rawValue: 1 << 8)

    /// It drops packets behind labels, and sends those of IPv4 and IPv6 alone.
    static let sendsNoLabels = KindTraits(rawValue: 1 << 9)

    fileprivate static let ofKind: [String: KindTraits] = [
        "ppp": [.isPointToPoint, .hidesState],
        "l2tp": .isPointToPoint,
        // Those whose ends the kernel shows are read in `TunnelEnds+Attributes.swift`.
        "gre": .isPointToPoint, "ip6tnl": .isPointToPoint, "ipip": .isPointToPoint, "sit": .isPointToPoint,
        "xfrm": [.isPointToPoint, .isOpaqueTunnel, .linkSelectsDomain, .sendsNoLabels],
        // The ends of vti and xfrm are in IPsec states, which only a privileged process can read.
        "vti": [.isPointToPoint, .isOpaqueTunnel, .sendsNoLabels], "vti6": [.isOpaqueTunnel, .sendsNoLabels],
        "wireguard": [.isPointToPoint, .isOpaqueTunnel, .hidesState, .sendsNoLabels],
        "amneziawg": [.isOpaqueTunnel, .sendsNoLabels], "ovpn": [.isOpaqueTunnel, .sendsNoLabels],
        // A tap is a tun with Ethernet framing, and has many peers: its hardware type shows it.
        "tun": .isOpaqueTunnel,
        "wwan": [.isCellular, .hidesState], "rmnet": .isCellular,
        "bond": .hasPorts, "bridge": .hasPorts, "team": .hasPorts,
        "ipvlan": .isLayer, "ipvtap": .isLayer, "macvlan": .isLayer, "macvtap": .isLayer, "vlan": .isLayer,
        "netkit": .isPairEnd, "veth": .isPairEnd, "vxcan": .isPairEnd,
        "dummy": [.leadsNowhere, .hidesState], "ifb": [.leadsNowhere, .hidesState],
    ]
}

extension Link {
    /// What its kind says; nothing for an interface without a kind, as most cards are.
    var kindTraits: KindTraits { kind.isEmpty ? [] : KindTraits.ofKind[kind] ?? [] }

    /// Whether the interface is one end of a pair, and ``lower`` the other.
    package var isPairEnd: Bool { kindTraits.contains(.isPairEnd) }

    /// Whether the driver's kind is one of cellular modems.
    package var isCellularKind: Bool { kindTraits.contains(.isCellular) }

    /// Whether nothing that is sent through the interface arrives anywhere.
    package var leadsNowhere: Bool { kindTraits.contains(.leadsNowhere) }

    /// Whether the driver reports the operational state "up" rather than "unknown".
    package var reportsState: Bool { !kindTraits.contains(.hidesState) && !flags.contains(.loopback) }
}
