// SPDX-License-Identifier: Apache-2.0

/// A network interface as the kernel describes it.
///
/// The kernel's counterpart is RTM_NEWLINK with `ifi_family` AF_UNSPEC.
package struct Link: Hashable, Sendable {
    /// The interface's number in its network namespace, from 1.
    package var index: UInt32
    /// The interface's name, at most 15 bytes.
    package var name: String
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
        self.vrfTable = vrfTable
        self.settings = settings
        self.tunnel = tunnel.map(Box.init)
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
