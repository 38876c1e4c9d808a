// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// The default path of this host: whether packets can leave, and through which interfaces.
///
/// It describes one moment, and follows the same rules as the flags of ``ReachabilityTarget/defaultPath``. If it is
/// restricted to some types of interfaces, it is the path of a socket that is bound to the best of them.
///
/// What it cannot know: whether a remote host answers, what carries a tunnel that ``carriers`` calls unknown, and what
/// a connection costs, unless ``NetworkMetering`` knows.
///
/// Apple's counterpart is `NWPath`.
public struct NetworkPath: Hashable, Sendable {
    /// Whether packets can leave.
    ///
    /// Apple's counterpart is `NWPath.Status`.
    public enum Status: String, Hashable, Sendable, CaseIterable {
        /// Packets can leave.
        case satisfied
        /// Packets cannot leave.
        case unsatisfied
        /// Packets can leave after a connection is made: a link dials on demand, or waits for an external event.
        case requiresConnection
    }

    /// Whether packets can leave.
    public package(set) var status = Status.unsatisfied
    /// The interfaces through which the default path leads, the preferred one first.
    ///
    /// The interfaces that packets take now come first. Then follow the others through which a bound socket can send,
    /// ordered by the lowest metric of their default routes, and then by index. The loopback interface, and those of a
    /// VRF, which is a separate network, are included only if packets take them.
    ///
    /// There can be interfaces although the path is not satisfied: the kernel keeps a route with the lowest metric even
    /// if its cable is unplugged.
    public package(set) var availableInterfaces: [NetworkInterface] = []
    /// The interfaces that packets take now, the preferred one first.
    package var usedInterfaces: [NetworkInterface] = []
    /// The gateways that packets take now, with their interfaces.
    package var usedGateways: [Neighbour.Key] = []
    /// The gateways of the default routes, in the order of their interfaces, each once.
    ///
    /// A link-local address has its interface as its zone.
    public package(set) var gateways: [IPAddress] = []
    /// The name servers that the system's resolver asks, in its order: at most three of resolv.conf, or those of
    /// systemd-resolved; empty if none are known, as in a recording.
    ///
    /// Another list is another path: a program that resolves names itself learns of it.
    public package(set) var nameservers: [IPAddress] = []
    /// Whether IPv4 packets can leave, under the condition that the status describes.
    public package(set) var supportsIPv4 = false
    /// Whether IPv6 packets can leave, under the condition that the status describes.
    public package(set) var supportsIPv6 = false
    /// Whether packets can be sent to a name server; `nil` if no name servers are known.
    package var reachesNameserver: Bool?
    /// Whether the path leads through an expensive interface: a cellular modem, or one that ``NetworkMetering`` calls
    /// expensive.
    ///
    /// The carriers of tunnels count too, also inferred ones.
    public package(set) var isExpensive = false
    /// Whether the path leads through an interface, or a carrier of one, that ``NetworkMetering`` calls constrained.
    ///
    /// Linux has no Low Data Mode.
    public package(set) var isConstrained = false
    /// What carries the tunnels among the interfaces that packets take now; empty if none of them is a tunnel.
    public package(set) var carriers: [TunnelCarrier] = []
    /// The flags of the path, as a ``NetworkReachability`` of the default path has them.
    public package(set) var flags: ReachabilityFlags = []
    /// Why the path has its status: the reason of ``flags``.
    ///
    /// A path that is observed is not delivered again if only the reason changes.
    public package(set) var reason = ReachabilityReason(.noDefaultRoute)
    /// What identifies the network; `nil` if that is not known, or was not asked for.
    package var identity: NetworkIdentity?
}

extension NetworkPath {
    /// Whether packets can be sent to at least one name server of the system's resolver.
    ///
    /// The name servers are the first three of resolv.conf, as the C library uses them, or those of systemd-resolved.
    /// `false` if the path is unsatisfied, and if no name servers are known, as in a recording.
    public var supportsDNS: Bool {
        reachesNameserver ?? false
    }

    /// Whether packets on this path leave through an interface of a type.
    ///
    /// Only the interfaces that packets of both families take now are considered, not the other available ones.
    ///
    /// - Parameter type: The type.
    /// - Returns: Whether one of the interfaces has the type.
    public func usesInterfaceType(_ type: NetworkInterface.InterfaceType) -> Bool {
        usedInterfaces.contains { $0.type == type }
    }

    /// What is compared of a path that is observed: all but the reason.
    package var withoutReason: NetworkPath {
        var path = self
        path.reason = NetworkPath.unknown.reason
        return path
    }

    /// The path if the monitor cannot run.
    package static let unknown = NetworkPath()
}

extension NetworkPath.Status {
    /// The status that follows from flags.
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

// MARK: - Metering

/// The cost of an interface's traffic, which the kernel does not know.
///
/// ```swift
/// // A phone that is used as a hotspot, recognised by the name of its USB interface.
/// let metering = NetworkMetering { $0.name.hasPrefix("usb") ? .expensive : .free }
/// let path = try await NetworkSource.kernel.value(of: .path(metering: metering))
/// ```
///
/// Programs such as NetworkManager store such settings (its `Metered` property). When they change, call
/// ``NetworkSource/evaluateAgain()``.
public struct NetworkMetering: Sendable {
    /// A set of costs.
    public struct Cost: OptionSet, Hashable, Sendable {
        /// The set's bits.
        public let rawValue: UInt8

        /// Creates a set from its bits.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// Traffic costs money or uses up an allowance: Apple's `isExpensive`.
        public static let expensive = Cost(rawValue: 1)
        /// The user wants less traffic: Apple's `isConstrained`, Low Data Mode.
        public static let constrained = Cost(rawValue: 2)
        /// No cost.
        public static let free: Cost = []
    }

    private let cost: @Sendable (NetworkInterface) -> Cost

    /// Creates a metering from a closure.
    ///
    /// - Parameter cost: Returns the cost of an interface. It is called with each evaluation of a path, by the
    ///   caller of a query or on the monitor's thread: it must not wait. A cellular interface is always expensive.
    public init(_ cost: @escaping @Sendable (NetworkInterface) -> Cost) {
        self.cost = cost
    }

    /// No costs are known: only cellular interfaces are expensive, and none is constrained.
    public static let unmetered = NetworkMetering { _ in .free }

    /// What interfaces cost together.
    func cost(of interfaces: [NetworkInterface]) -> Cost {
        interfaces.reduce(into: .free) { cost, interface in
            cost.formUnion(self.cost(interface))
            if interface.type == .cellular { cost.insert(.expensive) }
        }
    }
}

// MARK: - Identity

/// What distinguishes the network of a path from others: the name of its wireless network, and its gateways.
///
/// ```swift
/// for try await identity in NetworkSource.kernel.updates(of: .identity()) {
///     print(identity == nil ? "an unknown network" : "a network that can be recognised")
/// }
/// ```
///
/// Two networks can have the same addresses, and the hardware address of a gateway differs. It needs no manager and no
/// privilege. The same network can have several identities: after its router was replaced, through another radio of
/// a network whose access points are its gateways, and while the addresses of only some gateways are known.
///
/// It locates the user: databases map hardware addresses of access points to places. Do not send or log it. A hash of
/// it is no protection, as few values have to be tried, so this type has none: store a keyed hash of ``description``
/// with a secret of your program, such as HMAC with SHA-256.
public struct NetworkIdentity: Hashable, Sendable {
    /// The name of the wireless network, as bytes, which need not be UTF-8; `nil` without Wi-Fi.
    public let ssid: [UInt8]?
    /// The hardware addresses of the gateways that packets take, each once, in the order of their bytes.
    public let gateways: [[UInt8]]

    /// Creates an identity; `nil` if nothing is known.
    package init?(ssid: [UInt8]?, gateways: [[UInt8]]) {
        guard ssid != nil || !gateways.isEmpty else { return nil }
        self.ssid = ssid
        self.gateways = Set(gateways).sorted { $0.lexicographicallyPrecedes($1) }
    }
}

extension NetworkIdentity: CustomStringConvertible {
    /// A text that stays the same in all versions of this package, such as `ssid=686f6d65 gateways=02:00:00:00:00:01`.
    ///
    /// The bytes are in lower-case hexadecimal digits, two each; without separators in the name, with colons in an
    /// address, with commas between addresses. What is not known is left out with its word.
    public var description: String {
        let addresses = gateways.map { $0.map(Self.hexadecimal).joined(separator: ":") }
        return [
            ssid.map { "ssid=" + $0.map(Self.hexadecimal).joined() },
            addresses.isEmpty ? nil : "gateways=" + addresses.joined(separator: ","),
        ].compactMap(\.self).joined(separator: " ")
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
}

extension NetworkIdentity {
    /// By what the network of a path is recognised; `nil` if nothing is known.
    init?(of path: NetworkPath, _ known: inout Known) throws(Interruption) {
        guard let neighbours = try known.host.hardwareAddresses.get() else { return nil }
        var ssid: [UInt8]?
        for interface in path.usedInterfaces where interface.type == .wifi && ssid == nil {
            ssid = try known.unnotified.ssids.get(interface.index)
        }
        self.init(ssid: ssid, gateways: path.usedGateways.compactMap { neighbours[$0] })
    }
}
