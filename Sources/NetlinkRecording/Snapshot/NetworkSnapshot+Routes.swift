// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

// The position of a route among those with its prefix: `fib_table_insert` and `fib6_add_rt2node` in the kernel.

extension NetworkSnapshot {
    /// The routes of a prefix and table, in the kernel's order.
    package func routes(to prefix: IPPrefix, table: UInt32) -> [Route] {
        routes(prefix, routeTables.entries(prefix, table: table))
    }

    /// The route with the same identity as another one; `nil` if there is none.
    package func route(like other: Route) -> Route? {
        let entries = routeTables.entries(other.destination, table: other.table)
        let found = pool.candidates(like: other).first(in: entries[...]) { pool[$0].isSame(as: other) }
        return found.flatMap { routes(other.destination, [entries[$0]]).first }
    }

    mutating func insert(_ route: Route, _ placement: RoutePlacement) {
        // An entry of the kernel's route cache is not a route.
        guard !route.isCloned, !insertFirst(route) else { return }
        let attributes = pool.retain(route)
        let entry = RouteEntry(attributes: attributes, expiry: RouteEntry.expiry(route.expires, clock))
        var chain = routeTables.removeChain(route.destination, table: route.table)
        switch place(of: route, attributes, placement, in: chain) {
        case .instead(let index):
            pool.release(chain[index].attributes)
            chain[index] = entry
        case .before(let index): chain.insert(entry, at: index)
        }
        store(chain, route.destination, table: route.table)
    }

    /// Adds the only route of a prefix.
    ///
    /// Most routes of a dump are of this kind.
    private mutating func insertFirst(_ route: Route) -> Bool {
        guard route.expires == nil else { return false }
        let attributes = pool.retain(route)
        let isFirst = routeTables.addFirst(
            attributes: attributes, route.destination, table: route.table)
        if !isFirst { pool.release(attributes) }
        return isFirst
    }

    mutating func remove(_ route: Route) {
        let entries = routeTables.entries(route.destination, table: route.table)
        guard !entries.isEmpty else { return }
        let loss = route.destination.family == .v4 ? lossOfIPv4(route, entries) : lossOfIPv6(route, entries)
        guard let loss else { return }
        var chain = routeTables.removeChain(route.destination, table: route.table)
        let old = chain[loss.index]
        if let rest = loss.rest {
            chain[loss.index].attributes = pool.retain(rest)
        } else {
            chain.remove(at: loss.index)
        }
        pool.release(old.attributes)
        store(chain, route.destination, table: route.table)
    }

    // MARK: Storage

    /// Creates the first IPv4 table that never had a route, and returns its number.
    mutating func makeEmptyTable() -> UInt32 {
        let number = (1...UInt32.max).first { routeTables.index(ofTable: $0, .v4) == nil } ?? 0
        routeTables.make(number, .v4)
        updateProgram()
        return number
    }

    /// Stores the entries of a prefix and table, in the kernel's order.
    mutating func store(_ chain: [RouteEntry], _ prefix: IPPrefix, table: UInt32) {
        let tableCount = routeTables.tables.count
        routeTables.set(chain, prefix, table: table)
        if routeTables.tables.count != tableCount { updateProgram() }
    }

    // MARK: Insertion

    /// The position of an entry.
    private enum Place {
        case instead(Int)
        case before(Int)
    }

    private func place(
        of route: Route,
        _ attributes: UInt32,
        _ placement: RoutePlacement,
        in chain: [RouteEntry]
    ) -> Place {
        let peers = peers(of: route, in: chain)
        guard route.destination.family == .v4 else {
            return placeOfIPv6(route, attributes, placement, peers)
        }
        if let same = same(as: route, attributes, in: peers, where: { $0.isSame(as: route) }) {
            // The same route, perhaps in another state.
            return .instead(same)
        }
        switch placement {
        case .replacing where !peers.isEmpty:
            // When a nexthop object changes, the kernel sends its routes again: the message means the routes of that
            // object.
            let id = route.nexthopID
            let sharer = id == 0 ? nil : peers.firstIndex { pool[$0.attributes].nexthopID == id }
            return .instead(sharer ?? peers.startIndex)
        case .first: return .before(peers.startIndex)
        default: return .before(peers.endIndex)
        }
    }

    private func placeOfIPv6(
        _ route: Route,
        _ attributes: UInt32,
        _ placement: RoutePlacement,
        _ peers: ArraySlice<RouteEntry>
    ) -> Place {
        func first(where isMatch: (Bool) -> Bool) -> Int? {
            peers.firstIndex {
                pool.source($0.attributes) == route.source && isMatch(pool.balances($0.attributes))
            }
        }
        let balances = route.balances
        if placement == .replacing,
            let old = first(where: { $0 == balances }) ?? first(where: { _ in true })
        {
            return .instead(old)
        }
        if balances, let group = first(where: { $0 }) {
            // A message contains the whole group with all its nexthops, whichever nexthop changed.
            return .instead(group)
        }
        // The candidates have the same source, metric and nexthops.
        let same = same(as: route, attributes, in: peers) { $0.sharesPath(with: route) }
        return same.map { .instead($0) } ?? .before(peers.endIndex)
    }

    /// The routes with the same order key; an empty slice at the position of such a route if there is none.
    private func peers(of route: Route, in chain: [RouteEntry]) -> ArraySlice<RouteEntry> {
        let key = route.orderKey
        let start = chain.partitioningIndex { pool.orderKey($0.attributes) >= key }
        let end = chain.partitioningIndex { pool.orderKey($0.attributes) > key }
        return chain[start..<max(start, end)]
    }

    /// The first entry that satisfies a condition, among entries with the path of a route.
    private func same(
        as route: Route,
        _ attributes: UInt32,
        in peers: ArraySlice<RouteEntry>,
        where isMatch: (Route) -> Bool
    ) -> Int? {
        let candidates = pool.candidates(like: route)
        // New attributes belong to no other entry.
        guard !candidates.isOnly(attributes) || pool.isShared(attributes) else { return nil }
        return candidates.first(in: peers) { isMatch(pool[$0]) }
    }

    // MARK: Removal

    /// The entry that a message removes or changes, and the remaining route.
    private typealias Loss = (index: Int, rest: Route?)

    private func lossOfIPv4(_ gone: Route, _ chain: [RouteEntry]) -> Loss? {
        let peers = peers(of: gone, in: chain)
        let candidates = pool.candidates(like: gone)
        let index =
            candidates.first(in: peers) { pool[$0].isSame(as: gone) }
            ?? others(of: gone).first(in: peers) {
                pool[$0].type == gone.type && pool[$0].sharesPath(with: gone)
            }
        return index.map { ($0, nil) }
    }

    /// The attributes that can have the path of a route, and possibly further attributes.
    private func others(of route: Route) -> RouteCandidates {
        guard let nexthop = route.nexthops.first else { return .all }
        return RouteCandidates(pool.index[.through(nexthop.interfaceIndex, route.destination.family)])
    }

    /// Finds the last route that has one of the nexthops that a message removes.
    private func lossOfIPv6(_ gone: Route, _ chain: [RouteEntry]) -> Loss? {
        let nexthops = gone.nexthops
        let isWhole = nexthops.isEmpty || gone.nexthopID != 0
        let candidates: RouteCandidates =
            if gone.nexthopID != 0 {
                RouteCandidates(pool.index[.naming(gone.nexthopID)])
            } else if nexthops.isEmpty {
                .all
            } else {
                RouteCandidates(
                    nexthops.reduce(into: []) { $0.formUnion(pool.index[.through($1.interfaceIndex, .v6)]) })
            }
        var rest: [Nexthop] = []
        let index = candidates.last(in: peers(of: gone, in: chain)) { number in
            let route = pool[number]
            guard route.source == gone.source, route.type == gone.type, route.nexthopID == gone.nexthopID
            else { return false }
            if isWhole { return true }
            rest = route.nexthops.filter { !nexthops.contains(where: $0.isDuplicate) }
            return rest.count < route.nexthops.count
        }
        guard let index else { return nil }
        guard !isWhole, !rest.isEmpty else { return (index, nil) }
        var route = pool[chain[index].attributes]
        (route.nexthops, route.destination) = (rest, gone.destination)
        return (index, route)
    }
}

extension Route {
    /// Whether this is the same route as another one to the same destination, perhaps in another state.
    fileprivate func isSame(as other: Route) -> Bool {
        RouteAttributes(identity).route == RouteAttributes(other.identity).route
    }

    /// The kernel's sort key among the routes of a prefix: for IPv4, descending type of service, then ascending
    /// metric.
    var orderKey: UInt64 {
        destination.family == .v4 ? UInt64(~tos) << 32 | UInt64(priority) : UInt64(priority)
    }

    /// Whether packets use the same path as with another route.
    fileprivate func sharesPath(with other: Route) -> Bool {
        source == other.source && priority == other.priority && nexthopID == other.nexthopID
            && identity.nexthops == other.identity.nexthops
    }

    /// Whether IPv6 distributes packets over this route and similar ones.
    ///
    /// Routes from router advertisements (RTPROT_RA) are kept separate.
    var balances: Bool {
        nexthopID == 0 && origin != Self.advertisedOrigin && nexthops.contains { $0.gateway != nil }
    }
}
