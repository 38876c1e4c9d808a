// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

extension NetworkSnapshot {
    /// Lists the differences to a newer state of the same network.
    ///
    /// Ignores lifetimes that count down, and counters. Compares interfaces by their indexes: see
    /// ``renumbered(like:)``.
    ///
    /// - Parameter newer: The newer state.
    /// - Returns: The differences: links, addresses, nexthop objects, routes, rules, neighbours and settings, each in
    ///   the order of the newer state if that state has an order.
    package func differences(to newer: NetworkSnapshot) -> [NetworkDifference] {
        var found: [NetworkDifference] = []
        found += Self.changes(links.byIndex, newer.links.byIndex) { $0.countsAs($1) }.map { .link($0) }
        found += Self.changes(addressesByKey, newer.addressesByKey, ==).map { .address($0) }
        found += Self.changes(nexthopObjects, newer.nexthopObjects) { $0.identity == $1.identity }.map {
            .nexthop($0)
        }
        compareRoutes(newer) { found.append(.route($0)) }
        let (oldRules, newRules) = (Set(rules), Set(newer.rules))
        for rule in rules where !newRules.contains(rule) { found.append(.rule(.init(old: rule, new: nil))) }
        for rule in newer.rules where !oldRules.contains(rule) {
            found.append(.rule(.init(old: nil, new: rule)))
        }
        if let old = neighbours, let new = newer.neighbours {
            found += Self.changes(old, new, ==).map { .neighbour($0) }
        }
        if !settings.countsAs(newer.settings) {
            found.append(.settings(.init(old: settings, new: newer.settings)))
        }
        return found
    }

    private static func changes<Key: Hashable & Comparable, Value>(
        _ old: [Key: Value],
        _ new: [Key: Value],
        _ isSame: (Value, Value) -> Bool
    ) -> [NetworkDifference.Change<Value>] {
        Set(old.keys).union(new.keys).sorted().compactMap { key in
            let change = NetworkDifference.Change(old: old[key], new: new[key])
            if let old = change.old, let new = change.new, isSame(old, new) { return nil }
            return change
        }
    }

    private var addressesByKey: [AddressBook.Key: InterfaceAddress] {
        addresses.reduce(into: [:]) { $0[AddressBook.Key($1)] = $1 }
    }

    // MARK: Routes

    private func compareRoutes(_ newer: NetworkSnapshot, _ body: (NetworkDifference.Change<Route>) -> Void) {
        forEachChain { chain in
            let other = newer.routes(to: chain[0].destination, table: chain[0].table)
            if chain != other { Self.compare(chain, other, body) }
        }
        newer.forEachChain { chain in
            guard routes(to: chain[0].destination, table: chain[0].table).isEmpty else { return }
            for route in chain { body(.init(old: nil, new: route)) }
        }
    }

    /// Pairs the routes of a prefix: first equal routes, then routes with the same metric and type of service.
    private static func compare(
        _ old: [Route],
        _ new: [Route],
        _ body: (NetworkDifference.Change<Route>) -> Void
    ) {
        var added = PairedRoutes(new, by: \.identity)
        var removed: [Route] = []
        // The indices, in the new state, of the routes that both have, in the order of the old one.
        var places: [(route: Route, place: Int)] = []
        for route in old {
            guard let (other, place) = added.remove(route.identity) else {
                removed.append(route)
                continue
            }
            if other.counted != route.counted { body(.init(old: route, new: other)) }
            places.append((other, place))
        }
        // A route that has come behind one that was behind it, and that a packet can take in its place.
        var behind: [Route] = []
        var first: [UInt64: Int] = [:]
        for (route, place) in places.reversed() {
            let least = first[route.orderKey] ?? .max
            if least < place { behind.append(route) }
            first[route.orderKey] = min(least, place)
        }
        for route in behind.reversed() { body(.init(old: route, new: route)) }
        var others = PairedRoutes(added.rest, by: \.orderKey)
        for route in removed { body(.init(old: route, new: others.remove(route.orderKey)?.route)) }
        for route in others.rest { body(.init(old: nil, new: route)) }
    }
}

/// The routes of a prefix that are not paired yet, by the key that paired routes share.
private struct PairedRoutes<Key: Hashable> {
    private var routes: [Route?]
    /// The indices by key, in descending order.
    private var indices: [Key: [Int]] = [:]

    init(_ routes: [Route], by key: (Route) -> Key) {
        self.routes = routes
        for index in routes.indices.reversed() { indices[key(routes[index]), default: []].append(index) }
    }

    /// The routes that are not paired, in their order.
    var rest: [Route] { routes.compactMap(\.self) }

    /// Removes the first route of a key, and returns it with its index.
    mutating func remove(_ key: Key) -> (route: Route, index: Int)? {
        guard let index = indices[key]?.popLast(), let route = routes[index] else { return nil }
        routes[index] = nil
        return (route, index)
    }
}

extension Neighbour.Key: Comparable {
    /// Orders by interface, then by address.
    package static func < (left: Self, right: Self) -> Bool {
        (left.interfaceIndex, left.address) < (right.interfaceIndex, right.address)
    }
}

extension AddressBook.Key: Comparable {
    /// Orders by interface, then by address and subnet.
    package static func < (left: Self, right: Self) -> Bool {
        let leftKey = (left.interface, left.address, left.subnet ?? 0)
        return leftKey < (right.interface, right.address, right.subnet ?? 0)
    }
}
