// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability

/// The default path of this host at one moment, by Apple's name.
///
/// `NetworkPath` of NetlinkReachability describes the properties and what they cannot know.
public struct NWPath: Hashable, Sendable {
    /// The status of a path.
    public enum Status: Hashable, Sendable {
        /// Packets can leave.
        case satisfied
        /// Packets cannot leave.
        case unsatisfied
        /// Packets can leave after a connection is made.
        case requiresConnection
    }

    /// Why a path is unsatisfied.
    ///
    /// On Linux, the reason is known only if the user has switched off radios, for example with rfkill(8).
    public enum UnsatisfiedReason: Hashable, Sendable {
        /// No specific reason; also the value of a satisfied path.
        case notAvailable
        /// The modem of each cellular interface is switched off.
        case cellularDenied
        /// The radio of each Wi-Fi interface is switched off.
        case wifiDenied
        /// The user has denied traffic in the local network. Never on Linux.
        case localNetworkDenied
        /// A required VPN is inactive. Never on Linux.
        case vpnInactive
    }

    /// The quality of the link that packets use.
    public enum LinkQuality: Hashable, Sendable {
        /// Not known: for every link except Wi-Fi, and if the driver does not report a signal.
        case unknown
        /// A weak signal: below -75 dBm.
        case minimal
        /// A usable signal: from -75 dBm.
        case moderate
        /// A strong signal: from -65 dBm.
        case good
    }

    let base: NetworkPath
    /// The quality of the link when the path was delivered.
    ///
    /// The kernel does not notify of signals. A change of only the quality is not delivered.
    public let linkQuality: LinkQuality

    /// Why the path was unsatisfied when it was delivered.
    public let unsatisfiedReason: UnsatisfiedReason

    /// Paths are equal if all properties except ``linkQuality`` and ``unsatisfiedReason`` are equal.
    public static func == (left: NWPath, right: NWPath) -> Bool {
        left.base.withoutReason == right.base.withoutReason
    }

    /// Hashes the properties that are compared.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(base.withoutReason)
    }
}

/// The facts about radios in a path, which the kernel does not notify of.
struct RadioFacts: Sendable {
    /// Returns the signal of the Wi-Fi interface with an index, in dBm; `nil` if it is not known.
    var signal: @Sendable (UInt32) -> Int8? = { _ in nil }
    /// Returns why a path is unsatisfied.
    var unsatisfiedReason: @Sendable () -> NWPath.UnsatisfiedReason = { .notAvailable }

    /// Returns a path by Apple's name, with the present state of the radios.
    func path(_ base: NetworkPath) -> NWPath {
        let link = base.usedInterfaces.first { $0.type == .wifi }
        return NWPath(
            base: base,
            linkQuality: link.flatMap { signal($0.index) }.map(NWPath.LinkQuality.init(signal:)) ?? .unknown,
            unsatisfiedReason: NWPath.Status(base) == .unsatisfied ? unsatisfiedReason() : .notAvailable
        )
    }
}

extension NWPath.Status {
    init(_ path: NetworkPath) {
        switch path.status {
        case .satisfied: self = .satisfied
        case .requiresConnection where path.flags.contains(.connectionOnTraffic): self = .requiresConnection
        case .requiresConnection, .unsatisfied: self = .unsatisfied
        }
    }
}

extension NWPath.LinkQuality {
    /// Creates the quality of a signal in dBm.
    init(signal: Int8) {
        switch signal {
        case (-65)...: self = .good
        case (-75)...: self = .moderate
        default: self = .minimal
        }
    }
}

extension NWPath {
    /// Whether packets can leave.
    ///
    /// The status is ``Status/requiresConnection`` only if traffic makes the connection, as on a dial-on-demand link.
    /// The path over a link that waits for an external event, such as an authentication, is unsatisfied.
    public var status: Status { Status(base) }

    /// The interfaces that the path can use, the preferred one first.
    public var availableInterfaces: [NWInterface] { base.availableInterfaces.map(NWInterface.init) }
    /// Whether the path uses an interface with expensive traffic.
    ///
    /// This is a cellular modem. With the package trait `NetworkManagers`, it is also an interface that
    /// NetworkManager reports as metered.
    public var isExpensive: Bool { base.isExpensive }
    /// Always false: Linux has no Low Data Mode.
    public var isConstrained: Bool { base.isConstrained }
    /// Always false: Linux has no such mode.
    public var isUltraConstrained: Bool { false }
    /// Whether IPv4 packets can leave.
    public var supportsIPv4: Bool { status != .unsatisfied && base.supportsIPv4 }
    /// Whether IPv6 packets can leave.
    public var supportsIPv6: Bool { status != .unsatisfied && base.supportsIPv6 }
    /// Whether packets can leave towards a name server.
    public var supportsDNS: Bool { status != .unsatisfied && base.supportsDNS }
    /// The gateways of the path's interfaces, with the port 0.
    public var gateways: [NWEndpoint] {
        base.gateways.map { .hostPort(host: NWEndpoint.Host($0, on: base.availableInterfaces), port: .any) }
    }
    /// The local endpoint of a connection; `nil` for the path of a monitor.
    public var localEndpoint: NWEndpoint? { nil }
    /// The remote endpoint of a connection; `nil` for the path of a monitor.
    public var remoteEndpoint: NWEndpoint? { nil }

    /// Returns whether packets use an interface of a type.
    ///
    /// - Parameter type: The type.
    /// - Returns: Whether one of the interfaces that packets use now has the type.
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
        return (["\(status)"] + interface + traits.filter(\.0).map(\.1)).joined(separator: ", ")
    }
}
