// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// Where the state of a neighbour decides: several IPv4 default routes of one metric, and IPv6 gateways.

extension SnapshotLookup {
    /// Chooses among IPv4 default routes of one metric: `fib_select_default`.
    ///
    /// The state of the gateways decides, and the one that was used last, which no dump holds. `first` is the
    /// table's answer regardless of neighbours, at `index` in the chain of all its default routes.
    mutating func chosenDefault(_ first: Hit, _ index: Int, _ chain: [Route]) throws(ReachabilityError) -> Hit
    {
        var rivals: [Route] = []
        var last = (tos: UInt8(0), priority: first.route.priority)
        for route in chain[index...] where isForTypeOfService(route) {
            if route.priority > last.priority, route.tos == last.tos {
                if last.tos == 0 { break }
                continue
            }
            let nexthops = route.type == .unicast ? try nexthops(of: route) : []
            last = (route.tos, route.priority)
            guard route.scope == first.route.scope, let nexthop = nexthops.first, nexthop.gateway != nil
            else {
                // The search starts only at a route that has a gateway.
                if rivals.isEmpty, route == chain[index] { return first }
                continue
            }
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

    /// The routes that can be chosen: first the one where none was taken last, then those after each.
    private func survivors(_ rivals: [Route]) -> [Route] {
        let states = rivals.map { route -> NeighbourState? in
            // The kernel has not met a neighbour without a state.
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

    /// The index of the route chosen when the one at index `last` was taken last, -1 for none; `nil` is the state of
    /// a neighbour that is taken to answer.
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

extension Nexthop {
    /// The gateway as a neighbour; `nil` where there is none.
    var neighbour: Neighbour.Key? {
        gateway.map { Neighbour.Key(interfaceIndex: interfaceIndex, address: $0) }
    }
}
