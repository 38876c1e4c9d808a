// SPDX-License-Identifier: Apache-2.0

/// A network interface as the kernel describes it.
///
/// The kernel's counterpart is RTM_NEWLINK with `ifi_family` AF_UNSPEC.
package struct Link: Hashable, Sendable {
    /// The interface's number in its network namespace, from 1.
    package var index: UInt32
    /// The interface's name, at most 15 bytes.
    package var name: String
    /// Further names that it is found by (IFLA_ALT_IFNAME).
    package var alternativeNames: [String] = []
    /// The hardware type that the driver reports.
    package var hardwareType: HardwareType
    /// The state bits.
    package var flags: LinkFlags
    /// The operational state.
    package var operationalState: OperationalState
    /// Whether there is a carrier, by IFLA_CARRIER; `nil` where the kernel did not say.
    package var carrier: Bool?
    /// The driver's kind, such as `vlan`, `wireguard` or `veth`; empty for a physical interface.
    package var kind: String
    /// The kind of the master that this interface is a port of; empty for none.
    package var portKind: String
    /// The interface below (IFLA_LINK), or `nil`.
    ///
    /// See ``lowerIsForeign``.
    package var lower: UInt32?
    /// Whether ``lower`` counts in another network namespace, as the peer of a veth does.
    package var lowerIsForeign: Bool
    /// The bridge, bond, team or VRF that this interface is a port of.
    package var master: UInt32?
    /// The interface group, for rules that suppress a group.
    package var group: UInt32
    /// The sizes of packets that it can have.
    package var sizes: PacketSizes
    /// The routing table of a VRF.
    package var vrfTable: UInt32?
    /// The sysctls of this interface that decide about routes.
    package var settings: RoutingSettings
    /// How a tunnel sends its packets, on the heap because few interfaces are tunnels; `nil` for one that rtnetlink
    /// shows no ends of, and for other interfaces.
    ///
    /// See ``ends``.
    package var tunnel: Box<TunnelEnds>?

    /// Describes an interface; what is left out is as on a plain Ethernet interface that works.
    package init(
        index: UInt32,
        name: String,
        hardwareType: HardwareType = .ethernet,
        flags: LinkFlags = [.up, .running, .lowerUp],
        operationalState: OperationalState = .up,
        carrier: Bool? = true,
        kind: String = "",
        portKind: String = "",
        lower: UInt32? = nil,
        lowerIsForeign: Bool = false,
        master: UInt32? = nil,
        group: UInt32 = 0,
        sizes: PacketSizes = PacketSizes(),
        vrfTable: UInt32? = nil,
        settings: RoutingSettings = RoutingSettings(),
        tunnel: TunnelEnds? = nil
    ) {
        self.index = index
        self.name = name
        self.hardwareType = hardwareType
        self.flags = flags
        self.operationalState = operationalState
        self.carrier = carrier
        self.kind = kind
        self.portKind = portKind
        self.lower = lower
        self.lowerIsForeign = lowerIsForeign
        self.master = master
        self.group = group
        self.sizes = sizes
        self.vrfTable = vrfTable
        self.settings = settings
        self.tunnel = tunnel.map(Box.init)
    }
}

/// The MTU of an interface, and which it can have; `nil` is unknown.
package struct PacketSizes: Hashable, Sendable {
    /// The MTU (IFLA_MTU).
    package var current: UInt32?
    /// The smallest one that the driver takes (IFLA_MIN_MTU).
    package var smallest: UInt32?
    /// The largest one that the driver takes (IFLA_MAX_MTU), if any.
    package var largest: UInt32?

    /// Describes sizes; what is left out is unknown.
    package init(current: UInt32? = nil, smallest: UInt32? = nil, largest: UInt32? = nil) {
        (self.current, self.smallest, self.largest) = (current, smallest, largest)
    }
}

/// The state bits of an interface.
///
/// The kernel's counterpart is `ifi_flags`, with the IFF bits of `linux/if.h`.
package struct LinkFlags: OptionSet, Hashable, Sendable {
    /// The kernel's bits.
    package let rawValue: UInt32

    /// Wraps the kernel's bits; unknown ones are kept.
    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Set up by the administrator (`IFF_UP`).
    package static let up = LinkFlags(rawValue: 0x1)
    /// The loopback interface (`IFF_LOOPBACK`).
    package static let loopback = LinkFlags(rawValue: 0x8)
    /// There is one peer at the other end (`IFF_POINTOPOINT`).
    package static let pointToPoint = LinkFlags(rawValue: 0x10)
    /// Up and operational (`IFF_RUNNING`); it lags behind a loss of carrier.
    package static let running = LinkFlags(rawValue: 0x40)
    /// No neighbour discovery (`IFF_NOARP`).
    package static let noARP = LinkFlags(rawValue: 0x80)
    /// Master of other interfaces: a bond or a VRF (`IFF_MASTER`).
    package static let master = LinkFlags(rawValue: 0x400)
    /// The layer below is up: there is a carrier (`IFF_LOWER_UP`).
    package static let lowerUp = LinkFlags(rawValue: 0x1_0000)
    /// Waiting for an external event (`IFF_DORMANT`); hardly ever set, see ``OperationalState/dormant``.
    package static let dormant = LinkFlags(rawValue: 0x2_0000)
}

extension Link {
    /// The interface below in this namespace whose state decides over this one's, or `nil`.
    ///
    /// The other end of a veth pair is a peer, not a layer below, and an index of another namespace says nothing here.
    package var lowerHere: UInt32? {
        guard let lower, lower != 0, lower != index, !lowerIsForeign,
            kindTraits.isDisjoint(with: [.isPairEnd, .linkSelectsDomain])
        else { return nil }
        return lower
    }

    /// Whether it is found by a name.
    package func isNamed(_ name: String) -> Bool { name == self.name || alternativeNames.contains(name) }

    /// Whether the interface is a VRF, which is a routing domain and not an exit.
    package var isVRF: Bool { kind == "vrf" }

    /// Whether the interface is a port of a VRF.
    package var isVRFPort: Bool { portKind == "vrf" }
}

/// Whether an interface can pass packets, as RFC 2863 counts it.
///
/// The kernel's counterpart is `IFLA_OPERSTATE`.
package struct OperationalState: RawRepresentable, Hashable, Sendable {
    /// The kernel's number.
    package let rawValue: UInt8

    /// Wraps the kernel's number; unknown ones are kept.
    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The driver does not say.
    ///
    /// Loopback, tunnels and bridges without ports report this while they work.
    package static let unknown = OperationalState(rawValue: 0)
    /// A component is missing.
    package static let notPresent = OperationalState(rawValue: 1)
    /// Cannot pass packets.
    package static let down = OperationalState(rawValue: 2)
    /// The interface below is down.
    package static let lowerLayerDown = OperationalState(rawValue: 3)
    /// In a test mode: no packets of ours pass.
    package static let testing = OperationalState(rawValue: 4)
    /// Has a carrier and waits for an external event, such as an authentication.
    package static let dormant = OperationalState(rawValue: 5)
    /// Ready.
    package static let up = OperationalState(rawValue: 6)
}

extension OperationalState: CustomStringConvertible {
    /// The name that `ip link` prints, in lower case.
    package var description: String {
        let names = ["unknown", "notpresent", "down", "lowerlayerdown", "testing", "dormant", "up"]
        return rawValue < names.count ? names[Int(rawValue)] : "state \(rawValue)"
    }
}

/// What kind of medium an interface says it is: the kernel's ARPHRD number.
///
/// It distinguishes tunnels and point-to-point links reliably, but not Wi-Fi or most cellular modems:
/// both show themselves as Ethernet.
///
/// The kernel's counterpart is `ifi_type`, with the numbers of `linux/if_arp.h`.
package struct HardwareType: RawRepresentable, Hashable, Sendable {
    /// The kernel's number.
    package let rawValue: UInt16

    /// Wraps a number of `linux/if_arp.h`; unknown ones are kept.
    package init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// Ethernet, and everything that presents itself as Ethernet (`ARPHRD_ETHER`).
    package static let ethernet = HardwareType(rawValue: 1)
    /// A serial line (`ARPHRD_SLIP`).
    package static let slip = HardwareType(rawValue: 256)
    /// A PPP link (`ARPHRD_PPP`).
    package static let ppp = HardwareType(rawValue: 512)
    /// Raw IP, as cellular modems speak it (`ARPHRD_RAWIP`).
    package static let rawIP = HardwareType(rawValue: 519)
    /// An IPv4-in-IPv4 tunnel (`ARPHRD_TUNNEL`).
    package static let tunnel = HardwareType(rawValue: 768)
    /// A tunnel over IPv6 (`ARPHRD_TUNNEL6`).
    package static let tunnel6 = HardwareType(rawValue: 769)
    /// The loopback interface (`ARPHRD_LOOPBACK`).
    package static let loopback = HardwareType(rawValue: 772)
    /// An IPv6-in-IPv4 tunnel (`ARPHRD_SIT`).
    package static let sit = HardwareType(rawValue: 776)
    /// A GRE tunnel over IPv4 (`ARPHRD_IPGRE`).
    package static let gre = HardwareType(rawValue: 778)
    /// A GRE tunnel over IPv6 (`ARPHRD_IP6GRE`).
    package static let gre6 = HardwareType(rawValue: 823)
    /// No hardware address at all: tun, WireGuard, xfrm (`ARPHRD_NONE`).
    package static let none = HardwareType(rawValue: 65534)
}

// MARK: - What the kind says

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

// MARK: - Settings

/// Settings of one address family that decide about routes, for one interface or for all.
///
/// The kernel's counterpart is RTM_NEWNETCONF: sysctls below `net.ipv4.conf` and `net.ipv6.conf`.
package struct FamilySettings: Hashable, Sendable {
    /// What the settings are for.
    package enum Place: Hashable, Sendable {
        /// The whole network: `conf.all`.
        case all
        /// Interfaces that are yet to come: `conf.default`.
        case newInterfaces
        /// One interface, by its index.
        case interface(UInt32)
    }

    /// The family.
    package var family: IPAddress.Family
    /// What they are for.
    package var place: Place
    /// Whether routes without a carrier are ignored (`ignore_routes_with_linkdown`); `nil` where nothing is said.
    package var ignoresLinkdown: Bool?
    /// Whether packets are forwarded (`forwarding`); `nil` where nothing is said.
    package var forwards: Bool?
    /// The reverse path filter (`rp_filter`) of IPv4; `nil` where nothing is said.
    package var reversePathFilter: UInt8?
    /// Whether broadcasts are forwarded (`bc_forwarding`), in IPv4; `nil` where nothing is said.
    package var forwardsBroadcasts: Bool?

    /// Describes settings.
    package init(
        family: IPAddress.Family,
        place: Place,
        ignoresLinkdown: Bool? = nil,
        forwards: Bool? = nil,
        reversePathFilter: UInt8? = nil,
        forwardsBroadcasts: Bool? = nil
    ) {
        self.family = family
        self.place = place
        self.ignoresLinkdown = ignoresLinkdown
        self.forwards = forwards
        self.reversePathFilter = reversePathFilter
        self.forwardsBroadcasts = forwardsBroadcasts
    }
}

/// Settings of both families, for one interface or for a whole network; `nil` is unknown.
///
/// Dumps of links hold those of each interface; ``FamilySettings`` hold either.
package struct RoutingSettings: Hashable, Sendable {
    /// The sysctl `ignore_routes_with_linkdown` for IPv4.
    package var ipv4IgnoresLinkdown: Bool?
    /// The sysctl `ignore_routes_with_linkdown` for IPv6.
    package var ipv6IgnoresLinkdown: Bool?
    /// The sysctl `route_localnet` for IPv4: whether packets of 127.0.0.0/8 leave.
    ///
    /// That of all interfaces, which no message has, counts as well.
    package var routesLoopback: Bool?
    /// The sysctl `forwarding` for IPv6.
    ///
    /// A router does not ask whether its neighbours answer.
    package var ipv6Forwards: Bool?
    /// What decides about packets that arrive.
    package var arrival = ArrivalSettings()

    /// The initial settings of a network namespace.
    package static let initial: RoutingSettings = {
        var settings = RoutingSettings(
            ipv4IgnoresLinkdown: false, ipv6IgnoresLinkdown: false, ipv6Forwards: false, routesLoopback: false
        )
        settings.arrival = .initial
        return settings
    }()

    /// Describes settings; what is left out is unknown.
    package init(
        ipv4IgnoresLinkdown: Bool? = nil, ipv6IgnoresLinkdown: Bool? = nil, ipv6Forwards: Bool? = nil,
        routesLoopback: Bool? = nil
    ) {
        self.ipv4IgnoresLinkdown = ipv4IgnoresLinkdown
        self.ipv6IgnoresLinkdown = ipv6IgnoresLinkdown
        self.ipv6Forwards = ipv6Forwards
        self.routesLoopback = routesLoopback
    }

    /// The sysctl `ignore_routes_with_linkdown` for a family.
    package func ignoresLinkdown(_ family: IPAddress.Family) -> Bool? {
        family == .v4 ? ipv4IgnoresLinkdown : ipv6IgnoresLinkdown
    }

    /// Takes over what a notification says.
    package mutating func take(_ settings: FamilySettings) {
        switch settings.family {
        case .v4:
            ipv4IgnoresLinkdown = settings.ignoresLinkdown ?? ipv4IgnoresLinkdown
            arrival.ipv4Forwards = settings.forwards ?? arrival.ipv4Forwards
            arrival.reversePathFilter = settings.reversePathFilter ?? arrival.reversePathFilter
            arrival.forwardsBroadcasts = settings.forwardsBroadcasts ?? arrival.forwardsBroadcasts
        case .v6:
            ipv6IgnoresLinkdown = settings.ignoresLinkdown ?? ipv6IgnoresLinkdown
            ipv6Forwards = settings.forwards ?? ipv6Forwards
        }
    }

    /// Takes over what is unknown.
    package mutating func fill(from other: Self) {
        ipv4IgnoresLinkdown = ipv4IgnoresLinkdown ?? other.ipv4IgnoresLinkdown
        ipv6IgnoresLinkdown = ipv6IgnoresLinkdown ?? other.ipv6IgnoresLinkdown
        ipv6Forwards = ipv6Forwards ?? other.ipv6Forwards
        routesLoopback = routesLoopback ?? other.routesLoopback
        arrival.fill(from: other.arrival)
    }
}

/// Settings that decide about packets that arrive, for one interface or for all; `nil` is unknown.
///
/// Dumps of links hold those of each interface. Of those for all, RTM_NEWNETCONF holds `rp_filter`, `forwarding` and
/// `bc_forwarding`.
package struct ArrivalSettings: Hashable, Sendable {
    /// The sysctl `forwarding` for IPv4.
    package var ipv4Forwards: Bool?
    /// The sysctl `rp_filter`: 0 for none, 1 for the strict one, 2 for the loose one.
    package var reversePathFilter: UInt8?
    /// The sysctl `accept_local`: whether packets from an address of this host are taken.
    package var takesOwnSources: Bool?
    /// The sysctl `src_valid_mark`: whether the way back is that of the packet's mark.
    package var looksBackByMark: Bool?
    /// The sysctl `bc_forwarding`.
    package var forwardsBroadcasts: Bool?
    /// The sysctl `send_redirects`.
    package var sendsRedirects: Bool?
    /// The sysctl `disable_ipv6`.
    package var ipv6IsOff: Bool?
    /// The sysctl `force_forwarding` for IPv6 (Linux 6.17 and later).
    package var ipv6ForwardsAlways: Bool?

    /// The initial settings of a network namespace.
    package static let initial: ArrivalSettings = {
        var settings = ArrivalSettings()
        (settings.ipv4Forwards, settings.reversePathFilter, settings.sendsRedirects) = (false, 0, true)
        (settings.takesOwnSources, settings.looksBackByMark, settings.forwardsBroadcasts) = (
            false, false, false
        )
        (settings.ipv6IsOff, settings.ipv6ForwardsAlways) = (false, false)
        return settings
    }()

    /// Nothing is known.
    package init() {}

    /// Takes over what is unknown.
    package mutating func fill(from other: Self) {
        ipv4Forwards = ipv4Forwards ?? other.ipv4Forwards
        reversePathFilter = reversePathFilter ?? other.reversePathFilter
        takesOwnSources = takesOwnSources ?? other.takesOwnSources
        looksBackByMark = looksBackByMark ?? other.looksBackByMark
        forwardsBroadcasts = forwardsBroadcasts ?? other.forwardsBroadcasts
        sendsRedirects = sendsRedirects ?? other.sendsRedirects
        ipv6IsOff = ipv6IsOff ?? other.ipv6IsOff
        ipv6ForwardsAlways = ipv6ForwardsAlways ?? other.ipv6ForwardsAlways
    }
}

/// The settings in force for packets that arrive on an interface: its own, and those for all; `nil` is unknown.
package struct InputSettings: Hashable, Sendable {
    /// Those of the interface.
    package var own: RoutingSettings
    /// Those for all interfaces.
    package var all: RoutingSettings

    /// Combines the settings of an interface with those for all.
    package init(own: RoutingSettings, all: RoutingSettings) {
        (self.own, self.all) = (own, all)
    }

    /// The reverse path filter: the greater value counts, so that the loose one wins (`IN_DEV_RPFILTER`).
    package var reversePathFilter: UInt8? {
        let (one, other) = (own.arrival.reversePathFilter, all.arrival.reversePathFilter)
        if one == 2 || other == 2 { return 2 }
        guard let one, let other else { return nil }
        return max(one, other)
    }

    /// Whether IPv4 packets are forwarded: the interface's own setting alone counts.
    package var ipv4Forwards: Bool? { own.arrival.ipv4Forwards }
    /// Whether packets from an address of this host are taken.
    package var takesOwnSources: Bool? { either(\.arrival.takesOwnSources) }
    /// Whether the way back is that of the packet's mark.
    package var looksBackByMark: Bool? { either(\.arrival.looksBackByMark) }
    /// Whether packets of 127.0.0.0/8 are taken.
    package var routesLoopback: Bool? { either(\.routesLoopback) }
    /// Whether a packet that leaves where it came from makes a redirect.
    package var sendsRedirects: Bool? { either(\.arrival.sendsRedirects) }
    /// Whether broadcasts to another network are forwarded: both settings count.
    package var forwardsBroadcasts: Bool? {
        let (one, other) = (own.arrival.forwardsBroadcasts, all.arrival.forwardsBroadcasts)
        if one == false || other == false { return false }
        return one.flatMap { one in other.map { one && $0 } }
    }
    /// Whether the interface takes no IPv6 packets.
    package var ipv6IsOff: Bool? { own.arrival.ipv6IsOff }
    /// Whether IPv6 packets are forwarded: the interface's own `forwarding` decides nothing.
    package var ipv6Forwards: Bool? {
        let (one, other) = (own.arrival.ipv6ForwardsAlways, all.ipv6Forwards)
        if one == true || other == true { return true }
        return one == nil || other == nil ? nil : false
    }

    private func either(_ setting: KeyPath<RoutingSettings, Bool?>) -> Bool? {
        let (one, other) = (own[keyPath: setting], all[keyPath: setting])
        if one == true || other == true { return true }
        return one == nil || other == nil ? nil : false
    }
}

// MARK: - Messages

/// A message about an interface, which can be partial.
///
/// Wi-Fi drivers notify scans with messages of two attributes, and IPv6 and bridges send messages of the same
/// type. An attribute that is missing there has not changed.
package struct LinkReport: Hashable, Sendable {
    /// The interface, with the attributes of the message.
    package var link: Link
    /// Whether the message describes the whole interface.
    package var isWhole: Bool

    /// Wraps the contents of a message.
    package init(_ link: Link, isWhole: Bool = true) {
        self.link = link
        self.isWhole = isWhole
    }

    /// The interface after this message.
    ///
    /// Every message has the state bits and the type. Of the other attributes of a partial one only the name can be
    /// distinguished from an omission.
    package func merged(into known: Link?) -> Link {
        guard !isWhole, var merged = known else {
            var link = link
            // Settings are part of dumps and of most notifications.
            if let known { link.settings.fill(from: known.settings) }
            return link
        }
        merged.flags = link.flags
        merged.hardwareType = link.hardwareType
        if !link.name.isEmpty { merged.name = link.name }
        return merged
    }
}
