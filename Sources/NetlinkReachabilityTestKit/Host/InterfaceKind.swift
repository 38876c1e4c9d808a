// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import RoutingModel

/// A kind of simulated interface.
///
/// ```swift
/// try network.change { host in
///     try host.addInterface("wwan0", .cellular)
///     try host.addInterface("eth0.7", .vlan(on: "eth0"))
/// }
/// ```
///
/// A simulated interface has the hardware type, link kind and state bits of a real one. As with real drivers, the
/// operational state of some kinds stays "unknown".
public struct InterfaceKind: Hashable, Sendable {
    enum Value: Hashable {
        case loopback, ethernet, wifi, cellular, tunnel, tap, wireGuard, ppp, onDemandPPP, dummy, bridge
        case vlan(lower: String)
    }

    let value: Value

    /// The loopback interface, `lo`, which every simulated network has.
    static let loopback = InterfaceKind(value: .loopback)
    /// An Ethernet card.
    public static let ethernet = InterfaceKind(value: .ethernet)
    /// A Wi-Fi card: Ethernet that nl80211 lists.
    public static let wifi = InterfaceKind(value: .wifi)
    /// A cellular modem of the kernel's WWAN subsystem.
    public static let cellular = InterfaceKind(value: .cellular)
    /// A tun device with a process behind it, as OpenVPN has.
    public static let tunnel = InterfaceKind(value: .tunnel)
    /// A tap device with a process behind it: Ethernet.
    public static let tap = InterfaceKind(value: .tap)
    /// A WireGuard interface: its carrier does not depend on the network below.
    public static let wireGuard = InterfaceKind(value: .wireGuard)
    /// A dial-up link that is connected.
    public static let ppp = InterfaceKind(value: .ppp)
    /// A dial-up link that dials on demand: it has pppd's placeholder addresses, 10.64.64.64 with the peer
    /// 10.112.112.112, until it gets others.
    public static let onDemandPPP = InterfaceKind(value: .onDemandPPP)
    /// The kernel's dummy device.
    public static let dummy = InterfaceKind(value: .dummy)
    /// A bridge: it has a carrier while one of its ports has one.
    public static let bridge = InterfaceKind(value: .bridge)

    /// A VLAN, which follows the state of the interface below.
    ///
    /// - Parameter lower: The name of the interface below.
    /// - Returns: The kind.
    public static func vlan(on lower: String) -> InterfaceKind {
        InterfaceKind(value: .vlan(lower: lower))
    }
}

extension InterfaceKind {
    /// The link of an interface of this kind, before it is up.
    func link(index: UInt32, name: String, lower: UInt32?) -> Link {
        Link(
            index: index,
            name: name,
            hardwareType: hardwareType,
            flags: baseFlags,
            operationalState: .down,
            carrier: false,
            kind: driverKind,
            lower: lower,
            mtu: value == .loopback ? 65_536 : 1_500,
            ipv4IgnoresLinkdown: false,
            ipv6IgnoresLinkdown: false,
            ipv6Forwards: false
        )
    }

    private var hardwareType: HardwareType {
        switch value {
        case .loopback: .loopback
        case .ppp, .onDemandPPP: .ppp
        case .cellular, .tunnel, .wireGuard: .none
        case .ethernet, .wifi, .tap, .dummy, .bridge, .vlan: .ethernet
        }
    }

    private var driverKind: String {
        switch value {
        case .loopback, .ethernet, .wifi: ""
        case .cellular: "wwan"
        case .tunnel, .tap: "tun"
        case .wireGuard: "wireguard"
        case .ppp, .onDemandPPP: "ppp"
        case .dummy: "dummy"
        case .bridge: "bridge"
        case .vlan: "vlan"
        }
    }

    private var baseFlags: LinkFlags {
        switch value {
        case .loopback: .loopback
        case .cellular, .wireGuard: [.pointToPoint, .noARP]
        case .tunnel, .ppp, .onDemandPPP: [.pointToPoint, .noARP, .multicast]
        case .dummy: [.broadcast, .noARP]
        case .ethernet, .wifi, .tap, .bridge, .vlan: [.broadcast, .multicast]
        }
    }

    /// Whether the driver reports the state "up" rather than "unknown".
    var reportsState: Bool {
        switch value {
        case .ethernet, .wifi, .tunnel, .tap, .bridge, .vlan: true
        case .loopback, .cellular, .wireGuard, .ppp, .onDemandPPP, .dummy: false
        }
    }

    /// Whether the kernel assigns it an IPv6 link-local address.
    var hasLinkLocal: Bool {
        switch value {
        case .ethernet, .wifi, .tunnel, .tap, .bridge, .vlan, .dummy: true
        case .loopback, .cellular, .wireGuard, .ppp, .onDemandPPP: false
        }
    }
}

extension LinkFlags {
    /// IFF_BROADCAST.
    fileprivate static let broadcast = LinkFlags(rawValue: 0x2)
    /// IFF_MULTICAST.
    fileprivate static let multicast = LinkFlags(rawValue: 0x1000)
}
