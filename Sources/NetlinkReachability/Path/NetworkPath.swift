// SPDX-License-Identifier: Apache-2.0

/// The default path, the way from this host to anywhere: whether there is one, and what it is like.
///
/// A value of one moment: two paths are equal when all that they tell is. It is judged by the same rules as the
/// flags of the default path, see ``ReachabilityTarget/defaultPath``; restricted to some types of interfaces, as
/// a socket sees it that is bound to the best of them.
///
/// What it cannot know: whether anything answers at the other end, what a tunnel's packets leave through in the
/// end, and what a connection costs, unless ``NetworkMetering`` tells.
///
/// Apple's counterpart is `NWPath`.
public struct NetworkPath: Hashable, Sendable {
    /// Whether there is a way.
    ///
    /// Apple's counterpart is `NWPath.Status`.
    public enum Status: String, Hashable, Sendable, CaseIterable {
        /// Packets can leave.
        case satisfied
        /// They cannot.
        case unsatisfied
        /// They can once a connection is made: a link dials on demand, or waits for an external event.
        case requiresConnection
    }

    /// Why there is no way.
    ///
    /// Apple's counterpart is `NWPath.UnsatisfiedReason`. Nothing in the kernel tells more than
    /// ``notAvailable``: the others exist so that code which names them compiles.
    public enum UnsatisfiedReason: String, Hashable, Sendable, CaseIterable {
        /// No more is known; also of a path that is satisfied.
        case notAvailable
        /// Somebody has denied cellular traffic.
        case cellularDenied
        /// Somebody has denied Wi-Fi traffic.
        case wifiDenied
        /// Somebody has denied traffic in the local network.
        case localNetworkDenied
        /// A VPN is needed, and not there.
        case vpnInactive
    }

    /// Whether there is a way.
    public let status: Status
    /// Why there is none.
    public let unsatisfiedReason: UnsatisfiedReason
    /// The interfaces through which the default path leads, the preferred one first.
    ///
    /// First those that packets take now, then each other one that a socket bound to it can send through, by
    /// the metric of its default route, the lower one where it has two, and then by its index. The loopback
    /// interface, and those of a VRF, which is a network of its own, are among them only where packets take
    /// them.
    ///
    /// There can be some although the path is not satisfied: the kernel keeps sending into a cable that is
    /// unplugged where its metric says so.
    public let availableInterfaces: [NetworkInterface]
    /// The interfaces that packets take now, the preferred one first.
    package let usedInterfaces: [NetworkInterface]
    /// The gateways of the default routes, in the order of their interfaces, each once.
    ///
    /// A link-local address has its interface as its zone.
    public let gateways: [IPAddress]
    /// Whether packets of IPv4 can leave, in the way that the status says.
    public let supportsIPv4: Bool
    /// The same for IPv6.
    public let supportsIPv6: Bool
    /// Whether a name server can be asked; `nil` where nothing is known of name servers.
    package let reachesNameserver: Bool?
    /// Whether the path leads through an interface whose traffic costs: a cellular modem, or one that
    /// ``NetworkMetering`` calls so.
    public package(set) var isExpensive: Bool
    /// Whether the path leads through an interface that is to be spared: never, unless ``NetworkMetering`` says
    /// so.
    public package(set) var isConstrained: Bool
    /// The flags of the path, as a ``NetworkReachability`` of the default path has them.
    public let flags: ReachabilityFlags
}

extension NetworkPath {
    /// Whether at least one name server of the system's resolver can be sent to.
    ///
    /// Those of resolv.conf, the first three, as the C library does; behind systemd-resolved those that it asks.
    /// `false` where the path is unsatisfied, and where nothing is known of name servers, as in a recording.
    public var supportsDNS: Bool {
        reachesNameserver ?? false
    }

    /// Whether packets on this path may leave through an interface of a type.
    ///
    /// Those that they take now, of both families, count; not those that are merely available.
    ///
    /// - Parameter type: The type.
    /// - Returns: Whether one of the interfaces is of it.
    public func usesInterfaceType(_ type: NetworkInterface.InterfaceType) -> Bool {
        usedInterfaces.contains { $0.type == type }
    }

    /// The path where nobody can say anything.
    static let unknown = NetworkPath(
        status: .unsatisfied,
        unsatisfiedReason: .notAvailable,
        availableInterfaces: [],
        usedInterfaces: [],
        gateways: [],
        supportsIPv4: false,
        supportsIPv6: false,
        reachesNameserver: nil,
        isExpensive: false,
        isConstrained: false,
        flags: []
    )
}

extension NetworkPath.Status {
    /// The status that flags come down to.
    init(_ flags: ReachabilityFlags) {
        switch flags.rank {
        case 2: self = .satisfied
        case 1: self = .requiresConnection
        default: self = .unsatisfied
        }
    }
}

extension NetworkPath: CustomStringConvertible {
    /// One line, such as `satisfied (eth0, wlan0), IPv4, DNS`.
    public var description: String {
        let names = availableInterfaces.map(\.name).joined(separator: ", ")
        let traits = [
            (supportsIPv4, "IPv4"), (supportsIPv6, "IPv6"), (supportsDNS, "DNS"), (isExpensive, "expensive"),
            (isConstrained, "constrained"),
        ]
        let words = traits.filter(\.0).map(\.1)
        return ([names.isEmpty ? status.rawValue : "\(status.rawValue) (\(names))"] + words)
            .joined(separator: ", ")
    }
}
