// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

extension NetworkSnapshot {
    /// Applies one message, and the changes that the kernel makes without a message.
    ///
    /// IPv4 routes are removed without a notification when their interface goes down or away, loses its last IPv4
    /// address or their preferred source, and when their nexthop object goes; carrier changes show in no route message;
    /// nexthop objects go with the carrier of their interface. All that is derived here.
    ///
    /// What cannot be derived is missing until the next dump. A route that a
    /// router announced is dumped without its lifetime, and its end is notified up to 30 s late: it counts until then.
    package mutating func apply(_ change: NetworkChange) {
        switch change {
        case .link(let report): apply(report)
        case .removedLink(let index): removeLink(index)
        case .address(let address): apply(address)
        case .removedAddress(let address): remove(address)
        case .neighbour(let neighbour):
            neighbours = neighbours ?? [:]
            neighbours?[neighbour.key] = neighbour
        case .removedNeighbour(let key): neighbours?[key] = nil
        case .nexthop(let nexthop): apply(nexthop)
        case .removedNexthop(let id): removeNexthop(id)
        case .route(let route, let placement): insert(route, placement)
        case .removedRoute(let route): remove(route)
        case .rule(let rule):
            ruleLists[rule.family].insert(rule)
            updateProgram()
        case .removedRule(let rule):
            ruleLists[rule.family].remove(rule)
            updateProgram()
        case .settings(let settings): apply(settings)
        }
    }

    /// Says that what was applied so far was a whole dump.
    ///
    /// - Parameter knowsNeighbours: Whether the neighbours were in it, even if there are none.
    package mutating func dumpEnded(knowsNeighbours: Bool) {
        if knowsNeighbours { neighbours = neighbours ?? [:] }
        addressBook.dumpEnded()
        learnSettings()
    }

    // MARK: Addresses

    private mutating func apply(_ address: InterfaceAddress) {
        insertAddress(address)
        if address.address.family == .v4, let link = links[address.interfaceIndex], link.flags.contains(.up) {
            // Nexthops that died with the last address live again.
            revive(link, families: [.v4])
        }
    }

    private mutating func remove(_ address: InterfaceAddress) {
        removeAddress(address)
        guard address.address.family == .v4 else { return }
        let index = address.interfaceIndex
        if !addressBook.hasAny(.v4, ofInterface: index) {
            // The kernel takes IPv4 off an interface with its last address, even routes of host scope.
            markDead(family: .v4, interface: index, force: true)
        }
        if !addressBook.contains(address.address) {
            let table = vrf(ofInterface: index)?.vrfTable ?? Route.mainTable
            drop(
                pool.index[.preferring(address.address)].filter {
                    pool[$0].table == table && pool[$0].destination.family == .v4
                })
        }
    }

    // MARK: Nexthop objects

    private mutating func apply(_ nexthop: NexthopObject) {
        setNexthop(nexthop.id, nexthop)
        refreshRoutes(throughNexthop: nexthop.id)
        for group in nexthopGroups[nexthop.id] ?? [] { refreshRoutes(throughNexthop: group) }
    }

    /// Removes a nexthop object, its part in groups and the routes that have nothing else.
    mutating func removeNexthop(_ id: UInt32) {
        // A list and no recursion: a recording can hold groups of groups as deep as it is long.
        var doomed = [id]
        while let id = doomed.popLast() {
            let groups = nexthopGroups[id] ?? []
            setNexthop(id, nil)
            drop(pool.index[.naming(id)])
            for number in groups.sorted() {
                let rest = nexthopObjects[number]?.members.filter { $0.id != id } ?? []
                if rest.isEmpty {
                    doomed.append(number)
                } else {
                    setNexthop(number, NexthopObject(id: number, kind: .group(rest)))
                    refreshRoutes(throughNexthop: number)
                }
            }
        }
    }

    /// Updates the nexthops of the routes through a nexthop object.
    private mutating func refreshRoutes(throughNexthop id: UInt32) {
        let affected = pool.index[.naming(id)]
        guard !affected.isEmpty, let nexthops = nexthops(ofObject: id) else { return }
        pool.update(affected) { route in
            if !route.nexthops.isEmpty { route.nexthops = nexthops }
        }
    }

    /// The nexthops of a nexthop object; none for a blackhole, `nil` where it or a member is not known.
    package func nexthops(ofObject id: UInt32) -> [Nexthop]? {
        switch nexthopObjects[id]?.kind {
        case .single(let nexthop): return [nexthop]
        case .blackhole: return []
        case .group(let members):
            var nexthops: [Nexthop] = []
            for member in members {
                guard case .single(var nexthop) = nexthopObjects[member.id]?.kind else {
                    if case .blackhole = nexthopObjects[member.id]?.kind { return [] }
                    return nil
                }
                nexthop.weight = member.weight
                nexthops.append(nexthop)
            }
            return nexthops
        case .forwarding, nil: return nil
        }
    }
}
