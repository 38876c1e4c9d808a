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

    /// What was read of a difference; the first one explains an answer best.
    enum Part: Comparable {
        /// A rule or a route, on the side of this state.
        case decision
        /// An interface, an address or a nexthop object behind the routes, or the settings.
        case background
        /// A neighbour on one of the interfaces.
        case neighbour
    }

    /// What was read of a difference; `nil` for nothing.
    func part(of difference: NetworkDifference, _ side: NetworkDifference.Side) -> Part? {
        func part<Value>(_ value: Value?, _ part: Part, _ isRead: (Value) -> Bool) -> Part? {
            value.map(isRead) == true ? part : nil
        }
        return switch difference {
        case .rule(let change): part(change.value(side), .decision, rules.contains)
        case .route(let change): part(change.value(side)?.identity, .decision, routes.contains)
        case .link(let change): part(change.latest?.index, .background, reach.interfaces.contains)
        case .address(let change):
            part(change.latest, .background) {
                reach.interfaces.contains($0.interfaceIndex)
                    || reach.addresses.contains($0.address.withoutZone)
            }
        case .nexthop(let change): part(change.latest?.id, .background, reach.nexthops.contains)
        case .settings: .background
        case .neighbour(let change):
            part(change.latest?.key.interfaceIndex, .neighbour, reach.interfaces.contains)
        }
    }
}
