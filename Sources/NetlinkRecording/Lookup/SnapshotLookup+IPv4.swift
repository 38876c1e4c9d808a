// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// IPv4: `ip_route_output_key_hash_rcu` and `fib_table_lookup` in the kernel.

extension SnapshotLookup {
    mutating func answerIPv4() throws(ReachabilityError) -> RouteAnswer {
        if let answer = try answerWithoutTable() { return answer }
        switch try findIPv4() ?? .rejected(.noRoute) {
        case .hit(let hit): return try finished(hit)
        case .rejected(let rejection): return .rejected(failure(rejection))
        }
    }

    /// The answer that needs no routing table; `nil` for most queries.
    private mutating func answerWithoutTable() throws(ReachabilityError) -> RouteAnswer? {
        let destination = query.destination
        if let source = query.source, !source.isUnspecified {
            if source.isIPv4Group { return .rejected(.blackhole) }
            guard try isOwnIPv4(source) else { return .rejected(.noRoute) }
            // The source's interface sends the packet, and there is no entry.
            if query.outputInterface == 0, destination.isIPv4Group { return .rejected(.unreachable) }
        }
        if query.outputInterface != 0 {
            guard let link = snapshot.links[query.outputInterface] else {
                throw ReachabilityError.noInterface(query.outputInterface, "ask for a route")
            }
            guard link.flags.contains(.up) else { return .rejected(.noRoute) }
            // Packets to these addresses leave through the interface without a lookup.
            if destination.isLinkMulticastIPv4 || destination.isLimitedBroadcast {
                return .rejected(rejectionWithoutEntry)
            }
        }
        return destination.isUnspecified ? .rejected(.unreachable) : nil
    }

    /// Whether an address is an address of this host: `__ip_dev_find`.
    private mutating func isOwnIPv4(_ source: IPAddress) throws(ReachabilityError) -> Bool {
        if snapshot.addressBook.contains(source.withoutZone) { return true }
        return try localRoute(to: source) != nil
    }

    /// The interface with an address of this host, as `__ip_dev_find` finds it; `nil` if there is none.
    ///
    /// It is the interface that got the address last, even if it is down. An address that no interface has can match
    /// a local route.
    mutating func interface(ofSource source: IPAddress) throws(ReachabilityError) -> UInt32? {
        let owners = snapshot.addressBook.latestOwners(of: source.withoutZone)
        guard owners.count < 2 else {
            throw Self.undecided(
                "several interfaces have \(source), and the tables do not say which got it last")
        }
        if let owner = owners.first { return owner }
        return try localRoute(to: source)?.nexthop?.interfaceIndex
    }

    private mutating func localRoute(to source: IPAddress) throws(ReachabilityError) -> Hit? {
        var lookup = SnapshotLookup(snapshot, RouteQuery(destination: source))
        let isShared = snapshot.program.hasPlainIPv4 && assumed == .sharedTree
        let finding = try lookup.findIPv4(in: [Route.localTable] + (isShared ? [Route.mainTable] : []))
        if snapshot.program.hasPlainIPv4 { lookup.consultSharedTree(finding) }
        consulted.formUnion(lookup.consulted)
        guard case .hit(let hit) = finding, hit.route.type == .local else { return nil }
        return hit
    }

    /// The rejection if no route is found.
    ///
    /// For a bound query, the kernel then treats the destination as on the link, and there is no entry. In a VRF it
    /// does not.
    private func failure(_ rejection: RouteRejection) -> RouteRejection {
        let isOnLink = outputInterface != 0 && (query.destination.isMulticastIPv4 || vrf == nil)
        return isOnLink ? rejectionWithoutEntry : rejection
    }

    /// The rejection of a bound query that the kernel answers without a route.
    private var rejectionWithoutEntry: RouteRejection {
        keeps(query.source, out: outputInterface) && !isRefusedDestination ? .unreachable : .blackhole
    }

    /// Whether the kernel refuses the destination with EINVAL although it has a route: until Linux 5.2, all of
    /// 0.0.0.0/8 (`__mkroute_output`).
    private var isRefusedDestination: Bool {
        snapshot.isKernel(before: 5, 3) && query.destination.low >> 24 == 0
    }

    /// The source that the kernel selects for a route, if it can be a loopback address; `nil` otherwise.
    ///
    /// A route of scope `host` through an interface without an address has the source 127.0.0.1. A nexthop object
    /// selects its source for another scope when it is added.
    private func source(of route: Route, through nexthop: Nexthop) -> IPAddress? {
        if let source = route.preferredSource { return source }
        guard route.scope.rawValue >= RouteScope.host.rawValue, route.nexthopID == 0 else { return nil }
        return snapshot.ipv4Source(
            near: nexthop.gateway, scope: route.scope, through: nexthop.interfaceIndex)
    }

    /// Whether a packet with this source may leave through an interface: a loopback source may not, unless the
    /// interface or all have `route_localnet`.
    private func keeps(_ source: IPAddress?, out index: UInt32) -> Bool {
        guard let source, source.isLoopback, let link = snapshot.links[index] else {
            return true
        }
        return link.flags.contains(.loopback) || link.vrfTable != nil
            || snapshot.inputSettings(ofInterface: index)?.routesLoopback == true
    }

    /// Whether the packet's source may leave through the nexthop that the kernel chooses.
    private mutating func keepsSource(_ route: Route, through first: Nexthop) -> Bool {
        func isKept(_ nexthop: Nexthop) -> Bool {
            keeps(query.source ?? source(of: route, through: nexthop), out: nexthop.interfaceIndex)
        }
        let isKeptByFirst = isKept(first)
        guard route.nexthops.count > 1, outputInterface == 0 else { return isKeptByFirst }
        // `fib_rebalance` does not run when ignore_routes_with_linkdown changes: one without a carrier can be chosen,
        // which a dump shows as dead.
        let isOpen = route.nexthops.contains {
            isKept($0) != isKeptByFirst
                && (!$0.flags.contains(.dead)
                    || snapshot.links[$0.interfaceIndex]?.flags.contains(.up) == true)
        }
        return isOpen && ask(.nexthopForSource) ? !isKeptByFirst : isKeptByFirst
    }

    private mutating func finished(_ hit: Hit) throws(ReachabilityError) -> RouteAnswer {
        var route = hit.route
        if isRefusedDestination { return .rejected(.blackhole) }
        if route.type != .local, let nexthop = hit.nexthop, !keepsSource(route, through: nexthop) {
            return .rejected(.blackhole)
        }
        // `__mkroute_output`: these destinations decide the type, not the entry.
        if query.destination.isLimitedBroadcast {
            route.type = .broadcast
        } else if query.destination.isMulticastIPv4 {
            route.type = .multicast
        }
        return .route(route)
    }

    // MARK: Tables

    mutating func findIPv4() throws(ReachabilityError) -> Finding? {
        guard snapshot.program.hasPlainIPv4 else { return try walkRules() }
        if assumed == .sharedTree {
            if let finding = try findIPv4(in: [Route.localTable, Route.mainTable]) { return finding }
            return try find(inTable: Route.defaultTable)
        }
        if let finding = try find(inTable: Route.localTable) {
            consultSharedTree(finding)
            return finding
        }
        // A throw route of the local table ends the search of a shared tree.
        if snapshot.routeTables[Route.localTable, .v4]?.longestMatch(query.destination) != nil {
            consulted.insert(.sharedTree)
        }
        return try find(inTables: [Route.mainTable, Route.defaultTable])
    }

    /// If the two tables share a tree, a longer prefix in the main table comes first.
    private mutating func consultSharedTree(_ finding: Finding?) {
        func longest(_ table: UInt32) -> Int {
            snapshot.routeTables[table, .v4]?.longestMatch(query.destination)?.length ?? -1
        }
        var length = longest(Route.localTable)
        if case .hit(let hit)? = finding { length = hit.route.destination.length }
        if longest(Route.mainTable) > length { consulted.insert(.sharedTree) }
    }

    /// Searches from the longest prefix to the shortest.
    ///
    /// If tables share a tree, the first table comes first.
    mutating func findIPv4(in numbers: [UInt32]) throws(ReachabilityError) -> Finding? {
        var missed: IPAddress?
        for chain in snapshot.chains(over: query.destination, inTables: numbers) {
            let leaf = chain[0].destination.address
            guard missed != leaf else { continue }
            switch try chooseIPv4(chain) {
            case .chosen(let finding): return finding
            case .missed: missed = leaf
            case .none: continue
            }
        }
        return nil
    }

    private enum Choice {
        case chosen(Finding?)
        case none
        /// A nexthop object has no usable nexthop. The kernel then skips all entries with the same address, even
        /// those with a shorter prefix.
        case missed
    }

    private mutating func chooseIPv4(_ chain: [Route]) throws(ReachabilityError) -> Choice {
        for (index, route) in chain.enumerated() where isForTypeOfService(route) {
            if let rejection = route.type.rejection { return .chosen(.rejected(rejection)) }
            if route.type == .throw { return .chosen(nil) }
            let nexthops = try nexthops(of: route)
            if route.nexthopID != 0, nexthops.isEmpty { return .chosen(.rejected(.blackhole)) }
            var route = route
            route.nexthops = nexthops
            guard let nexthop = nexthops.first(where: { isUsable($0, of: route) }) else {
                if route.nexthopID != 0 { return .missed }
                continue
            }
            let isDefault = route.destination.length == 0 && route.type == .unicast
            if isDefault, choosesDefault, outputInterface == 0, nexthops.count == 1 {
                return .chosen(.hit(try chosenDefault(Hit(route: route, nexthop: nexthop), index, chain)))
            }
            return .chosen(.hit(Hit(route: route, nexthop: nexthop)))
        }
        return .none
    }

    /// `fib_lookup_good_nhc`, and the same part of `find_match`.
    mutating func isUsable(_ nexthop: Nexthop, of route: Route) -> Bool {
        let family = query.destination.family
        if gatewaySearch?.needsCarrier == false, nexthop.flags.contains(.linkDown) {
            return snapshot.links[nexthop.interfaceIndex]?.flags.contains(.up) == true
        }
        if nexthop.flags.contains(.dead) { return false }
        if nexthop.flags.contains(.linkDown), isCarrierUnknown(nexthop, family), ask(.carrier) {
            return false
        }
        return family == .v6 || outputInterface == 0 || nexthop.interfaceIndex == outputInterface
            || isFoundOutsideVRF(route)
    }

    /// Whether an IPv4 route has no type of service, or that of the packet.
    func isForTypeOfService(_ route: Route) -> Bool {
        route.tos == 0 || route.tos == query.comparedTypeOfService
    }

    /// Whether a query that is bound to a port of a VRF finds the entry through any interface: until Linux 5.2, local
    /// and broadcast addresses.
    private func isFoundOutsideVRF(_ route: Route) -> Bool {
        guard vrf != nil, snapshot.isKernel(before: 5, 3) else { return false }
        return route.type == .local || route.type == .broadcast
    }

    private func isCarrierUnknown(_ nexthop: Nexthop, _ family: IPAddress.Family) -> Bool {
        let own = snapshot.links[nexthop.interfaceIndex]?.settings.ignoresLinkdown(family)
        let all = snapshot.settings.ignoresLinkdown(family)
        return switch family {
        case .v4: (snapshot.hasGlobalLinkdownSetting ? all : own) == nil
        case .v6: all == nil && own == nil
        }
    }

    /// The nexthops of a route, or those of its nexthop object if the route names only the object.
    func nexthops(of route: Route) throws(ReachabilityError) -> [Nexthop] {
        if !route.nexthops.isEmpty { return route.nexthops }
        guard route.nexthopID != 0 else {
            throw Self.undecided("the route to \(route.destination) was recorded without a nexthop")
        }
        guard let nexthops = snapshot.nexthops(ofObject: route.nexthopID) else {
            throw Self.undecided("nexthop \(route.nexthopID) was not recorded")
        }
        return nexthops
    }
}

extension IPAddress {
    var isMulticastIPv4: Bool { family == .v4 && low >> 28 == 0xe }
    var isLinkMulticastIPv4: Bool { family == .v4 && low >> 8 == 0xe0_0000 }
    var isLimitedBroadcast: Bool { family == .v4 && low == 0xffff_ffff }
}

// MARK: - Neighbours

// Lookups that depend on neighbours: several IPv4 default routes with the same metric, and IPv6 gateways.

extension SnapshotLookup {
    /// Chooses among IPv4 default routes with the same metric: `fib_select_default`.
    ///
    /// The choice depends on the state of the gateways, and on the route that was used last, which no dump contains.
    /// `first` is the table's answer regardless of neighbours, at `index` in the chain of all its default routes.
    mutating func chosenDefault(_ first: Hit, _ index: Int, _ chain: [Route]) throws(ReachabilityError) -> Hit
    {
        // The search starts only at a route that has a gateway.
        guard first.nexthop?.gateway != nil else { return first }
        var rivals: [Route] = []
        var last = (tos: UInt8(0), priority: first.route.priority)
        for (place, route) in chain.enumerated() where isForTypeOfService(route) {
            if route.priority > last.priority, route.tos == last.tos {
                if last.tos == 0 { break }
                continue
            }
            let nexthops = route.type == .unicast ? try nexthops(of: route) : []
            last = (route.tos, route.priority)
            guard route.scope == first.route.scope, nexthops.first?.gateway != nil else { continue }
            // The search ends at an earlier route that was skipped because of `ignore_routes_with_linkdown`.
            if rivals.isEmpty, place != index { return first }
            var rival = route
            rival.nexthops = nexthops
            rivals.append(rival)
        }
        guard rivals.count > 1 else { return first }
        let outcomes = snapshot.neighbours == nil ? rivals : survivors(rivals)
        let chosen = outcomes[0]
        let other = outcomes.first { !$0.isEquivalent(to: chosen) } ?? outcomes.first { $0 != chosen }
        if let other, ask(snapshot.neighbours == nil ? .neighbours : .turn) {
            return Hit(route: other, nexthop: other.nexthops.first)
        }
        return Hit(route: chosen, nexthop: chosen.nexthops.first)
    }

    /// The routes that can be chosen: first the choice if no route was used before, then the choice after each route.
    private func survivors(_ rivals: [Route]) -> [Route] {
        let states = rivals.map { route -> NeighbourState? in
            // A neighbour without a state is unknown to the kernel.
            guard let key = route.nexthops.first?.neighbour, let state = snapshot.neighbours?[key]?.state,
                state != .reachable
            else { return nil }
            return state
        }
        var found: [Int] = []
        var seen: Set<Int> = []
        for last in -1..<rivals.count {
            let index = Self.survivor(states, last: last)
            if seen.insert(index).inserted { found.append(index) }
        }
        return found.map { rivals[$0] }
    }

    /// The index of the route that is chosen after the route at index `last`, -1 for none.
    ///
    /// A state of `nil` means a neighbour that is assumed to answer.
    private static func survivor(_ states: [NeighbourState?], last: Int) -> Int {
        var resort: Int?
        for (order, state) in states.enumerated() {
            guard let state else { return order }
            let isValid = !state.isDisjoint(with: .valid)
            if isValid, order != last { return order }
            if isValid || (resort == nil && order > last && state != .incomplete) { resort = order }
        }
        return resort ?? 0
    }
}
