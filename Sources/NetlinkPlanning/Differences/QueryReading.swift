// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel
internal import RoutingSimulation

/// What the answers to some queries read of a state.
struct QueryReading {
    /// The rules that select a packet and lead to a route or end the lookup, up to the one that decides.
    private var rules: Set<Rule> = []
    /// The routes that take packets; those that can refuse them, of a packet that is refused.
    private var routes: Set<Route> = []
    /// The nexthop objects of all routes to the addresses.
    private var nexthops: Set<UInt32> = []
    /// The interfaces of these routes and of the queries, those below them, and their masters.
    private var interfaces: Set<UInt32> = []
    /// The addresses that were asked about, and the sources of the packets.
    private let addresses: Set<IPAddress>

    init(_ queries: Set<RouteQuery>, in state: NetworkSnapshot) {
        addresses = Set(queries.flatMap { [$0.destination, $0.source] }.compactMap { $0?.withoutZone })
        for query in queries { read(query, state) }
        var open = queries.map(\.outputInterface)
        for route in addresses.flatMap(state.routes(over:)) {
            open += route.nexthops.map(\.interfaceIndex)
            guard route.nexthopID != 0 else { continue }
            open += state.nexthops(ofObject: route.nexthopID)?.map(\.interfaceIndex) ?? []
            nexthops.insert(route.nexthopID)
            if case .group(let members) = state.nexthopObjects[route.nexthopID]?.kind {
                nexthops.formUnion(members.map(\.id))
            }
        }
        while let index = open.popLast() {
            guard interfaces.insert(index).inserted, let link = state.links[index] else { continue }
            open += [link.lowerHere, link.master].compactMap(\.self)
        }
    }

    private mutating func read(_ query: RouteQuery, _ state: NetworkSnapshot) {
        var query = query
        query.wantsEntry = true
        let entry = (try? state.answer(to: query))?.entry
        let over = state.routes(over: query.destination.withoutZone)
        routes.formUnion((entry.map { [$0] } ?? over.filter { $0.type != .unicast }).map(\.identity))
        let tables = Set(over.map(\.table))
        for rule in state.rules(query.destination.family) where state.canSelect(query, by: rule) {
            switch rule.action {
            case .nop: continue
            case .goto: rules.insert(rule)
            case .lookup(let table):
                guard rule.isL3MDev || tables.contains(table) else { continue }
                rules.insert(rule)
                if let entry, entry.table == table,
                    rule.suppressedPrefixLength.map({ entry.destination.length > $0 }) ?? true
                {
                    return
                }
            case .blackhole, .unreachable, .prohibit, .other:
                rules.insert(rule)
                return
            }
        }
    }

    /// Whether a difference, on the side of this state, is a rule or a route that decides.
    func decides(_ difference: NetworkDifference, _ side: NetworkDifference.Side) -> Bool {
        switch difference {
        case .rule(let change): change.value(side).map(rules.contains) ?? false
        case .route(let change): change.value(side).map { routes.contains($0.identity) } ?? false
        case .link, .address, .nexthop, .neighbour, .settings: false
        }
    }

    /// Whether a difference is one behind the routes.
    func uses(_ difference: NetworkDifference) -> Bool {
        switch difference {
        case .link(let change): change.latest.map { interfaces.contains($0.index) } ?? false
        case .address(let change):
            change.latest.map {
                interfaces.contains($0.interfaceIndex) || addresses.contains($0.address.withoutZone)
            } ?? false
        case .nexthop(let change): change.latest.map { nexthops.contains($0.id) } ?? false
        case .settings: true
        case .rule, .route, .neighbour: false
        }
    }

    /// Whether a difference is a neighbour on one of the interfaces.
    func reaches(_ difference: NetworkDifference) -> Bool {
        guard case .neighbour(let change) = difference, let key = change.latest?.key else { return false }
        return interfaces.contains(key.interfaceIndex)
    }
}
