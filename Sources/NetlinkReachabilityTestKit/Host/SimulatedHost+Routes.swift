// SPDX-License-Identifier: Apache-2.0

internal import NetlinkRecording
internal import RoutingModel

extension SimulatedHost {
    /// Adds a route: `ip route add default via 192.0.2.1`.
    ///
    /// ```swift
    /// try host.addRoute(.default(via: "192.0.2.1"))
    /// try host.addRoute(.default(via: "fe80::1", through: "eth0", lifetime: .seconds(1800)))
    /// try host.addRoute(SimulatedRoute(to: "10.0.0.0/8", through: "wg0", metric: 50))
    /// ```
    ///
    /// - Parameter route: The route.
    /// - Throws: ``SimulationError`` when the kernel would refuse the route: a route with this destination and metric
    ///   exists, the interface does not exist or is down, or the gateway is not on its link.
    public mutating func addRoute(_ route: SimulatedRoute) throws(SimulationError) {
        let isRejecting = route.kind != .unicast
        try require(
            isRejecting || !route.nexthops.isEmpty, .unreachableGateway,
            "the route to \(route.destination) has neither a gateway nor an interface: pass `via` or `through`"
        )
        for nexthop in route.nexthops where !(1...256).contains(nexthop.weight) {
            throw SimulationError(.refused, "the weight \(nexthop.weight) is out of range: pass 1 to 256")
        }
        let lifetime = try route.lifetime.map { (lifetime) throws(SimulationError) in
            try ticks(lifetime, route)
        }
        let known = Set(routing.snapshot.routes(to: route.destination, table: route.table))
        try make(.route(.add, route.request(lifetime: lifetime)))
        guard let lifetime = route.lifetime else { return }
        let added = routing.snapshot.routes(to: route.destination, table: route.table)
        for route in added where !known.contains(route) {
            expiries.append(Expiry(due: now.advanced(by: lifetime), route: route))
        }
    }

    /// Removes a route: `ip route del default`.
    ///
    /// ```swift
    /// try host.removeRoute(.default(via: "192.0.2.1"))
    /// try host.removeRoute(SimulatedRoute(to: .allV6))
    /// ```
    ///
    /// - Parameter route: The route. Omitted properties, such as the gateway or the metric, are not compared, and the
    ///   lifetime never is. The first match is removed.
    /// - Throws: ``SimulationError`` when no route matches.
    public mutating func removeRoute(_ route: SimulatedRoute) throws(SimulationError) {
        try make(.route(.delete, route.request(lifetime: nil)))
    }

    /// A lifetime as the kernel counts it.
    private func ticks(_ lifetime: Duration, _ route: SimulatedRoute) throws(SimulationError) -> Int32 {
        try require(
            route.destination.family == .v6, .invalidLifetime,
            "IPv4 routes have no lifetime: remove the route at that time")
        let ticks = lifetime / .milliseconds(10)
        try require(
            ticks >= 1 && ticks <= 1_000_000_000, .invalidLifetime,
            "the lifetime \(lifetime) is out of range: pass 10 ms to 115 days")
        return Int32(ticks)
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
