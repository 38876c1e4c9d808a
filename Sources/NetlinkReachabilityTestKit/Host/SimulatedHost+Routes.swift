// SPDX-License-Identifier: Apache-2.0

public import NetlinkReachability
internal import RoutingModel
internal import RoutingSimulation

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
    ///   - interface: The interface's name; `nil` to find it by the gateway.
    ///   - type: The type; routes that drop or reject packets need no interface.
    ///   - metric: The metric, of which the lower is preferred; `nil` for the kernel's: 0 for IPv4, 1024 for IPv6.
    ///   - table: The routing table.
    ///   - isOnLink: Whether the gateway is taken to be on the link without an address of its subnet.
    ///   - lifetime: The lifetime, for IPv6; `nil` for a permanent route.
    /// - Throws: ``SimulationError`` when the route is invalid or one with this destination and metric exists, the
    ///   interface does not exist or is down, or the gateway is not on its link.
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
        let gatewayAddress = try gateway.map(Parsing.address)
        let destination = try Parsing.destination(text, gatewayAddress?.family ?? .v4)
        var route = Route(
            destination: destination,
            type: type,
            table: table,
            scope: destination.family == .v4 && type == .unicast && gateway == nil ? .link : .universe,
            priority: metric ?? (destination.family == .v4 ? 0 : 1_024)
        )
        if !type.isRejecting {
            let index = try outgoing(interface, gatewayAddress, text, isOnLink, table)
            route.nexthops = [state.nexthop(index, via: gatewayAddress, isOnLink: isOnLink)]
        }
        try addRoute(route, lifetime: lifetime)
    }

    /// Adds a route with several nexthops, a source or another rare field.
    ///
    /// ```swift
    /// let nexthops = try ["eth0", "eth1"].map { Nexthop(interfaceIndex: try host.link(named: $0)!.index) }
    /// try host.addRoute(Route(destination: .allV4, nexthops: nexthops))
    /// ```
    ///
    /// The state flags of its nexthops are set as the kernel sets them. Nexthop objects are out of scope: use nexthops.
    ///
    /// - Parameters:
    ///   - route: The route; the indexes are those of ``links``.
    ///   - lifetime: The lifetime, for IPv6; `nil` for a permanent route.
    /// - Throws: ``SimulationError`` when one with this destination and metric exists in the table, or an interface
    ///   does not exist or is down.
    public mutating func addRoute(_ route: Route, lifetime: Duration? = nil) throws(SimulationError) {
        try checkIsChangeable()
        var route = route
        for place in route.nexthops.indices {
            let nexthop = route.nexthops[place]
            try checkIsUp(nexthop.interfaceIndex)
            route.nexthops[place].flags =
                state.nexthop(
                    nexthop.interfaceIndex,
                    isOnLink: nexthop.flags.contains(.onLink)
                ).flags
        }
        guard state.rivals(of: route).isEmpty else {
            throw SimulationError(
                .routeExists,
                "a route to \(route.destination) with the metric \(route.priority) exists in table "
                    + "\(route.table): remove it first, or use another metric"
            )
        }
        guard let lifetime else { return state.insert(route) }
        route.expires = try ticks(lifetime, route)
        state.insert(route)
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
    ///   - gateway: Its gateway; `nil` for any.
    ///   - interface: Its interface; `nil` for any.
    ///   - metric: Its metric; `nil` for the first match.
    ///   - table: Its routing table.
    /// - Throws: ``SimulationError`` when no route matches.
    public mutating func removeRoute(
        _ text: String,
        via gateway: String? = nil,
        through interface: String? = nil,
        metric: UInt32? = nil,
        table: UInt32 = Route.mainTable
    ) throws(SimulationError) {
        try checkIsChangeable()
        let gatewayAddress = try gateway.map(Parsing.address)
        let destination = try Parsing.destination(text, gatewayAddress?.family ?? .v4)
        let index = try interface.map(self.index(of:))
        let route = routes.first { route in
            route.destination == destination && route.table == table
                && (metric.map { $0 == route.priority } ?? true)
                && (gatewayAddress == nil || route.nexthops.contains { $0.gateway == gatewayAddress })
                && (index == nil || route.nexthops.contains { $0.interfaceIndex == index })
        }
        guard let route else {
            throw SimulationError(
                .unknownRoute,
                "table \(table) has no such route to \(destination): `routes` lists the existing ones"
            )
        }
        state.remove(route)
    }

    // MARK: Checks

    /// A lifetime as the kernel counts it.
    private func ticks(_ lifetime: Duration, _ route: Route) throws(SimulationError) -> Int32 {
        guard route.destination.family == .v6 else {
            throw SimulationError(
                .invalidLifetime,
                "IPv4 routes have no lifetime: remove the route at that time"
            )
        }
        let ticks = lifetime / .milliseconds(10)
        guard ticks >= 1, ticks <= 1_000_000_000 else {
            throw SimulationError(
                .invalidLifetime, "the lifetime \(lifetime) is out of range: pass 10 ms to 115 days")
        }
        return Int32(ticks)
    }

    /// The interface of a route: the named one, or the one with the gateway on its link.
    private func outgoing(
        _ interface: String?,
        _ gateway: IPAddress?,
        _ text: String,
        _ isOnLink: Bool,
        _ table: UInt32
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
                "the route to \(text) has neither a gateway nor an interface: pass `via` or `through`"
            )
        }
        if let index, isOnLink { return index }
        if let found = try? state.interface(toGateway: gateway, through: index, table: table) { return found }
        throw SimulationError(
            .unreachableGateway,
            "no interface has the gateway \(gateway) on its link: add an address of its subnet first, or pass "
                + "the interface and isOnLink: true"
        )
    }

    private func checkIsUp(_ index: UInt32) throws(SimulationError) {
        guard let interface = state.interfaces[index] else {
            throw SimulationError(
                .unknownInterface,
                "no interface has the index \(index): use an index of `link(named:)`"
            )
        }
        guard interface.isUp else {
            let name = routing.snapshot.links[index]?.name ?? "interface \(index)"
            throw SimulationError(
                .interfaceIsDown, "\"\(name)\" is down and cannot have a route: set it up first")
        }
    }
}

// MARK: - Lifetimes

extension SimulatedHost {
    /// A route with a lifetime.
    struct Expiry: Sendable {
        var due: ManualClock.Instant
        var route: Route
    }

    /// Removes the expired routes and notifies.
    mutating func expireRoutes() {
        for expiry in expiries where expiry.due <= now { state.remove(expiry.route) }
        expiries.removeAll { $0.due <= now }
    }
}
