// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability

/// The default path of this host at one moment, by Apple's name.
///
/// What its members rest on, and what they cannot know: see `NetworkPath` of NetlinkReachability. Two paths are
/// equal when all that they tell is.
public struct NWPath: Hashable, Sendable {
    /// Whether there is a way.
    public enum Status: Hashable, Sendable {
        /// Packets can leave.
        case satisfied
        /// They cannot.
        case unsatisfied
        /// They can once a connection is made.
        case requiresConnection
    }

    /// Why there is no way.
    ///
    /// On Linux nothing tells more than ``notAvailable``.
    public enum UnsatisfiedReason: Hashable, Sendable {
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

    let base: NetworkPath

    init(_ base: NetworkPath) {
        self.base = base
    }
}

extension NWPath {
    /// Whether there is a way.
    public var status: Status {
        switch base.status {
        case .satisfied: .satisfied
        case .unsatisfied: .unsatisfied
        case .requiresConnection: .requiresConnection
        }
    }

    /// Why there is none.
    public var unsatisfiedReason: UnsatisfiedReason {
        switch base.unsatisfiedReason {
        case .notAvailable: .notAvailable
        case .cellularDenied: .cellularDenied
        case .wifiDenied: .wifiDenied
        case .localNetworkDenied: .localNetworkDenied
        case .vpnInactive: .vpnInactive
        }
    }

    /// The interfaces through which the path leads, the preferred one first.
    public var availableInterfaces: [NWInterface] { base.availableInterfaces.map(NWInterface.init) }
    /// Whether the path leads through an interface whose traffic costs, as that of a cellular modem does.
    public var isExpensive: Bool { base.isExpensive }
    /// Whether the path is to be spared; nobody tells on Linux, so never.
    public var isConstrained: Bool { base.isConstrained }
    /// Whether packets of IPv4 can leave.
    public var supportsIPv4: Bool { base.supportsIPv4 }
    /// Whether packets of IPv6 can leave.
    public var supportsIPv6: Bool { base.supportsIPv6 }
    /// Whether a name server can be sent to.
    public var supportsDNS: Bool { base.supportsDNS }
    /// The gateways of the path's interfaces, with the port 0.
    public var gateways: [NWEndpoint] {
        base.gateways.map { .hostPort(host: NWEndpoint.Host($0, on: base.availableInterfaces), port: .any) }
    }
    /// The local end of a connection; a monitor's path is none, so `nil`.
    public var localEndpoint: NWEndpoint? { nil }
    /// The remote end of a connection; a monitor's path is none, so `nil`.
    public var remoteEndpoint: NWEndpoint? { nil }

    /// Whether packets on this path may leave through an interface of a type.
    ///
    /// - Parameter type: The type.
    /// - Returns: Whether one of the interfaces that packets take now is of it.
    public func usesInterfaceType(_ type: NWInterface.InterfaceType) -> Bool {
        base.usesInterfaceType(type.base)
    }
}

extension NWPath: CustomDebugStringConvertible {
    /// One line, such as `satisfied, interface: eth0, ipv4, dns`.
    public var debugDescription: String {
        let traits = [
            (supportsIPv4, "ipv4"), (supportsIPv6, "ipv6"), (supportsDNS, "dns"), (isExpensive, "expensive"),
            (isConstrained, "constrained"),
        ]
        let interface = availableInterfaces.first.map { ["interface: \($0.name)"] } ?? []
        return ([base.status.rawValue] + interface + traits.filter(\.0).map(\.1)).joined(separator: ", ")
    }
}
