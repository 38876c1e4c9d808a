// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A network interface as the kernel describes it.
///
/// The kernel's counterpart is RTM_NEWLINK with `ifi_family` AF_UNSPEC.
package struct Link: Hashable, Sendable {
    /// The interface's number in its network namespace, from 1.
    package var index: UInt32
    /// The interface's name, at most 15 bytes.
    package var name: String
    /// Alternative names of the interface (IFLA_ALT_IFNAME).
    package var alternativeNames: [String] = []
    /// The hardware type that the driver reports.
    package var hardwareType: HardwareType
    /// The state bits.
    package var flags: LinkFlags
    /// The operational state.
    package var operationalState: OperationalState
    /// Whether there is a carrier (IFLA_CARRIER); `nil` if the kernel does not report it.
    package var carrier: Bool?
    /// The driver's kind, such as `vlan`, `wireguard` or `veth`; empty for a physical interface.
    package var kind: String
    /// The kind of the master that this interface is a port of; empty for none.
    package var portKind: String
    /// The interface below (IFLA_LINK), or `nil`.
    ///
    /// See ``lowerIsForeign``.
    package var lower: UInt32?
    /// Whether ``lower`` is an index in another network namespace, as for the peer of a veth.
    package var lowerIsForeign: Bool
    /// The bridge, bond, team or VRF that this interface is a port of.
    package var master: UInt32?
    /// Whether it passes frames as a port of a bridge; `nil` for no such port, and in a snapshot: the kernel notifies
    /// of a change in messages of the bridge, which are ignored.
    package var portState: BridgePortState?
    /// The interface group, for rules that suppress a group.
    package var group: UInt32
    /// The present and the possible MTU.
    package var sizes: PacketSizes
    /// The routing table of a VRF.
    package var vrfTable: UInt32?
    /// The sysctls of this interface that affect routes.
    package var settings: RoutingSettings
    /// The ends of a tunnel, boxed because few interfaces are tunnels; `nil` for a tunnel whose ends rtnetlink does
    /// not show, and for other interfaces.
    ///
    /// See ``ends``.
    package var tunnel: Box<TunnelEnds>?

    /// Creates the description of an interface.
    ///
    /// Omitted properties are those of a working Ethernet interface.
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

extension Link {
    /// That no interface has a name, in the words of every reason and error.
    package static func absence(ofName name: String) -> String { "there is no interface \"\(name)\"" }

    /// That no interface has an index, in the words of every reason and error.
    package static func absence(ofIndex index: String) -> String { "no interface has the index \(index)" }
}

extension ReachabilityError {
    /// The kernel's error about an interface that does not exist.
    package static func noInterface(_ index: UInt32, _ operation: String) -> ReachabilityError {
        ReachabilityError(
            operation: operation, number: ENODEV, message: Link.absence(ofIndex: "\(index)"))
    }
}

/// The MTU of an interface and its limits; `nil` is unknown.
package struct PacketSizes: Hashable, Sendable {
    /// The MTU (IFLA_MTU).
    package var current: UInt32?
    /// The smallest MTU that the driver accepts (IFLA_MIN_MTU).
    package var smallest: UInt32?
    /// The largest MTU that the driver accepts (IFLA_MAX_MTU), if there is a limit.
    package var largest: UInt32?

    /// Creates an MTU.
    ///
    /// Omitted values are unknown.
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

    /// Creates a value from the kernel's bits, and keeps unknown bits.
    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Set up by the administrator (`IFF_UP`).
    package static let up = LinkFlags(rawValue: 0x1)
    /// The loopback interface (`IFF_LOOPBACK`).
    package static let loopback = LinkFlags(rawValue: 0x8)
    /// The link has one peer at the other end (`IFF_POINTOPOINT`).
    package static let pointToPoint = LinkFlags(rawValue: 0x10)
    /// Up and operational (`IFF_RUNNING`).
    ///
    /// It lags behind a loss of carrier.
    package static let running = LinkFlags(rawValue: 0x40)
    /// No neighbour discovery (`IFF_NOARP`).
    package static let noARP = LinkFlags(rawValue: 0x80)
    /// Master of other interfaces: a bond or a VRF (`IFF_MASTER`).
    package static let master = LinkFlags(rawValue: 0x400)
    /// The layer below is up: there is a carrier (`IFF_LOWER_UP`).
    package static let lowerUp = LinkFlags(rawValue: 0x1_0000)
    /// Waiting for an external event (`IFF_DORMANT`).
    ///
    /// Rarely set: see ``OperationalState/dormant``.
    package static let dormant = LinkFlags(rawValue: 0x2_0000)
}

extension Link {
    /// The lower interface in this namespace whose state affects this one, or `nil`.
    ///
    /// The other end of a veth pair is a peer, not a lower layer. An index of another namespace has no meaning here.
    package var lowerHere: UInt32? {
        guard let lower, lower != 0, lower != index, !lowerIsForeign,
            kindTraits.isDisjoint(with: [.isPairEnd, .linkSelectsDomain])
        else { return nil }
        return lower
    }

    /// Whether the interface has this name or alternative name.
    package func isNamed(_ name: String) -> Bool { name == self.name || alternativeNames.contains(name) }

    /// Whether the interface is a VRF, which is a routing domain: packets do not leave through it.
    package var isVRF: Bool { kind == "vrf" }

    /// Whether the interface is a port of a VRF.
    package var isVRFPort: Bool { portKind == "vrf" }
}

/// Whether an interface can pass packets, in the terms of RFC 2863.
///
/// The kernel's counterpart is `IFLA_OPERSTATE`.
package struct OperationalState: RawRepresentable, Hashable, Sendable {
    /// The kernel's number.
    package let rawValue: UInt8

    /// Creates a value from the kernel's number, and keeps unknown numbers.
    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The driver does not report the state.
    ///
    /// Loopback, tunnels and bridges without ports report this while they work.
    package static let unknown = OperationalState(rawValue: 0)
    /// A component is missing.
    package static let notPresent = OperationalState(rawValue: 1)
    /// Cannot pass packets.
    package static let down = OperationalState(rawValue: 2)
    /// The interface below is down.
    package static let lowerLayerDown = OperationalState(rawValue: 3)
    /// In a test mode: normal packets do not pass.
    package static let testing = OperationalState(rawValue: 4)
    /// Has a carrier and waits for an external event, such as an authentication.
    package static let dormant = OperationalState(rawValue: 5)
    /// Can pass packets.
    package static let up = OperationalState(rawValue: 6)
}

/// Whether a port of a bridge passes frames, as the spanning tree protocol counts it.
///
/// The kernel's counterpart is `IFLA_BRPORT_STATE`.
package struct BridgePortState: RawRepresentable, Hashable, Sendable {
    /// The kernel's number.
    package let rawValue: UInt8

    /// Wraps the kernel's number; unknown ones are kept.
    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Passes frames; in each other state the bridge drops what arrives, and sends nothing there.
    package static let forwarding = BridgePortState(rawValue: 3)
}

extension BridgePortState: CustomStringConvertible {
    /// The name that `bridge link` prints.
    package var description: String {
        ["disabled", "listening", "learning", "forwarding", "blocking"].word(rawValue) ?? "state \(rawValue)"
    }
}

extension Link {
    /// Why a bridge passes no frames of this port that has a carrier, in a word; `nil` if it does.
    package var portBlocker: String? {
        guard let portState, portState != .forwarding, flags.contains(.up), hasCarrier else { return nil }
        return portState.description
    }
}

extension OperationalState: CustomStringConvertible {
    /// The name that `ip link` prints, in lower case.
    package var description: String {
        ["unknown", "notpresent", "down", "lowerlayerdown", "testing", "dormant", "up"].word(rawValue)
            ?? "state \(rawValue)"
    }
}

/// The medium that an interface reports: the kernel's ARPHRD number.
///
/// It identifies tunnels and point-to-point links reliably, but not Wi-Fi or most cellular modems, which report
/// Ethernet.
///
/// The kernel's counterpart is `ifi_type`, with the numbers of `linux/if_arp.h`.
package struct HardwareType: RawRepresentable, Hashable, Sendable {
    /// The kernel's number.
    package let rawValue: UInt16

    /// Creates a value from a number of `linux/if_arp.h`, and keeps unknown numbers.
    package init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// Ethernet, and everything that presents itself as Ethernet (`ARPHRD_ETHER`).
    package static let ethernet = HardwareType(rawValue: 1)
    /// A serial line (`ARPHRD_SLIP`).
    static let slip = HardwareType(rawValue: 256)
    /// A PPP link (`ARPHRD_PPP`).
    package static let ppp = HardwareType(rawValue: 512)
    /// Raw IP, used by cellular modems (`ARPHRD_RAWIP`).
    static let rawIP = HardwareType(rawValue: 519)
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
    /// No hardware address: tun, WireGuard, xfrm (`ARPHRD_NONE`).
    package static let none = HardwareType(rawValue: 65534)
}

// MARK: - Traits of a kind

/// The traits that follow from the driver's kind of an interface.
///
/// The kernel's counterpart is IFLA_INFO_KIND. The attributes of a kind are read where its message is parsed.
struct KindTraits: OptionSet {
    let rawValue: UInt16

    /// The link has one peer at the other end, even if the hardware type and the flags do not show it.
    static let isPointToPoint = KindTraits(rawValue: 1 << 0)
    /// A cellular modem.
    static let isCellular = KindTraits(rawValue: 1 << 1)
    /// A tunnel whose ends rtnetlink does not show.
    static let isOpaqueTunnel = KindTraits(rawValue: 1 << 2)
    /// The interface has the type of its ports.
    static let hasPorts = KindTraits(rawValue: 1 << 3)
    /// The interface has the type of the interface below it.
    static let isLayer = KindTraits(rawValue: 1 << 4)
    /// One end of a pair.
    ///
    /// Its IFLA_LINK is the other end.
    static let isPairEnd = KindTraits(rawValue: 1 << 5)
    /// Packets through the interface arrive nowhere: a dummy drops all packets, and an ifb drops those that were not
    /// redirected to it.
    static let leadsNowhere = KindTraits(rawValue: 1 << 6)
    /// The driver reports the operational state "unknown" rather than "up".
    static let hidesState = KindTraits(rawValue: 1 << 7)
    /// Its IFLA_LINK is not a lower layer: it only selects the VRF of its packets (`xfrm_dst_lookup`).
    static let linkSelectsDomain = KindTraits(rawValue: 1 << 8)

    /// The interface drops packets with labels (MPLS), and sends only IPv4 and IPv6.
    static let sendsNoLabels = KindTraits(rawValue: 1 << 9)

    fileprivate static let ofKind: [String: KindTraits] = [
        "ppp": [.isPointToPoint, .hidesState],
        "l2tp": .isPointToPoint,
        // The ends of tunnels that the kernel shows are read in `TunnelEnds+Attributes.swift`.
        "gre": .isPointToPoint, "ip6tnl": .isPointToPoint, "ipip": .isPointToPoint, "sit": .isPointToPoint,
        "xfrm": [.isPointToPoint, .isOpaqueTunnel, .linkSelectsDomain, .sendsNoLabels],
        // The ends of vti and xfrm are in IPsec states, which only a privileged process can read.
        "vti": [.isPointToPoint, .isOpaqueTunnel, .sendsNoLabels], "vti6": [.isOpaqueTunnel, .sendsNoLabels],
        "wireguard": [.isPointToPoint, .isOpaqueTunnel, .hidesState, .sendsNoLabels],
        "amneziawg": [.isOpaqueTunnel, .sendsNoLabels], "ovpn": [.isOpaqueTunnel, .sendsNoLabels],
        // A tap is a tun with Ethernet framing and has many peers. Its hardware type distinguishes it.
        "tun": .isOpaqueTunnel,
        "wwan": [.isCellular, .hidesState], "rmnet": .isCellular,
        "bond": .hasPorts, "bridge": .hasPorts, "team": .hasPorts,
        "ipvlan": .isLayer, "ipvtap": .isLayer, "macvlan": .isLayer, "macvtap": .isLayer, "vlan": .isLayer,
        "netkit": .isPairEnd, "veth": .isPairEnd, "vxcan": .isPairEnd,
        "dummy": [.leadsNowhere, .hidesState], "ifb": [.leadsNowhere, .hidesState],
    ]
}

extension Link {
    /// The traits of its kind; empty for an interface without a kind, such as most network cards.
    var kindTraits: KindTraits { kind.isEmpty ? [] : KindTraits.ofKind[kind] ?? [] }

    /// Whether the interface is one end of a pair whose other end is ``lower``.
    package var isPairEnd: Bool { kindTraits.contains(.isPairEnd) }

    /// Whether the driver's kind is a kind of cellular modem.
    package var isCellularKind: Bool { kindTraits.contains(.isCellular) }

    /// Whether packets through the interface arrive nowhere.
    package var leadsNowhere: Bool { kindTraits.contains(.leadsNowhere) }

    /// Whether the driver reports the operational state "up" instead of "unknown".
    package var reportsState: Bool { !kindTraits.contains(.hidesState) && !flags.contains(.loopback) }

    /// The packets that the interface can send.
    var payloads: TunnelPayloads {
        let payloads = tunnel?.value.payloads ?? .all
        return kindTraits.contains(.sendsNoLabels) ? payloads.subtracting(.labels) : payloads
    }

    /// Whether the interface sends its packets inside other packets.
    package var isTunnel: Bool { tunnel != nil || kindTraits.contains(.isOpaqueTunnel) }

    /// The ends of a tunnel for looking up its outer packets here; `nil` if they are not known, and for a tunnel
    /// whose outer packets belong to another network namespace.
    package var ends: TunnelEnds? { lowerIsForeign ? nil : tunnel?.value }
}

// MARK: - Settings

/// Some settings of one interface or of all, as a message reports them.
///
/// The kernel's counterpart is RTM_NEWNETCONF: sysctls below `net.ipv4.conf` or `net.ipv6.conf`.
package struct SettingsReport: Hashable, Sendable {
    /// The scope of the settings.
    package enum Place: Hashable, Sendable {
        /// All interfaces: `conf.all`.
        case all
        /// Interfaces that are created later: `conf.default`.
        case newInterfaces
        /// One interface, by its index.
        case interface(UInt32)
    }

    /// The scope of the settings.
    package var place: Place
    /// The settings; `nil` for those that are not reported.
    package var settings = RoutingSettings()

    /// Creates a report.
    ///
    /// - Parameters:
    ///   - place: The scope.
    ///   - report: Sets what is reported.
    package init(_ place: Place, _ report: (inout RoutingSettings) -> Void) {
        self.place = place
        report(&settings)
    }
}

/// The settings of both families, for one interface or for a whole network; `nil` is unknown.
///
/// Dumps of links contain the settings of each interface. A ``SettingsReport`` contains some of those of one interface
/// or of all: `ignore_routes_with_linkdown`, `rp_filter`, `forwarding` and `bc_forwarding`.
package struct RoutingSettings: Hashable, Sendable {
    /// The sysctl `ignore_routes_with_linkdown` for IPv4.
    package var ipv4IgnoresLinkdown: Bool?
    /// The sysctl `ignore_routes_with_linkdown` for IPv6.
    package var ipv6IgnoresLinkdown: Bool?
    /// The IPv4 sysctl `route_localnet`: whether packets of 127.0.0.0/8 leave.
    ///
    /// The setting for all interfaces, which no message contains, is combined with this one.
    package var routesLoopback: Bool?
    /// The sysctl `forwarding` for IPv6.
    ///
    /// A router ignores whether its neighbours answer.
    package var ipv6Forwards: Bool?
    /// The sysctl `forwarding` for IPv4.
    package var ipv4Forwards: Bool?
    /// The sysctl `rp_filter`: 0 none, 1 strict, 2 loose.
    package var reversePathFilter: UInt8?
    /// The sysctl `accept_local`: whether packets from an address of this host are accepted.
    package var takesOwnSources: Bool?
    /// The sysctl `src_valid_mark`: whether the reverse lookup uses the packet's mark.
    package var looksBackByMark: Bool?
    /// The sysctl `bc_forwarding`.
    package var forwardsBroadcasts: Bool?
    /// The sysctl `send_redirects`.
    package var sendsRedirects: Bool?
    /// The sysctl `disable_ipv6`.
    package var ipv6IsOff: Bool?
    /// The sysctl `force_forwarding` for IPv6 (Linux 6.17 and later).
    package var ipv6ForwardsAlways: Bool?
    /// The sysctl `use_oif_addrs_only`: whether IPv6 packets have only addresses of the outgoing interface as source.
    package var ipv6SelectsOnInterface: Bool?

    /// The settings that are on or off.
    private static let switches: [any WritableKeyPath<RoutingSettings, Bool?> & Sendable] = [
        \.ipv4IgnoresLinkdown, \.ipv6IgnoresLinkdown, \.routesLoopback, \.ipv6Forwards, \.ipv4Forwards,
        \.takesOwnSources, \.looksBackByMark, \.forwardsBroadcasts, \.sendsRedirects, \.ipv6IsOff,
        \.ipv6ForwardsAlways, \.ipv6SelectsOnInterface,
    ]

    /// The initial settings of a network namespace.
    package static let initial: RoutingSettings = {
        var settings = RoutingSettings()
        for setting in switches { settings[keyPath: setting] = false }
        (settings.reversePathFilter, settings.sendsRedirects) = (0, true)
        return settings
    }()

    /// Creates settings.
    ///
    /// Omitted settings are unknown.
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

    /// Replaces the settings that others have.
    package mutating func take(_ others: Self) {
        var merged = others
        merged.fill(from: self)
        self = merged
    }

    /// Fills in unknown settings from others.
    package mutating func fill(from other: Self) {
        reversePathFilter = reversePathFilter ?? other.reversePathFilter
        for setting in Self.switches where self[keyPath: setting] == nil {
            self[keyPath: setting] = other[keyPath: setting]
        }
    }
}

/// The effective settings for packets that arrive on an interface: its own and those for all; `nil` is unknown.
package struct InputSettings: Hashable, Sendable {
    /// The settings of the interface.
    package var own: RoutingSettings
    /// The settings for all interfaces.
    package var all: RoutingSettings

    /// Combines the settings of an interface with those for all.
    package init(own: RoutingSettings, all: RoutingSettings) {
        (self.own, self.all) = (own, all)
    }

    /// The reverse path filter: the greater value applies, so the loose filter wins (`IN_DEV_RPFILTER`).
    package var reversePathFilter: UInt8? {
        let (one, other) = (own.reversePathFilter, all.reversePathFilter)
        if one == 2 || other == 2 { return 2 }
        guard let one, let other else { return nil }
        return max(one, other)
    }

    /// Whether IPv4 packets are forwarded.
    ///
    /// Only the interface's own setting applies.
    package var ipv4Forwards: Bool? { own.ipv4Forwards }
    /// Whether packets from an address of this host are accepted.
    package var takesOwnSources: Bool? { Self.either(own.takesOwnSources, all.takesOwnSources) }
    /// Whether the reverse lookup uses the packet's mark.
    package var looksBackByMark: Bool? { Self.either(own.looksBackByMark, all.looksBackByMark) }
    /// Whether packets of 127.0.0.0/8 are accepted.
    package var routesLoopback: Bool? { Self.either(own.routesLoopback, all.routesLoopback) }
    /// Whether a packet that leaves through the interface on which it arrived causes a redirect.
    package var sendsRedirects: Bool? { Self.either(own.sendsRedirects, all.sendsRedirects) }
    /// Whether broadcasts to another network are forwarded.
    ///
    /// Both settings are required.
    package var forwardsBroadcasts: Bool? {
        Self.either(own.forwardsBroadcasts.map(!), all.forwardsBroadcasts.map(!)).map(!)
    }
    /// Whether the interface accepts no IPv6 packets.
    package var ipv6IsOff: Bool? { own.ipv6IsOff }
    /// Whether IPv6 packets are forwarded.
    ///
    /// The interface's own `forwarding` has no effect.
    package var ipv6Forwards: Bool? { Self.either(own.ipv6ForwardsAlways, all.ipv6Forwards) }

    private static func either(_ one: Bool?, _ other: Bool?) -> Bool? {
        if one == true || other == true { return true }
        return one == nil || other == nil ? nil : false
    }
}

// MARK: - Messages

/// A message about an interface, which can be partial.
///
/// Wi-Fi drivers report scans with messages of two attributes, and IPv6 and bridges send messages of the same type.
/// An attribute that is missing in such a message has not changed.
package struct LinkReport: Hashable, Sendable {
    /// The interface, with the attributes of the message.
    package var link: Link
    /// Whether the message describes the whole interface.
    package var isWhole: Bool

    /// Creates a message from its contents.
    package init(_ link: Link, isWhole: Bool = true) {
        self.link = link
        self.isWhole = isWhole
    }

    /// The interface after this message.
    ///
    /// Every message contains the state bits and the hardware type. In a partial message, the name is the only other
    /// attribute whose absence can be distinguished from a value.
    package func merged(into known: Link?) -> Link {
        guard !isWhole, var merged = known else {
            var link = link
            // Dumps and most notifications contain settings. Unknown ones are kept.
            if let known { link.settings.fill(from: known.settings) }
            return link
        }
        merged.flags = link.flags
        merged.hardwareType = link.hardwareType
        if !link.name.isEmpty { merged.name = link.name }
        return merged
    }
}
