// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel
internal import RoutingSimulation

/// The part of a network that can change the answers to some queries.
///
/// It is taken from both states of a comparison: a state between them has no other routes.
struct QueryScope {
    /// The addresses that were asked about, and the sources of the packets.
    let addresses: Set<IPAddress>

    private let queries: Set<RouteQuery>
    private let states: [NetworkSnapshot]
    /// The tables with routes to the addresses.
    private var tables: Set<UInt32> = []
    /// The nexthop objects of these routes.
    private var nexthops: Set<UInt32> = []
    /// The interfaces of these routes and queries, those below them, and their masters.
    private var interfaces: Set<UInt32> = []

    init(_ queries: Set<RouteQuery>, in states: [NetworkSnapshot]) {
        (self.queries, self.states) = (queries, states)
        addresses = Set(queries.flatMap { [$0.destination, $0.source] }.compactMap { $0?.withoutZone })
        var open = queries.map(\.outputInterface)
        for state in states {
            for route in addresses.flatMap(state.routes(over:)) {
                tables.insert(route.table)
                open += route.nexthops.map(\.interfaceIndex)
                guard route.nexthopID != 0 else { continue }
                open += state.nexthops(ofObject: route.nexthopID)?.map(\.interfaceIndex) ?? []
                nexthops.insert(route.nexthopID)
                if case .group(let members) = state.nexthopObjects[route.nexthopID]?.kind {
                    nexthops.formUnion(members.map(\.id))
                }
            }
        }
        while let index = open.popLast() {
            guard interfaces.insert(index).inserted else { continue }
            for link in states.compactMap({ $0.links[index] }) {
                open += [link.lowerHere, link.master].compactMap(\.self)
            }
        }
    }

    /// Whether an answer can depend on a difference.
    func contains(_ difference: NetworkDifference) -> Bool {
        switch difference {
        case .link(let change): change.latest.map { interfaces.contains($0.index) } ?? false
        case .address(let change):
            change.latest.map {
                interfaces.contains($0.interfaceIndex) || addresses.contains($0.address.withoutZone)
            } ?? false
        case .nexthop(let change): change.latest.map { nexthops.contains($0.id) } ?? false
        case .route(let change):
            change.latest.map { addresses.contains(where: $0.destination.contains) } ?? false
        case .rule(let change): change.latest.map(contains) ?? false
        case .neighbour(let change): change.latest.map { interfaces.contains($0.key.interfaceIndex) } ?? false
        case .settings: true
        }
    }

    private func contains(_ rule: Rule) -> Bool {
        if case .lookup(let table) = rule.action, !rule.isL3MDev, !tables.contains(table) { return false }
        return queries.contains { query in
            states.contains { $0.canSelect(query, by: rule) }
        }
    }
}
