// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// The addresses of some queries, and the nexthop objects and interfaces of their routes in some states of the
/// network.
package struct QueryReach: Sendable {
    /// The destinations of the queries, and the sources of their packets.
    package let addresses: Set<IPAddress>
    /// The nexthop objects of all routes to the addresses, including the members of groups.
    package private(set) var nexthops: Set<UInt32> = []
    /// The interfaces of these routes and of the queries, the interfaces below them, and their masters.
    package private(set) var interfaces: Set<UInt32> = []

    /// Collects the objects behind the routes, and calls a closure with each route and its state.
    package init(
        _ queries: Set<RouteQuery>,
        in states: [NetworkSnapshot],
        _ visit: (Route, NetworkSnapshot) -> Void = { _, _ in }
    ) {
        addresses = Set(queries.flatMap { [$0.destination, $0.source] }.compactMap { $0?.withoutZone })
        var open = queries.map(\.outputInterface)
        for state in states {
            for route in addresses.flatMap(state.routes(over:)) {
                visit(route, state)
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
}

/// The part of a network that can affect the answers to some queries.
///
/// It comes from one state, or from both states of a comparison: a state between them has no other routes.
package struct QueryScope: Sendable {
    private let queries: Set<RouteQuery>
    private let reach: QueryReach
    /// The tables with routes to the addresses.
    private let tables: Set<UInt32>
    /// The preferred source addresses of these routes.
    private let sources: Set<IPAddress>
    /// The families in which an address of any interface can become the source, because an interface of these routes
    /// has no address that the kernel prefers.
    private let openFamilies: Set<IPAddress.Family>

    /// Finds the part that affects some queries.
    package init(_ queries: Set<RouteQuery>, in states: [NetworkSnapshot]) {
        var (tables, sources, families) = (Set<UInt32>(), Set<IPAddress>(), Set<IPAddress.Family>())
        reach = QueryReach(queries, in: states) { route, state in
            tables.insert(route.table)
            if let source = route.preferredSource { sources.insert(source) }
            if !route.nexthops.allSatisfy({ state.hasSource(ofInterface: $0.interfaceIndex, route) }) {
                families.insert(route.destination.family)
            }
        }
        (self.queries, self.tables, self.sources, openFamilies) = (queries, tables, sources, families)
    }

    /// Whether a route can match the packets of a query.
    package func contains(_ route: Route) -> Bool {
        reach.addresses.contains(where: route.destination.contains)
    }

    /// Whether an answer can depend on a change.
    ///
    /// - Parameters:
    ///   - change: The change.
    ///   - states: The network, or both states of a comparison.
    /// - Returns: Whether an answer can depend on the change.
    package func contains(_ change: NetworkChange, in states: [NetworkSnapshot]) -> Bool {
        switch change {
        case .link(let report): contains(link: report.link.index, [report.link], states)
        case .removedLink(let index): contains(link: index, [], states)
        case .address(let own), .removedAddress(let own): contains(own)
        case .nexthop(let nexthop): reach.nexthops.contains(nexthop.id)
        case .removedNexthop(let id): reach.nexthops.contains(id)
        case .route(let route, _), .removedRoute(let route): contains(route)
        case .rule(let rule), .removedRule(let rule): contains(rule, states)
        case .neighbour(let neighbour): reach.interfaces.contains(neighbour.key.interfaceIndex)
        case .removedNeighbour(let key): reach.interfaces.contains(key.interfaceIndex)
        case .settings(let settings): contains(settings.place)
        }
    }

    /// A port counts together with its master, whose kind and state can depend on its ports.
    private func contains(link index: UInt32, _ links: [Link], _ states: [NetworkSnapshot]) -> Bool {
        reach.interfaces.contains(index)
            || (links + states.compactMap { $0.links[index] }).contains {
                $0.master.map(reach.interfaces.contains) ?? false
            }
    }

    private func contains(_ own: InterfaceAddress) -> Bool {
        let address = own.address.withoutZone
        return reach.interfaces.contains(own.interfaceIndex) || reach.addresses.contains(address)
            || sources.contains(address)
            || own.scope == .universe && openFamilies.contains(own.address.family)
    }

    private func contains(_ rule: Rule, _ states: [NetworkSnapshot]) -> Bool {
        if case .lookup(let table) = rule.action, !rule.isL3MDev, !tables.contains(table) { return false }
        return queries.contains { query in
            rule.family == query.destination.family
                && states.contains { rule.selects($0.rulePacket(query)) != false }
        }
    }

    private func contains(_ place: SettingsReport.Place) -> Bool {
        switch place {
        case .all: true
        case .newInterfaces: false
        case .interface(let index): reach.interfaces.contains(index)
        }
    }
}

extension NetworkSnapshot {
    /// Whether an interface has an address that the kernel prefers over those of other interfaces as the source for a
    /// route, or the route needs no such address.
    fileprivate func hasSource(ofInterface index: UInt32, _ route: Route) -> Bool {
        let avoided: InterfaceAddressFlags = [.deprecated, .tentative, .optimistic, .dadFailed]
        let leavesHost = [.unicast, .broadcast, .multicast].contains(route.type)
        return !leavesHost || route.preferredSource != nil
            || addressBook.addresses(ofInterface: index, route.destination.family).contains {
                $0.scope == .universe && $0.flags.isDisjoint(with: avoided)
            }
    }
}
