// SPDX-License-Identifier: Apache-2.0

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
    /// Distinguishes kinds that have the same properties.
    private let name: String
    /// The driver's name (`IFLA_INFO_KIND`).
    private var driver = ""
    private var hardwareType = HardwareType.ethernet
    /// The state bits that an interface of this kind always has.
    private var flags: LinkFlags = [.broadcast, .multicast]
    /// Whether the kernel assigns an IPv6 link-local address to an interface of this kind.
    private(set) var hasLinkLocal = true
    /// The name of the lower interface; `nil` if the kind needs none.
    private(set) var lower: String?

    /// An Ethernet card.
    public static let ethernet = InterfaceKind(name: "ethernet")
    /// A Wi-Fi card: Ethernet that nl80211 lists.
    public static let wifi = InterfaceKind(name: "wifi")
    /// A cellular modem of the kernel's WWAN subsystem.
    public static let cellular = InterfaceKind(
        name: "cellular", driver: "wwan", hardwareType: .none, flags: [.pointToPoint, .noARP],
        hasLinkLocal: false)
    /// A tun device with a process behind it, as OpenVPN has.
    public static let tunnel = InterfaceKind(
        name: "tunnel", driver: "tun", hardwareType: .none, flags: [.pointToPoint, .noARP, .multicast])
    /// A tap device with a process behind it: Ethernet.
    public static let tap = InterfaceKind(name: "tap", driver: "tun")
    /// A WireGuard interface: its carrier does not depend on the network below.
    public static let wireGuard = InterfaceKind(
        name: "wireGuard", driver: "wireguard", hardwareType: .none, flags: [.pointToPoint, .noARP],
        hasLinkLocal: false)
    /// A dial-up link that is connected.
    public static let ppp = dialUp(name: "ppp")
    /// A dial-up link that dials on demand, with pppd's placeholder addresses, 10.64.64.64 and the peer 10.112.112.112,
    /// until it gets other addresses.
    public static let onDemandPPP = dialUp(name: "onDemandPPP")
    /// The kernel's dummy device.
    public static let dummy = InterfaceKind(
        name: "dummy", driver: "dummy", flags: [.broadcast, .noARP])
    /// A bridge, which has a carrier while one of its ports has a carrier.
    public static let bridge = InterfaceKind(name: "bridge", driver: "bridge")

    /// A VLAN, which follows the state of its lower interface.
    ///
    /// - Parameter lower: The name of the lower interface.
    /// - Returns: The kind.
    public static func vlan(on lower: String) -> InterfaceKind {
        InterfaceKind(name: "vlan", driver: "vlan", lower: lower)
    }

    private static func dialUp(name: String) -> InterfaceKind {
        InterfaceKind(
            name: name, driver: "ppp", hardwareType: .ppp, flags: [.pointToPoint, .noARP, .multicast],
            hasLinkLocal: false)
    }

    /// The link of an interface of this kind, before it is up.
    func link(index: UInt32, name: String, lower: UInt32?) -> Link {
        Link(
            index: index,
            name: name,
            hardwareType: hardwareType,
            flags: flags,
            operationalState: .down,
            carrier: false,
            kind: driver,
            lower: lower,
            settings: .initial
        )
    }
}

extension LinkFlags {
    /// IFF_BROADCAST.
    fileprivate static let broadcast = LinkFlags(rawValue: 0x2)
    /// IFF_MULTICAST.
    fileprivate static let multicast = LinkFlags(rawValue: 0x1000)
}
