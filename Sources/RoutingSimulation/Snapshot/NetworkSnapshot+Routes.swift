// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

// Where a route goes among those of its prefix: `fib_table_insert` and `fib6_add_rt2node` in the kernel.

extension NetworkSnapshot {
    /// The routes of a prefix and table, in the kernel's order.
    package func routes(to prefix: IPPrefix, table: UInt32) -> [Route] {
        routes(prefix, routeTables.entries(prefix, table: table))
    }

    mutating func insert(_ route: Route, _ placement: RoutePlacement) {
        // An entry of the kernel's route cache is not a route.
        guard !route.isCloned, !insertFirst(route) else { return }
        let draft = RouteDraft(route, clock)
        change(route.destination, table: route.table) { chain in
            if route.destination.family == .v4 {
                Self.insert(draft, placement, amongIPv4: &chain)
            } else {
                Self.insert(draft, placement, amongIPv6: &chain)
            }
        }
    }

    /// Adds the only route of a prefix, which most of a dump consists of.
    private mutating func insertFirst(_ route: Route) -> Bool {
        guard route.expires == nil else { return false }
        let attributes = pool.retain(route)
        let isFirst = routeTables.addFirst(
            attributes: attributes, route.destination, table: route.table)
        if !isFirst { pool.release(attributes) }
        return isFirst
    }

    mutating func remove(_ route: Route) {
        change(route.destination, table: route.table) { chain in
            if route.destination.family == .v6 {
                chain.removeIPv6(route)
            } else if let index = chain.indexOfRemovedIPv4(route) {
                chain.remove(at: index)
            }
        }
    }

    // MARK: Storage

    /// Changes the routes of a prefix and table.
    mutating func change(_ prefix: IPPrefix, table: UInt32, _ body: (inout [RouteDraft]) -> Void) {
        let old = routeTables.entries(prefix, table: table)
        var chain = zip(routes(prefix, old), old).map { RouteDraft(route: $0, expiry: $1.expiry) }
        body(&chain)
        let new = chain.map { RouteEntry(attributes: pool.retain($0.route), expiry: $0.expiry) }
        for entry in old { pool.release(entry.attributes) }
        let tableCount = routeTables.tables.count
        routeTables.set(new, prefix, table: table)
        if routeTables.tables.count != tableCount { updateProgram() }
    }

    // MARK: Insertion

    private static func insert(
        _ draft: RouteDraft,
        _ placement: RoutePlacement,
        amongIPv4 chain: inout [RouteDraft]
    ) {
        let sameKey = chain.indices.filter { chain[$0].route.hasIPv4Key(of: draft.route) }
        if let same = sameKey.first(where: { chain[$0].route.isSame(as: draft.route) }) {
            // The same route again, perhaps in another state.
            chain[same] = draft
            return
        }
        switch (placement, sameKey.first, sameKey.last) {
        case (.replacing, let first?, _):
            // When a nexthop object changes, the kernel notifies its routes again: the message means those.
            let id = draft.route.nexthopID
            let sharer = sameKey.first { id != 0 && chain[$0].route.nexthopID == id }
            chain[sharer ?? first] = draft
        case (.first, let first?, _):
            chain.insert(draft, at: first)
        case (_, _, let last?):
            chain.insert(draft, at: last + 1)
        default:
            let index = chain.firstIndex { $0.route.comesAfterIPv4(draft.route) }
            chain.insert(draft, at: index ?? chain.endIndex)
        }
    }

    private static func insert(
        _ draft: RouteDraft,
        _ placement: RoutePlacement,
        amongIPv6 chain: inout [RouteDraft]
    ) {
        let peers = chain.indices.filter { chain[$0].route.hasIPv6Key(of: draft.route) }
        if placement == .replacing,
            let old = peers.first(where: { chain[$0].route.balances == draft.route.balances }) ?? peers.first
        {
            chain[old] = draft
        } else if draft.route.balances, let group = peers.first(where: { chain[$0].route.balances }) {
            // A message shows the whole group with all its nexthops, whichever nexthop it is about.
            chain[group] = draft
        } else if let same = peers.first(where: {
            chain[$0].route.isSame(as: draft.route) || chain[$0].route.hasNexthops(of: draft.route)
        }) {
            chain[same] = draft
        } else {
            let index = chain.firstIndex { $0.route.priority > draft.route.priority }
            chain.insert(draft, at: index ?? chain.endIndex)
        }
    }
}

/// A route of a prefix while its prefix is changed.
struct RouteDraft {
    var route: Route
    var expiry: Int64
}

extension RouteDraft {
    init(_ route: Route, _ clock: Int64) {
        self.init(route: route, expiry: RouteEntry.expiry(route.expires, clock))
    }
}

extension Route {
    /// Whether it is an entry of the kernel's route cache: RTM_F_CLONED.
    fileprivate var isCloned: Bool { flags & 0x200 != 0 }

    fileprivate func isSame(as other: Route) -> Bool {
        identity == other.identity
    }

    fileprivate func hasIPv4Key(of other: Route) -> Bool {
        tos == other.tos && priority == other.priority
    }

    /// The kernel's order: the type of service down, then the metric up.
    fileprivate func comesAfterIPv4(_ other: Route) -> Bool {
        (other.tos, priority) > (tos, other.priority)
    }

    fileprivate func hasIPv6Key(of other: Route) -> Bool {
        source == other.source && priority == other.priority
    }

    fileprivate func hasNexthops(of other: Route) -> Bool {
        nexthopID == other.nexthopID && identity.nexthops == other.identity.nexthops
    }

    /// Whether IPv6 spreads packets over this route and others like it.
    ///
    /// Routes learned from router advertisements (RTPROT_RA) are kept apart.
    var balances: Bool {
        nexthopID == 0 && origin != 9 && nexthops.contains { $0.gateway != nil }
    }
}

extension Nexthop {
    /// Whether another nexthop of IPv6 takes the same path.
    func isDuplicate(of other: Nexthop) -> Bool {
        interfaceIndex == other.interfaceIndex && gateway == other.gateway
    }
}

extension [RouteDraft] {
    /// The route that a message says is gone.
    fileprivate func indexOfRemovedIPv4(_ gone: Route) -> Int? {
        firstIndex { $0.route.isSame(as: gone) }
            ?? firstIndex {
                $0.route.hasIPv4Key(of: gone) && $0.route.hasNexthops(of: gone)
                    && $0.route.type == gone.type
            }
    }

    /// Removes the nexthops that a message says are gone, and the routes that have no others.
    fileprivate mutating func removeIPv6(_ gone: Route) {
        let nexthops = gone.nexthops
        for index in indices.reversed() {
            let route = self[index].route
            guard route.hasIPv6Key(of: gone), route.type == gone.type, route.nexthopID == gone.nexthopID
            else { continue }
            if nexthops.isEmpty || route.nexthopID != 0 {
                remove(at: index)
                return
            }
            let rest = route.nexthops.filter { !nexthops.contains(where: $0.isDuplicate) }
            guard rest.count < route.nexthops.count else { continue }
            if rest.isEmpty {
                remove(at: index)
            } else {
                self[index].route.nexthops = rest
            }
            return
        }
    }
}
