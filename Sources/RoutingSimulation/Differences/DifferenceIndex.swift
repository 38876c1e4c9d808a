// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// The places of differences in a list, by what they concern.
struct DifferenceIndex: Sendable {
    /// By the interfaces that they are on; those of interfaces also by the interface below.
    private(set) var byInterface: [UInt32: [Int]] = [:]
    /// Those of interfaces.
    private(set) var links: [UInt32: Int] = [:]
    /// Those of routes by the source that these prefer.
    private(set) var bySource: [IPAddress: [Int]] = [:]
    /// Those of routes by the nexthop object.
    private(set) var byNexthop: [UInt32: [Int]] = [:]
    /// Those of routes.
    private(set) var routes: [Int] = []
    /// Those of everything else.
    private(set) var others: [Int] = []
    private var byDestination: [IPPrefix: [Int]] = [:]
    /// The lengths of the destinations.
    private var lengths: Set<Int> = []

    init(_ differences: [NetworkDifference]) {
        for (place, difference) in differences.enumerated() {
            for index in difference.interfaces { byInterface[index, default: []].append(place) }
            if case .link(let change) = difference, let index = change.latest?.index { links[index] = place }
            guard let change = difference.route, let route = change.latest else {
                others.append(place)
                continue
            }
            routes.append(place)
            byDestination[route.destination, default: []].append(place)
            lengths.insert(route.destination.length)
            if let source = route.preferredSource { bySource[source, default: []].append(place) }
            for id in Set([change.old, change.new].compactMap { $0?.nexthopID }) where id != 0 {
                byNexthop[id, default: []].append(place)
            }
        }
    }

    /// Those of routes that an address can take.
    func routes(over address: IPAddress) -> [Int] {
        lengths.compactMap { IPPrefix(address, length: $0) }.flatMap { byDestination[$0] ?? [] }
    }
}

extension NetworkDifference {
    /// The change, of a route.
    var route: Change<Route>? {
        if case .route(let change) = self { change } else { nil }
    }

    /// The interfaces that something is on; of an interface its own index, and that of the one below it or its peer.
    var interfaces: Set<UInt32> {
        switch self {
        case .link(let change): Set([change.latest?.index, change.latest?.lower].compactMap(\.self))
        case .address(let change): Set([change.latest?.interfaceIndex].compactMap(\.self))
        case .neighbour(let change): Set([change.latest?.key.interfaceIndex].compactMap(\.self))
        case .route(let change):
            Set([change.old, change.new].flatMap { $0?.nexthops.map(\.interfaceIndex) ?? [] })
        case .nexthop(let change):
            Set(
                [change.old, change.new].compactMap { object in
                    guard case .single(let nexthop)? = object?.kind else { return nil }
                    return nexthop.interfaceIndex
                })
        case .rule, .settings: []
        }
    }
}
