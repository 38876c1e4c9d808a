// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel
package import RoutingSimulation

// Takes differences back. Nothing is derived: what was not asked for stays as it is.

extension NetworkSnapshot {
    /// Takes differences back: each value becomes what it was in the older state.
    ///
    /// - Parameters:
    ///   - differences: Some of the ``differences(to:)`` from the older state to this one.
    ///   - older: The older state, which has the order of rules and routes.
    package mutating func undo(_ differences: [NetworkDifference], older: NetworkSnapshot) {
        var rules: [NetworkDifference.Change<Rule>] = []
        var routes: [PrefixInTable: [NetworkDifference.Change<Route>]] = [:]
        for difference in differences {
            switch difference {
            case .link(let change):
                if let index = change.latest?.index { setLink(index, change.old) }
            case .address(let change):
                if let new = change.new { removeAddress(new) }
                if let old = change.old { insertAddress(old) }
            case .nexthop(let change):
                if let id = change.latest?.id { setNexthop(id, change.old) }
            case .route(let change):
                guard let route = change.latest else { continue }
                routes[PrefixInTable(route), default: []].append(change)
            case .rule(let change): rules.append(change)
            case .neighbour(let change):
                if let key = change.latest?.key { neighbours?[key] = change.old }
            case .settings(let change):
                if let old = change.old { settings = old }
            }
        }
        // What only the older state shows is true of what comes back of it.
        settings.fill(from: older.settings)
        for (place, changes) in routes { undo(changes, at: place, older) }
        if !rules.isEmpty { undo(rules, older) }
    }

    /// Takes changes of the routes of one prefix back.
    private mutating func undo(
        _ changes: [NetworkDifference.Change<Route>],
        at place: PrefixInTable,
        _ older: NetworkSnapshot
    ) {
        let gone = Set(changes.compactMap { $0.new?.identity })
        let back = changes.compactMap(\.old)
        let kept = routes(to: place.prefix, table: place.table).filter { !gone.contains($0.identity) }
        let result = kept.restoring(
            back, of: older.routes(to: place.prefix, table: place.table), by: \.identity)
        setRoutes(result, place)
    }

    /// Takes added and removed rules back.
    private mutating func undo(_ changes: [NetworkDifference.Change<Rule>], _ older: NetworkSnapshot) {
        let gone = Set(changes.compactMap(\.new))
        for family in IPAddress.Family.allCases {
            let back = changes.compactMap(\.old).filter { $0.family == family }
            let kept = rules(family).filter { !gone.contains($0) }
            setRules(kept.restoring(back, of: older.rules(family), by: \.self), family)
        }
    }
}

extension Array {
    /// Inserts elements of an older list again, each behind the one that it followed there.
    ///
    /// - Parameters:
    ///   - elements: The elements.
    ///   - older: The older list, which gives the order.
    ///   - key: What elements have in common that are the same one.
    /// - Returns: The list with the elements.
    fileprivate func restoring<Key: Hashable>(
        _ elements: [Element],
        of older: [Element],
        by key: (Element) -> Key
    ) -> [Element] {
        let indexByKey = Dictionary(zip(map(key), indices)) { first, _ in first }
        var missing = Set(elements.map(key))
        /// `inserted[i]` are the restored elements that belong before index `i`.
        var inserted: [Int: [Element]] = [:]
        var last = startIndex
        for element in older {
            let itsKey = key(element)
            if let index = indexByKey[itsKey] {
                last = Swift.max(last, index + 1)
            } else if missing.remove(itsKey) != nil {
                inserted[last, default: []].append(element)
            }
        }
        return (startIndex...endIndex).flatMap { index in
            (inserted[index] ?? []) + (index < endIndex ? [self[index]] : [])
        }
    }
}

// MARK: - Numbers of interfaces

extension NetworkSnapshot {
    /// The same network with the interface indexes of another one, where interfaces have the same names.
    ///
    /// Interfaces get other indexes when a host starts again or they are made again.
    package func renumbered(like other: NetworkSnapshot) -> (snapshot: NetworkSnapshot, map: [UInt32: UInt32])
    {
        let map = indexes(like: other)
        guard map.contains(where: { $0.key != $0.value }) else { return (self, map) }
        var copy = NetworkSnapshot()
        (copy.clock, copy.kernel, copy.askingUser) = (clock, kernel, askingUser)
        copy.settings = settings
        for family in IPAddress.Family.allCases { copy.setRules(rules(family), family) }
        func mapped(_ index: UInt32) -> UInt32 { map[index] ?? index }
        func mapped(_ nexthop: Nexthop) -> Nexthop {
            var nexthop = nexthop
            nexthop.interfaceIndex = mapped(nexthop.interfaceIndex)
            return nexthop
        }
        for var link in links.values {
            link.index = mapped(link.index)
            if !link.lowerIsForeign { link.lower = link.lower.map(mapped) }
            link.master = link.master.map(mapped)
            copy.setLink(link.index, link)
        }
        for var address in addresses {
            address.interfaceIndex = mapped(address.interfaceIndex)
            copy.insertAddress(address)
        }
        copy.neighbours = neighbours.map { neighbours in
            neighbours.values.reduce(into: [:]) { result, neighbour in
                var neighbour = neighbour
                neighbour.key.interfaceIndex = mapped(neighbour.key.interfaceIndex)
                result[neighbour.key] = neighbour
            }
        }
        for var object in nexthopObjects.values {
            if case .single(let nexthop) = object.kind { object.kind = .single(mapped(nexthop)) }
            copy.setNexthop(object.id, object)
        }
        forEachChain { chain in
            let routes = chain.map { route in
                var route = route
                route.nexthops = route.nexthops.map(mapped)
                return route
            }
            copy.setRoutes(routes, PrefixInTable(chain[0]))
        }
        return (copy, map)
    }

    /// The index that each interface has in another network, or a free one.
    private func indexes(like other: NetworkSnapshot) -> [UInt32: UInt32] {
        let named = other.links.values.reduce(into: [:]) { $0[$1.name] = $1.index }
        var map: [UInt32: UInt32] = [:]
        for link in links.values { map[link.index] = named[link.name] }
        var taken = Set(map.values)
        let known = taken.union(links.keys).union(other.links.keys)
        var free = known.max() ?? 0
        for index in links.keys.sorted() where map[index] == nil {
            // An interface with another name and the same index was renamed, unless both names exist.
            if taken.insert(index).inserted {
                map[index] = index
            } else {
                // A recording can hold the largest index; 0 is none.
                repeat { free &+= 1 } while free == 0 || known.contains(free)
                map[index] = free
            }
        }
        return map
    }
}
