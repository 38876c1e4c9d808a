// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// IPv6: `ip6_route_output_flags`, `fib6_table_lookup` and `rt6_select` in the kernel.

extension SnapshotLookup {
    mutating func answerIPv6() throws(ReachabilityError) -> RouteAnswer {
        let finding: Finding?
        // `ip6_pol_route_input`: of equal routes, the one through the incoming interface comes first.
        if query.inputInterface != 0 { outputInterface = query.inputInterface }
        if query.destination.isLinkScoped, let vrf = snapshot.vrf(ofInterface: query.outputInterface) {
            // A VRF itself has no link. A port of a VRF uses the VRF's table regardless of the rules.
            guard vrf.index != query.outputInterface else { return .rejected(.noRoute) }
            finding = try find(inTable: vrf.vrfTable ?? 0)
        } else if snapshot.program.lacksIPv6Rules, !ask(.rules6) {
            // `fib6_rule_lookup` if no rule was ever added: it skips the rules and looks in both tables, even if one
            // of the initial rules was removed.
            finding = try find(inTables: [Route.localTable, Route.mainTable])
        } else {
            finding = try walkRules()
        }
        switch finding ?? .rejected(.noRoute) {
        case .hit(let hit): return .route(hit.route)
        case .rejected(let rejection): return .rejected(rejection)
        }
    }

    /// Whether a nexthop must use the interface of the query.
    ///
    /// With a source address, a query only prefers that interface, unless it is the query of a bound socket.
    private var isStrict: Bool {
        if let gatewaySearch { return gatewaySearch.isStrict }
        return query.destination.isLinkScoped || query.destination.isLoopback
            || (query.inputInterface == 0 && outputInterface != 0
                && (query.isStrict || query.source?.isUnspecified ?? true))
    }

    mutating func findIPv6(inTable number: UInt32) throws(ReachabilityError) -> Finding? {
        let nodes = nodes(inTable: number)
        guard let neighbours = snapshot.neighbours else { return try findWithoutNeighbours(nodes) }
        avoided = Set(neighbours.lazy.filter { $0.value.state.contains(.failed) }.map(\.key))
        if let hit = try select(nodes) { return finding(hit) }
        // If no other gateway is left, a gateway that does not answer is used.
        guard !avoided.isEmpty else { return nil }
        avoided = []
        return try finding(select(nodes))
    }

    /// Any gateway might not answer: the nexthop is known only if it is the same for all possible failures.
    private mutating func findWithoutNeighbours(_ nodes: [[Route]]) throws(ReachabilityError) -> Finding? {
        guard let first = try select(nodes) else { return nil }
        guard first.nexthop?.gateway != nil, asksNeighbours() else { return finding(first) }
        defer { avoided = [] }
        var next: Hit? = first
        while let neighbour = next?.nexthop?.neighbour {
            // An avoided gateway that is selected again would be selected in each further round.
            guard avoided.insert(neighbour).inserted else { break }
            next = try select(nodes)
            if let other = next, !other.route.isEquivalent(to: first.route) {
                throw Self.undecided(
                    "the neighbours were not recorded, and another route is taken when "
                        + "\(neighbour.address) does not answer"
                )
            }
        }
        return finding(first)
    }

    private func finding(_ hit: Hit?) -> Finding? {
        guard let hit else { return nil }
        if let rejection = hit.route.type.rejection { return .rejected(rejection) }
        return hit.route.type == .throw ? nil : .hit(hit)
    }

    // MARK: Nodes

    /// The routes that match the destination, node by node in the order of the kernel's walk:
    /// `fib6_node_lookup` and `fib6_backtrack`.
    ///
    /// The walk first descends to the longest prefix. If that prefix has routes for other sources but not for this
    /// one, the kernel also ignores its routes without a source. It does not ignore them while it backtracks, or at
    /// `::/0`.
    ///
    /// If a prefix has only routes for certain sources and there are longer prefixes below it, the result depends on
    /// the order in which routes were added and removed: a node that lost its routes without a source uses a route of
    /// a longer prefix (`fib6_repair_tree`).
    private mutating func nodes(inTable number: UInt32) -> [[Route]] {
        let source = query.source ?? .anyV6
        var nodes: [[Route]] = []
        for routes in snapshot.chains(over: query.destination, inTables: [number]) {
            let prefix = routes[0].destination
            let bySource = Dictionary(grouping: routes.filter { $0.source != nil }, by: \.source)
            let sources = bySource.keys.compactMap { $0 }.filter { $0.contains(source) }
            let plain = routes.filter { $0.source == nil }
            if !bySource.isEmpty, nodes.isEmpty, !prefix.isDefault {
                if sources.isEmpty { continue }
                if plain.isEmpty, snapshot.hasRoutes(below: prefix, table: number), ask(.leaf) { continue }
            }
            // At the root, routes for other sources do not hide later ones.
            for source in sources.sorted(by: { $0.length > $1.length }) {
                nodes.append(bySource[source] ?? [])
            }
            if !plain.isEmpty { nodes.append(plain) }
        }
        return nodes
    }

    // MARK: Selection

    /// Selects from the first node that has a usable route.
    private mutating func select(_ nodes: [[Route]]) throws(ReachabilityError) -> Hit? {
        for routes in nodes {
            if let hit = try select(among: routes) { return hit }
        }
        return nil
    }

    /// `find_rr_leaf`: the best route of the lowest metric.
    ///
    /// If none of these is usable, the best of all others, regardless of their metric.
    private mutating func select(among routes: [Route]) throws(ReachabilityError) -> Hit? {
        guard let metric = routes.first?.priority else { return nil }
        let rest = routes.firstIndex { $0.priority != metric } ?? routes.endIndex
        if let first = try best(of: routes[..<rest]) { return first }
        return try best(of: routes[rest...])
    }

    private mutating func best(of routes: ArraySlice<Route>) throws(ReachabilityError) -> Hit? {
        var best: Hit?
        var bestScore = -1
        for var route in routes where !isOver(route) {
            if route.nexthopID != 0, snapshot.nexthops(ofObject: route.nexthopID)?.isEmpty == true {
                // A blackhole is dumped with the loopback interface, but applies to every interface.
                route.type = .blackhole
                return Hit(route: route)
            }
            if route.type.rejection != nil || route.type == .throw, route.nexthops.isEmpty {
                // Routes that refuse packets are on the loopback interface.
                route.nexthops = [Nexthop(interfaceIndex: 1)]
            }
            route.nexthops = try nexthops(of: route)
            for nexthop in route.nexthops {
                guard let score = try score(nexthop, route), score > bestScore else {
                    continue
                }
                best = Hit(route: route, nexthop: nexthop)
                bestScore = score
            }
        }
        return best
    }

    /// Whether the lifetime of a route is over.
    ///
    /// Router advertisements prolong routes without a notification. A lifetime that ended after its message may
    /// therefore have been prolonged. For a route that an administrator set, the kernel notifies of each change.
    private mutating func isOver(_ route: Route) -> Bool {
        guard let expires = route.expires, expires < 0 else { return false }
        return !(expires != .min && route.mayBeProlonged && ask(.lifetime))
    }

    /// `find_match` and `rt6_score_route`: the score of a nexthop; `nil` if it cannot be used.
    private mutating func score(_ nexthop: Nexthop, _ route: Route) throws(ReachabilityError) -> Int? {
        guard isUsable(nexthop, of: route) else { return nil }
        let isThere = outputInterface == 0 || nexthop.interfaceIndex == outputInterface
        if !isThere, isStrict { return nil }
        if let neighbour = nexthop.neighbour, avoided.contains(neighbour), asksNeighbours() { return nil }
        let preference =
            switch route.preference {
            case .low: 1
            case .medium: 2
            case .high: 3
            }
        return (isThere ? 2 : 0) | preference << 2
    }

    /// A router sends to its gateways whether or not they answer.
    private mutating func asksNeighbours() -> Bool {
        if let forwards = snapshot.settings.ipv6Forwards { return !forwards }
        return !ask(.forwarding)
    }
}

/// The flags with which the kernel looks up the gateway of a new IPv6 route.
struct GatewaySearch {
    /// Whether the nexthop must use the requested interface (RT6_LOOKUP_F_IFACE).
    var isStrict: Bool
    /// Whether to skip routes that are ignored without a carrier.
    var needsCarrier: Bool
}

extension SnapshotLookup {
    /// The entry of a table for the gateway of a new IPv6 route: `fib6_table_lookup`, which ignores neighbours.
    ///
    /// - Throws: An error with the code ``ReachabilityError/Code/undecided`` if the entry depends on a fact that
    ///   the snapshot does not contain.
    static func entry(
        _ snapshot: NetworkSnapshot,
        for gateway: IPAddress,
        _ index: UInt32,
        _ table: UInt32,
        _ search: GatewaySearch
    ) throws(ReachabilityError) -> Hit? {
        var lookup = SnapshotLookup(snapshot, RouteQuery(destination: gateway, outputInterface: index))
        lookup.gatewaySearch = search
        let hit = try lookup.select(lookup.nodes(inTable: table))
        for unknown in Unknown.allCases where lookup.consulted.contains(unknown) {
            lookup.assumed = unknown
            let other = try lookup.select(lookup.nodes(inTable: table))
            guard other?.route == hit?.route else { throw undecided(unknown.reason) }
        }
        return hit
    }
}

extension SnapshotLookup.Hit {
    /// Whether the entry has RTF_REJECT: it refuses packets, or uses the loopback interface and is neither local nor
    /// an anycast route of the kernel (`fib6_is_reject`).
    var isRejecting: Bool {
        route.type.isRejecting || !route.isOwnAddress && nexthop?.interfaceIndex == 1
    }
}

extension NetworkSnapshot {
    /// Whether a table has longer prefixes within this one.
    ///
    /// Searches the whole table. Only the few prefixes that have only routes for certain sources need it.
    fileprivate func hasRoutes(below prefix: IPPrefix, table: UInt32) -> Bool {
        var isFound = false
        routeTables[table, prefix.family]?.forEachEntry { other, _ in
            if other.length > prefix.length, prefix.contains(other) { isFound = true }
        }
        return isFound
    }
}
