// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

extension NetworkSnapshot {
    /// The same network, in which each interface has the index of the interface with the same name in another network.
    ///
    /// Indexes change when a host restarts or an interface is created again.
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

    /// The index of each interface in another network, or a free index.
    private func indexes(like other: NetworkSnapshot) -> [UInt32: UInt32] {
        let named = other.links.values.reduce(into: [:]) { $0[$1.name] = $1.index }
        var map: [UInt32: UInt32] = [:]
        for link in links.values { map[link.index] = named[link.name] }
        var taken = Set(map.values)
        let known = taken.union(links.keys).union(other.links.keys)
        var free = known.max() ?? 0
        for index in links.keys.sorted() where map[index] == nil {
            // If only the name differs, the interface was renamed and keeps its index.
            if taken.insert(index).inserted {
                map[index] = index
            } else {
                // A recording can contain the largest index. 0 is not an index.
                repeat { free &+= 1 } while free == 0 || known.contains(free)
                map[index] = free
            }
        }
        return map
    }
}
