// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// The parts of a state that the answers to some queries read.
struct QueryReading {
    /// The rules that select a packet and lead to a route or end the lookup, up to the deciding rule.
    private var rules: Set<Rule> = []
    /// The routes that take packets, and for a refused packet the routes that can refuse it.
    private var routes: Set<Route> = []
    /// The interfaces, addresses and nexthop objects behind the routes.
    private let reach: QueryReach

    init(_ queries: Set<RouteQuery>, in state: NetworkSnapshot) {
        reach = QueryReach(queries, in: [state])
        for query in queries { read(query, state) }
    }

    private mutating func read(_ query: RouteQuery, _ state: NetworkSnapshot) {
        var query = query
        query.wantsEntry = true
        let entry = (try? state.answer(to: query))?.entry
        let over = state.routes(over: query.destination.withoutZone)
        routes.formUnion((entry.map { [$0] } ?? over.filter { $0.type != .unicast }).map(\.identity))
        let tables = Set(over.map(\.table))
        let packet = state.rulePacket(query)
        state.rules(query.destination.family).walk(for: packet) { rule, step -> Void? in
            if case .lookup(let table) = rule.action, !rule.isL3MDev, !tables.contains(table) {
                return nil
            }
            rules.insert(rule)
            guard let entry, step == .table(entry.table) else { return nil }
            return rule.suppresses(length: entry.destination.length, group: nil) ? nil : ()
        }
    }

    /// Whether a difference is, on the side of this state, a rule or a route that was read.
    func decides(_ difference: NetworkDifference, _ side: NetworkDifference.Side) -> Bool {
        switch difference {
        case .rule(let change): change.value(side).map(rules.contains) ?? false
        case .route(let change): change.value(side).map { routes.contains($0.identity) } ?? false
        case .link, .address, .nexthop, .neighbour, .settings: false
        }
    }

    /// Whether a difference is an interface, address or nexthop object behind the routes, or the settings.
    func uses(_ difference: NetworkDifference) -> Bool {
        switch difference {
        case .link(let change): change.latest.map { reach.interfaces.contains($0.index) } ?? false
        case .address(let change):
            change.latest.map {
                reach.interfaces.contains($0.interfaceIndex)
                    || reach.addresses.contains($0.address.withoutZone)
            } ?? false
        case .nexthop(let change): change.latest.map { reach.nexthops.contains($0.id) } ?? false
        case .settings: true
        case .rule, .route, .neighbour: false
        }
    }

    /// Whether a difference is a neighbour on one of the interfaces.
    func reaches(_ difference: NetworkDifference) -> Bool {
        guard case .neighbour(let change) = difference, let key = change.latest?.key else { return false }
        return reach.interfaces.contains(key.interfaceIndex)
    }
}
