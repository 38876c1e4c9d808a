// SPDX-License-Identifier: Apache-2.0

// Where a route goes among those of its prefix: `fib_table_insert` and `fib6_add_rt2node` in the kernel.

extension NetworkSnapshot {
    mutating func insert(_ route: Route, _ placement: RoutePlacement) {
        // An entry of the kernel's route cache is no route.
        guard !route.isCloned, !insertFirst(route) else { return }
        let draft = RouteDraft(route, clock)
        change(route) { chain in
            if route.destination.family == .v4 {
                Self.place(draft, placement, amongIPv4: &chain)
            } else {
                Self.place(draft, placement, amongIPv6: &chain)
            }
        }
    }

    /// The short way for what most of a dump is: the only route of a prefix.
    private mutating func insertFirst(_ route: Route) -> Bool {
        guard route.expires == nil else { return false }
        let attributes = pool.retain(RouteAttributes(route))
        let isFirst =
            switch route.destination.family {
            case .v4: routes4.addFirst(attributes: attributes, route.destination, table: route.table)
            case .v6: routes6.addFirst(attributes: attributes, route.destination, table: route.table)
            }
        if !isFirst { pool.release(attributes) }
        return isFirst
    }

    mutating func remove(_ route: Route) {
        let attributes = RouteAttributes(route)
        change(route) { chain in
            if route.destination.family == .v6 {
                chain.removeIPv6(attributes)
            } else if let place = chain.placeOfRemovedIPv4(attributes) {
                chain.remove(at: place)
            }
        }
    }

    // MARK: Storage

    /// Changes the routes of a route's prefix and table.
    mutating func change(_ route: Route, _ body: (inout [RouteDraft]) -> Void) {
        let tables = routes4.tables.count + routes6.tables.count
        if route.destination.family == .v4 {
            let entries = exchange(routes4.entries(route.destination, table: route.table), body)
            routes4.set(entries, route.destination, table: route.table)
        } else {
            let entries = exchange(routes6.entries(route.destination, table: route.table), body)
            routes6.set(entries, route.destination, table: route.table)
        }
        if routes4.tables.count + routes6.tables.count != tables { program = RuleProgram(self) }
    }

    private mutating func exchange(
        _ old: [RouteEntry],
        _ body: (inout [RouteDraft]) -> Void
    ) -> [RouteEntry] {
        var chain = old.map { RouteDraft(attributes: pool[$0.attributes], expiry: $0.expiry) }
        body(&chain)
        let new = chain.map { RouteEntry(attributes: pool.retain($0.attributes), expiry: $0.expiry) }
        for entry in old { pool.release(entry.attributes) }
        return new
    }

    // MARK: Places

    private static func place(
        _ draft: RouteDraft,
        _ placement: RoutePlacement,
        amongIPv4 chain: inout [RouteDraft]
    ) {
        let sameKey = chain.indices.filter { chain[$0].hasIPv4Key(of: draft) }
        if let same = sameKey.first(where: { chain[$0].isSame(as: draft) }) {
            // The same route again, perhaps in another state.
            chain[same] = draft
            return
        }
        switch (placement, sameKey.first, sameKey.last) {
        case (.replacing, let first?, _):
            // When a nexthop object changes, the kernel notifies its routes again: the message means those.
            let id = draft.attributes.nexthopID
            let sharer = sameKey.first { id != 0 && chain[$0].attributes.nexthopID == id }
            chain[sharer ?? first] = draft
        case (.first, let first?, _):
            chain.insert(draft, at: first)
        case (_, _, let last?):
            chain.insert(draft, at: last + 1)
        default:
            let place = chain.firstIndex { $0.comesAfterIPv4(draft) }
            chain.insert(draft, at: place ?? chain.endIndex)
        }
    }

    private static func place(
        _ draft: RouteDraft,
        _ placement: RoutePlacement,
        amongIPv6 chain: inout [RouteDraft]
    ) {
        let peers = chain.indices.filter { chain[$0].hasIPv6Key(of: draft) }
        if placement == .replacing,
            let old = peers.first(where: { chain[$0].balances == draft.balances }) ?? peers.first
        {
            chain[old] = draft
        } else if draft.balances, let group = peers.first(where: { chain[$0].balances }) {
            // A message shows the whole group with all its nexthops, whichever nexthop it is about.
            chain[group] = draft
        } else if let same = peers.first(where: {
            chain[$0].isSame(as: draft) || chain[$0].hasLegs(of: draft)
        }) {
            chain[same] = draft
        } else {
            let place = chain.firstIndex { $0.attributes.priority > draft.attributes.priority }
            chain.insert(draft, at: place ?? chain.endIndex)
        }
    }
}

/// A route of a prefix while its prefix is changed.
struct RouteDraft {
    var attributes: RouteAttributes
    var expiry: Int64

    func isSame(as other: RouteDraft) -> Bool {
        attributes.identity == other.attributes.identity
    }

    func hasIPv4Key(of other: RouteDraft) -> Bool {
        attributes.tos == other.attributes.tos && attributes.priority == other.attributes.priority
    }

    /// The kernel's order: the type of service down, then the metric up.
    func comesAfterIPv4(_ other: RouteDraft) -> Bool {
        if attributes.tos != other.attributes.tos { return attributes.tos < other.attributes.tos }
        return attributes.priority > other.attributes.priority
    }

    func hasIPv6Key(of other: RouteDraft) -> Bool {
        attributes.source == other.attributes.source && attributes.priority == other.attributes.priority
    }

    func hasLegs(of other: RouteDraft) -> Bool {
        attributes.nexthopID == other.attributes.nexthopID
            && attributes.identity.nexthops == other.attributes.identity.nexthops
    }

    /// Whether IPv6 spreads packets over this route and others like it.
    ///
    /// Routes learned from router advertisements (RTPROT_RA) are kept apart.
    var balances: Bool {
        attributes.nexthopID == 0 && attributes.origin != 9
            && attributes.nexthops.contains { $0.gateway != nil }
    }
}

extension RouteDraft {
    init(_ route: Route, _ clock: Int64) {
        self.init(attributes: RouteAttributes(route), expiry: RouteEntry.expiry(route.expires, clock))
    }
}

extension [RouteDraft] {
    /// The route that a message says is gone.
    fileprivate func placeOfRemovedIPv4(_ gone: RouteAttributes) -> Int? {
        let identity = gone.identity
        return firstIndex { $0.attributes.identity == identity }
            ?? firstIndex {
                $0.attributes.tos == gone.tos && $0.attributes.priority == gone.priority
                    && $0.attributes.type == gone.type && $0.attributes.nexthopID == gone.nexthopID
                    && $0.attributes.identity.nexthops == identity.nexthops
            }
    }

    /// Removes the nexthops that a message says are gone, and the routes that have no others.
    fileprivate mutating func removeIPv6(_ gone: RouteAttributes) {
        let nexthops = gone.identity.nexthops
        for place in indices.reversed() {
            let attributes = self[place].attributes
            guard attributes.source == gone.source, attributes.priority == gone.priority,
                attributes.type == gone.type, attributes.nexthopID == gone.nexthopID
            else { continue }
            if nexthops.isEmpty || gone.nexthopID != 0 {
                remove(at: place)
                return
            }
            let rest = attributes.nexthops.filter { nexthop in
                !nexthops.contains {
                    $0.interfaceIndex == nexthop.interfaceIndex && $0.gateway == nexthop.gateway
                }
            }
            guard rest.count < attributes.nexthops.count else { continue }
            if rest.isEmpty {
                remove(at: place)
            } else {
                self[place].attributes.nexthops = rest
            }
            return
        }
    }
}

extension Route {
    /// Whether it is an entry of the kernel's route cache: RTM_F_CLONED.
    var isCloned: Bool { flags & 0x200 != 0 }
}
