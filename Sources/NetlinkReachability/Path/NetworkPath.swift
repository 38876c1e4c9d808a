// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// The default path of this host: whether packets can leave, and through which interfaces.
///
/// A path describes one moment, and follows the same rules as the flags of ``ReachabilityTarget/defaultPath``. With a
/// restriction to some types of interfaces, it is the path of a socket that is bound to the best of these interfaces.
///
/// What it cannot know: whether a remote host answers, the carrier of a tunnel that ``carriers`` calls unknown, and
/// the cost of a connection, unless ``NetworkMetering`` provides it.
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
    /// The interfaces of the default path, the preferred one first.
    ///
    /// The interfaces that packets use now come first. The other interfaces through which a bound socket can send
    /// follow, ordered by the lowest metric of their default routes and then by index. The loopback interface, and
    /// the interfaces of a VRF, which is a separate network, are included only if packets use them.
    ///
    /// An unsatisfied path can have interfaces: the kernel keeps the route with the lowest metric even if its cable
    /// is unplugged.
    public package(set) var availableInterfaces: [NetworkInterface] = []
    /// The interfaces that packets use now, the preferred one first.
    package var usedInterfaces: [NetworkInterface] = []
    /// The gateways that packets use now, with their interfaces.
    package var usedGateways: [Neighbour.Key] = []
    /// The gateways of the default routes, without repetitions, in the order of their interfaces.
    ///
    /// A link-local address has its interface as its zone.
    public package(set) var gateways: [IPAddress] = []
    /// The name servers of the system's resolver, in its order: at most three from resolv.conf, or those of
    /// systemd-resolved; empty if none are known, as in a recording.
    ///
    /// A change of the list is a change of the path, for programs that resolve names themselves.
    public package(set) var nameservers: [IPAddress] = []
    /// Whether IPv4 packets can leave, under the condition that ``status`` describes.
    public package(set) var supportsIPv4 = false
    /// Whether IPv6 packets can leave, under the condition that ``status`` describes.
    public package(set) var supportsIPv6 = false
    /// Whether packets can be sent to a name server; `nil` if no name servers are known.
    package var reachesNameserver: Bool?
    /// Whether the path uses an expensive interface: a cellular modem, or an interface that ``NetworkMetering`` calls
    /// expensive.
    ///
    /// The carriers of tunnels count too, even inferred ones.
    public package(set) var isExpensive = false
    /// Whether the path uses an interface, or a carrier of a tunnel, that ``NetworkMetering`` calls constrained.
    ///
    /// Linux has no Low Data Mode.
    public package(set) var isConstrained = false
    /// The carriers of the tunnels that packets use now; empty if packets use no tunnel.
    public package(set) var carriers: [TunnelCarrier] = []
    /// The flags of the path, the same as those of a ``NetworkReachability`` of the default path.
    public package(set) var flags: ReachabilityFlags = []
    /// Why the path has its status: the reason of ``flags``.
    ///
    /// A change of only the reason is not delivered to observers.
    public package(set) var reason = ReachabilityReason(.noDefaultRoute)
    /// The identity of the network; `nil` if it is not known or was not requested.
    package var identity: NetworkIdentity?
}

extension NetworkPath {
    /// Whether packets can be sent to at least one name server of the system's resolver.
    ///
    /// The name servers are the first three of resolv.conf, which the C library uses, or those of systemd-resolved.
    /// `false` if the path is unsatisfied, or if no name servers are known, as in a recording.
    public var supportsDNS: Bool {
        reachesNameserver ?? false
    }

    /// Whether packets on this path leave through an interface of a type.
    ///
    /// Considers the interfaces that packets of both families use now, not the other available interfaces.
    ///
    /// - Parameter type: The type.
    /// - Returns: Whether one of the interfaces has the type.
    public func usesInterfaceType(_ type: NetworkInterface.InterfaceType) -> Bool {
        usedInterfaces.contains { $0.type == type }
    }

    /// The path without its reason, for comparison.
    package var withoutReason: NetworkPath {
        var path = self
        path.reason = NetworkPath.unknown.reason
        return path
    }

    /// The path while the monitor cannot run.
    package static let unknown = NetworkPath()
}

extension NetworkPath: CustomStringConvertible {
    /// One line, such as `satisfied (eth0, wlan0), IPv4, DNS`.
    public var description: String {
        let names = availableInterfaces.map(\.name).joined(separator: ", ")
        return ([names.isEmpty ? status.rawValue : "\(status.rawValue) (\(names))"] + traits)
            .joined(separator: ", ")
    }

    /// What the path supports and what it costs, in words.
    package var traits: [String] {
        [
            (supportsIPv4, "IPv4"), (supportsIPv6, "IPv6"), (supportsDNS, "DNS"), (isExpensive, "expensive"),
            (isConstrained, "constrained"),
        ].filter(\.0).map(\.1)
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

    /// The total cost of several interfaces.
    func cost(of interfaces: [NetworkInterface]) -> Cost {
        interfaces.reduce(into: .free) { cost, interface in
            cost.formUnion(self.cost(interface))
            if interface.type == .cellular { cost.insert(.expensive) }
        }
    }
}

// MARK: - Identity

/// The identity of a path's network: the name of its wireless network, and its gateways' hardware addresses.
///
/// ```swift
/// for try await identity in NetworkSource.kernel.updates(of: .identity()) {
///     print(identity == nil ? "an unknown network" : "a network that can be recognised")
/// }
/// ```
///
/// Two networks can have the same IP addresses, but the hardware addresses of their gateways differ. Reading the
/// identity needs neither a network manager nor a privilege. One network can have several identities: after its
/// router was replaced, if its access points are its gateways and the host uses another one, and while the addresses
/// of only some gateways are known.
///
/// The identity locates the user: databases map hardware addresses of access points to locations. Do not send or log
/// it. A plain hash is no protection, because there are few possible values, so this type has none. Store a keyed
/// hash of ``description`` with a secret of your program, such as HMAC with SHA-256.
public struct NetworkIdentity: Hashable, Sendable {
    /// The name of the wireless network, as bytes that need not be UTF-8; `nil` without Wi-Fi.
    public let ssid: [UInt8]?
    /// The hardware addresses of the gateways that packets use, without repetitions, in the order of their bytes.
    public let gateways: [[UInt8]]

    /// Creates an identity; `nil` if nothing is known.
    package init?(ssid: [UInt8]?, gateways: [[UInt8]]) {
        guard ssid != nil || !gateways.isEmpty else { return nil }
        self.ssid = ssid
        self.gateways = Set(gateways).sorted { $0.lexicographicallyPrecedes($1) }
    }
}

extension NetworkIdentity: CustomStringConvertible {
    /// A text that stays the same in all versions of this package, such as `ssid=686f6d65
    /// gateways=02:00:00:00:00:01`.
    ///
    /// Each byte is two lower-case hexadecimal digits, without separators in the name and with colons in an address.
    /// Commas separate addresses. An unknown part is omitted together with its key.
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
    /// Finds the identity of a path's network; `nil` if nothing is known.
    init?(of path: NetworkPath, _ known: inout Known) throws(Interruption) {
        guard let neighbours = try known.host.hardwareAddresses.get() else { return nil }
        var ssid: [UInt8]?
        for interface in path.usedInterfaces where interface.type == .wifi && ssid == nil {
            ssid = try known.unnotified.ssids.get(interface.index)
        }
        self.init(ssid: ssid, gateways: path.usedGateways.compactMap { neighbours[$0] })
    }
}
