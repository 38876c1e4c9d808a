// SPDX-License-Identifier: Apache-2.0

public import NetlinkReachability
internal import RoutingModel

extension SimulatedHost {
    /// Adds a route: `ip route add default via 192.0.2.1`.
    ///
    /// ```swift
    /// try host.addRoute("default", via: "192.0.2.1")
    /// try host.addRoute("default", via: "fe80::1", through: "eth0", lifetime: .seconds(1800))
    /// try host.addRoute("10.0.0.0/8", through: "wg0", metric: 50)
    /// try host.addRoute("203.0.113.0/24", type: .blackhole)
    /// ```
    ///
    /// - Parameters:
    ///   - text: The destination: a prefix, an address, or `default`, which is IPv4 unless the gateway is IPv6.
    ///   - gateway: The gateway; `nil` when the destination is on the link.
    ///   - interface: The interface's name; it can be left out where the gateway tells it.
    ///   - type: What becomes of the packets; those that are dropped or refused need no interface.
    ///   - metric: The lower one of two routes is taken; `nil` for the kernel's: 0 for IPv4, 1024 for IPv6.
    ///   - table: The routing table.
    ///   - isOnLink: Whether the gateway counts as on the link whatever the addresses say.
    ///   - lifetime: How long it lasts, for IPv6; `nil` for ever.
    /// - Throws: ``SimulationError`` when that is no route or there is one with this destination and metric,
    ///   the interface is not there or down, or the gateway is not on its link.
    public mutating func addRoute(
        _ text: String,
        via gateway: String? = nil,
        through interface: String? = nil,
        type: RouteType = .unicast,
        metric: UInt32? = nil,
        table: UInt32 = Route.mainTable,
        isOnLink: Bool = false,
        lifetime: Duration? = nil
    ) throws(SimulationError) {
        var gatewayAddress: IPAddress?
        if let gateway { gatewayAddress = try Parsing.address(gateway) }
        let destination = try Parsing.destination(text, gatewayAddress?.family ?? .v4)
        var route = Route(
            destination: destination,
            type: type,
            table: table,
            scope: destination.family == .v4 && type == .unicast && gateway == nil ? .link : .universe,
            priority: metric ?? (destination.family == .v4 ? 0 : 1_024)
        )
        if !type.needsNoInterface {
            let index = try outgoing(interface, gatewayAddress, text, isOnLink)
            route.nexthops = [leg(index, via: gatewayAddress, isOnLink: isOnLink)]
        }
        try addRoute(route, lifetime: lifetime)
    }

    /// Adds a route that has several legs, a source or another rarity.
    ///
    /// ```swift
    /// let legs = try ["eth0", "eth1"].map { Nexthop(interfaceIndex: try host.link(named: $0)!.index) }
    /// try host.addRoute(Route(destination: .allV4, nexthops: legs))
    /// ```
    ///
    /// The state bits of its legs are set as the kernel does.
    ///
    /// - Parameters:
    ///   - route: The route; the indexes are those of ``links``.
    ///   - lifetime: How long it lasts, for IPv6; `nil` for ever.
    /// - Throws: ``SimulationError`` when there is one with this destination and metric in the table, or an
    ///   interface is not there or down.
    public mutating func addRoute(_ route: Route, lifetime: Duration? = nil) throws(SimulationError) {
        try checkIsChangeable()
        var route = route
        for place in route.nexthops.indices {
            let leg = route.nexthops[place]
            try checkIsUp(leg.interfaceIndex)
            route.nexthops[place].flags =
                self.leg(
                    leg.interfaceIndex,
                    isOnLink: leg.flags.contains(.onLink)
                ).flags
        }
        let rival = routes.first {
            $0.destination == route.destination && $0.table == route.table && $0.priority == route.priority
                && $0.tos == route.tos && $0.source == route.source
        }
        guard rival == nil else {
            throw SimulationError(
                .routeExists,
                "there is a route to \(route.destination) with the metric \(route.priority) in table "
                    + "\(route.table) already: remove it first, or give this one another metric"
            )
        }
        guard let lifetime else { return insert(route) }
        route.expires = try ticks(lifetime, route)
        insert(route)
        expiries.append(Expiry(due: now.advanced(by: lifetime), route: route))
    }

    /// Removes a route: `ip route del default`.
    ///
    /// ```swift
    /// try host.removeRoute("default")
    /// try host.removeRoute("::/0", through: "eth0")
    /// ```
    ///
    /// - Parameters:
    ///   - text: The destination: a prefix, an address, or `default`, which is IPv4 unless the gateway is IPv6.
    ///   - gateway: The gateway that it has; `nil` for any.
    ///   - interface: The interface that it leads through; `nil` for any.
    ///   - metric: Its metric; `nil` for the first that there is.
    ///   - table: Its routing table.
    /// - Throws: ``SimulationError`` when there is no such route.
    public mutating func removeRoute(
        _ text: String,
        via gateway: String? = nil,
        through interface: String? = nil,
        metric: UInt32? = nil,
        table: UInt32 = Route.mainTable
    ) throws(SimulationError) {
        try checkIsChangeable()
        var gatewayAddress: IPAddress?
        if let gateway { gatewayAddress = try Parsing.address(gateway) }
        let destination = try Parsing.destination(text, gatewayAddress?.family ?? .v4)
        var index: UInt32?
        if let interface { index = try self.index(of: interface) }
        let route = routes.first { route in
            route.destination == destination && route.table == table
                && (metric.map { $0 == route.priority } ?? true)
                && (gatewayAddress == nil || route.nexthops.contains { $0.gateway == gatewayAddress })
                && (index == nil || route.nexthops.contains { $0.interfaceIndex == index })
        }
        guard let route else {
            throw SimulationError(
                .unknownRoute,
                "there is no such route to \(destination) in table \(table): `routes` lists those that there are"
            )
        }
        remove(route)
    }

    // MARK: Checks

    /// A lifetime as the kernel counts it.
    private func ticks(_ lifetime: Duration, _ route: Route) throws(SimulationError) -> Int32 {
        guard route.destination.family == .v6 else {
            throw SimulationError(
                .invalidLifetime,
                "IPv4 routes have no lifetime: remove the route when it is over"
            )
        }
        let ticks = lifetime / .milliseconds(10)
        guard ticks >= 1, ticks <= 1_000_000_000 else {
            throw SimulationError(.invalidLifetime, "a lifetime is 10 ms to 115 days, and not \(lifetime)")
        }
        return Int32(ticks)
    }

    /// The interface of a route: the one named, or the one on whose link the gateway is.
    private func outgoing(
        _ interface: String?,
        _ gateway: IPAddress?,
        _ text: String,
        _ isOnLink: Bool
    ) throws(SimulationError) -> UInt32 {
        var index: UInt32?
        if let interface {
            let named = try self.index(of: interface)
            try checkIsUp(named)
            index = named
        }
        guard let gateway else {
            if let index { return index }
            throw SimulationError(
                .unreachableGateway,
                "the route to \(text) has neither a gateway nor an interface: give it `via` or `through`"
            )
        }
        if let index, isOnLink { return index }
        let query = RouteQuery(destination: gateway, outputInterface: index ?? 0)
        if index != nil || !gateway.needsZone,
            case .route(let way)? = try? routing.snapshot.answer(to: query),
            way.type == .unicast, let leg = way.nexthops.first, leg.gateway == nil
        {
            return leg.interfaceIndex
        }
        throw SimulationError(
            .unreachableGateway,
            "the gateway \(gateway) is on no interface's link: add an address of its subnet first, or name "
                + "the interface and say isOnLink: true"
        )
    }

    private func checkIsUp(_ index: UInt32) throws(SimulationError) {
        guard let interface = interfaces[index] else {
            throw SimulationError(
                .unknownInterface,
                "there is no interface of index \(index): take it from `link(named:)`"
            )
        }
        guard interface.isUp else {
            throw SimulationError(
                .interfaceIsDown,
                "\"\(name(of: index))\" is down and can have no route: set it up first"
            )
        }
    }
}

// MARK: - Lifetimes

extension SimulatedHost {
    /// A route that ends by itself.
    struct Expiry: Sendable {
        var due: ManualClock.Instant
        var route: Route
    }

    /// Removes the routes whose time is over, and reports it.
    mutating func expireRoutes() {
        for expiry in expiries where expiry.due <= now { remove(expiry.route) }
        expiries.removeAll { $0.due <= now }
    }
}

extension RouteType {
    fileprivate var needsNoInterface: Bool {
        switch self {
        case .blackhole, .unreachable, .prohibit, .throw: true
        default: false
        }
    }
}
