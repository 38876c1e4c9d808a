// SPDX-License-Identifier: Apache-2.0

public import NetlinkReachability
internal import NetlinkRecording
internal import RoutingModel

/// A route of a simulated host.
///
/// ```swift
/// try host.addRoute(.default(via: "192.0.2.1"))
/// try host.addRoute(SimulatedRoute(to: "10.0.0.0/8", through: "wg0", metric: 50))
/// try host.addRoute(SimulatedRoute(to: "203.0.113.0/24", kind: .blackhole))
/// ```
///
/// The counterpart is a line of `ip route`.
public struct SimulatedRoute: Hashable, Sendable {
    /// What the kernel does with packets that match a route.
    public enum Kind: String, Hashable, Sendable {
        /// Sends the packets.
        case unicast
        /// Drops the packets; a socket gets EINVAL.
        case blackhole
        /// Rejects the packets; a socket gets EHOSTUNREACH.
        case unreachable
        /// Rejects the packets; a socket gets EACCES.
        case prohibit
        /// Continues the lookup with the next policy rule.
        case `throw`
    }

    /// Where a route sends packets to: a gateway, an interface, or both.
    public struct Nexthop: Hashable, Sendable {
        /// The gateway; `nil` when the destination is on the link.
        public var gateway: IPAddress?
        /// The interface's name; `nil` to find it by the gateway.
        public var interface: String?
        /// The share of the packets, among several nexthops: 1 to 256.
        public var weight: Int
        /// Whether the gateway counts as on the link even without an address in its subnet.
        public var isOnLink: Bool

        /// Creates a nexthop.
        public init(
            via gateway: (any SimulatedAddress)? = nil,
            through interface: String? = nil,
            weight: Int = 1,
            isOnLink: Bool = false
        ) {
            self.gateway = gateway?.simulatedAddress
            self.interface = interface
            self.weight = weight
            self.isOnLink = isOnLink
        }
    }

    /// The number of the main table.
    public static let mainTable: UInt32 = 254

    /// The destination.
    public var destination: IPPrefix
    /// What the kernel does with the packets.
    public var kind: Kind
    /// The nexthops: none if the route sends nothing, several for a multipath route.
    public var nexthops: [Nexthop]
    /// The metric, lower being preferred; `nil` for the kernel's default: 0 for IPv4, 1024 for IPv6.
    public var metric: UInt32?
    /// The routing table.
    public var table: UInt32
    /// The source address that packets get; `nil` for the kernel's choice.
    public var source: IPAddress?
    /// The lifetime, for IPv6; `nil` for a permanent route.
    public var lifetime: Duration?

    /// Creates a route with one nexthop, or without a nexthop if neither a gateway nor an interface is given.
    ///
    /// - Parameters:
    ///   - destination: The destination; `.allV4` or `.allV6` for a default route.
    ///   - gateway: The gateway; `nil` when the destination is on the link.
    ///   - interface: The interface's name; `nil` to find it by the gateway.
    ///   - kind: What the kernel does with the packets.
    ///   - metric: The metric, lower being preferred; `nil` for the kernel's default.
    ///   - table: The routing table.
    ///   - isOnLink: Whether the gateway counts as on the link even without an address in its subnet.
    ///   - lifetime: The lifetime, for IPv6; `nil` for a permanent route.
    public init(
        to destination: some SimulatedPrefix,
        via gateway: (any SimulatedAddress)? = nil,
        through interface: String? = nil,
        kind: Kind = .unicast,
        metric: UInt32? = nil,
        table: UInt32 = mainTable,
        isOnLink: Bool = false,
        lifetime: Duration? = nil
    ) {
        self.destination = destination.simulatedPrefix
        self.kind = kind
        let nexthop = Nexthop(via: gateway, through: interface, isOnLink: isOnLink)
        nexthops = gateway == nil && interface == nil ? [] : [nexthop]
        self.metric = metric
        self.table = table
        self.lifetime = lifetime
    }

    /// Returns a default route of the gateway's family.
    ///
    /// - Parameters:
    ///   - gateway: The gateway.
    ///   - interface: The interface's name; `nil` to find it by the gateway.
    ///   - metric: The metric; `nil` for the kernel's default.
    ///   - lifetime: The lifetime, for IPv6; `nil` for a permanent route.
    /// - Returns: The route.
    public static func `default`(
        via gateway: some SimulatedAddress,
        through interface: String? = nil,
        metric: UInt32? = nil,
        lifetime: Duration? = nil
    ) -> SimulatedRoute {
        SimulatedRoute(
            to: gateway.simulatedAddress.family == .v4 ? IPPrefix.allV4 : .allV6, via: gateway,
            through: interface, metric: metric,
            lifetime: lifetime)
    }
}

extension SimulatedRoute: CustomStringConvertible {
    /// The route in the words of `ip route`.
    public var description: String {
        var words = kind == .unicast ? [] : [kind.rawValue]
        words.append(destination.isDefault ? "default" : "\(destination)")
        for nexthop in nexthops {
            if nexthops.count > 1 { words.append("nexthop") }
            words += RoutingModel.Nexthop.words(via: nexthop.gateway, "dev", nexthop.interface)
            if nexthops.count > 1 { words.append("weight \(nexthop.weight)") }
            if nexthop.isOnLink { words.append("onlink") }
        }
        if table != Self.mainTable { words.append("table \(table)") }
        if let source { words.append("src \(source)") }
        if let metric { words.append("metric \(metric)") }
        return words.joined(separator: " ")
    }
}

// MARK: - The kernel's route

extension SimulatedRoute {
    /// The change that adds or removes the route.
    func request(lifetime: Int32?) -> HostChange.RouteRequest {
        var request = HostChange.RouteRequest(destination: destination)
        request.type = kind == .unicast ? nil : HostChange.routeTypes[kind.rawValue]
        (request.table, request.metric, request.preferredSource) = (table, metric, source)
        request.isMultipath = nexthops.count > 1
        request.lifetime = lifetime
        request.nexthops = nexthops.map { nexthop in
            var wanted = HostChange.RouteRequest.Nexthop()
            (wanted.gateway, wanted.device) = (nexthop.gateway, nexthop.interface)
            (wanted.weight, wanted.isOnLink) = (UInt16(clamping: nexthop.weight), nexthop.isOnLink)
            return wanted
        }
        return request
    }

    /// Converts a route of the kernel; `nil` for a route that no test can add, such as one of the local table.
    init?(_ route: Route, names: [UInt32: String]) {
        guard let kind = Kind(rawValue: "\(route.type)"), route.table != Route.localTable else { return nil }
        self.init(to: route.destination, kind: kind, metric: route.priority, table: route.table)
        source = route.preferredSource
        lifetime = route.expires.map { .milliseconds(Int64($0) * 10) }
        guard kind == .unicast else { return }
        nexthops = route.nexthops.map { nexthop in
            Nexthop(
                via: nexthop.gateway, through: names[nexthop.interfaceIndex], weight: Int(nexthop.weight),
                isOnLink: nexthop.flags.contains(.onLink))
        }
    }
}
