// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

extension NetworkSnapshot {
    /// Applies one message, and the changes that the kernel makes without a message.
    ///
    /// The kernel removes IPv4 routes without a notification when their interface goes down or is removed, when it
    /// loses its last IPv4 address or their preferred source, and when their nexthop object is removed. No route
    /// message shows carrier changes. Nexthop objects are removed when their interface loses its carrier. All of this
    /// is derived here.
    ///
    /// Changes that cannot be derived are missing until the next dump. A route from a router advertisement is dumped
    /// without its lifetime, and the kernel notifies of its end up to 30 s late. It counts until then.
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

    /// Records that the changes applied so far were a complete dump.
    ///
    /// - Parameter knowsNeighbours: Whether the dump included neighbours, even if there are none.
    package mutating func dumpEnded(knowsNeighbours: Bool) {
        if knowsNeighbours { neighbours = neighbours ?? [:] }
        addressBook.dumpEnded()
        learnSettings()
    }

    // MARK: Addresses

    private mutating func apply(_ address: InterfaceAddress) {
        insertAddress(address)
        if address.address.family == .v4, let link = links[address.interfaceIndex], link.flags.contains(.up) {
            // Nexthops that became dead with the last address are usable again.
            revive(link, families: [.v4])
        }
    }

    private mutating func remove(_ address: InterfaceAddress) {
        removeAddress(address)
        guard address.address.family == .v4 else { return }
        let index = address.interfaceIndex
        if !addressBook.hasAny(.v4, ofInterface: index) {
            // The kernel disables IPv4 on an interface with its last address, even routes of host scope.
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

    /// Removes a nexthop object, its memberships in groups, and the routes that have no other nexthop.
    mutating func removeNexthop(_ id: UInt32) {
        // A list instead of recursion, because a recording can contain groups of groups as deep as it is long.
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

    /// The nexthops of a nexthop object; empty for a blackhole, `nil` if the object or a member is not known.
    package func nexthops(ofObject id: UInt32) -> [Nexthop]? {
        nexthopObjects[id]?.nexthops { nexthopObjects[$0] }
    }
}

// MARK: - Editing

// Changes of one part of a network that do not affect other parts: the kernel's side effects do not happen.

extension NetworkSnapshot {
    /// Sets or removes the interface with an index.
    package mutating func setLink(_ index: UInt32, _ link: Link?) {
        links[index] = link
    }

    /// Adds an address to an interface.
    package mutating func insertAddress(_ address: InterfaceAddress) {
        if !isOwned(address) { setScope(.link, ofGateway: address) }
        addressBook.insert(address)
    }

    /// Removes an address from an interface.
    package mutating func removeAddress(_ address: InterfaceAddress) {
        addressBook.remove(address)
        if !isOwned(address) { setScope(.host, ofGateway: address) }
    }

    private func isOwned(_ address: InterfaceAddress) -> Bool {
        addressBook.contains(address.address, ofInterface: address.interfaceIndex)
    }

    /// Before an address changes, records whether it was local for the nexthops that have it as their gateway.
    private mutating func setScope(_ scope: GatewayScope, ofGateway address: InterfaceAddress) {
        guard address.address.family == .v4 else { return }
        func set(_ nexthop: inout Nexthop) {
            guard nexthop.gateway == address.address, nexthop.interfaceIndex == address.interfaceIndex else {
                return
            }
            if nexthop.gatewayScope == .unnoted { nexthop.gatewayScope = scope }
        }
        for id in nexthopsVia[address.address] ?? [] {
            guard case .single(var nexthop)? = nexthopObjects[id]?.kind else { continue }
            set(&nexthop)
            nexthopObjects[id] = NexthopObject(id: id, kind: .single(nexthop))
        }
        pool.update(pool.index[.via(address.address)]) { route in
            for index in route.nexthops.indices { set(&route.nexthops[index]) }
        }
    }

    /// Stores or removes a nexthop object, and updates the groups of each member.
    package mutating func setNexthop(_ id: UInt32, _ nexthop: NexthopObject?) {
        for member in nexthopObjects[id]?.members ?? [] { nexthopGroups.remove(id, at: member.id) }
        if let gateway = nexthopObjects[id]?.gateway4 { nexthopsVia.remove(id, at: gateway) }
        nexthopObjects[id] = nexthop
        if let gateway = nexthop?.gateway4 { nexthopsVia[gateway, default: []].insert(id) }
        for member in nexthop?.members ?? [] { nexthopGroups[member.id, default: []].insert(id) }
    }

    /// Replaces the rules of a family.
    ///
    /// Rules of the same priority keep their order.
    package mutating func setRules(_ rules: [Rule], _ family: IPAddress.Family) {
        ruleLists[family] = RuleList()
        for rule in rules { ruleLists[family].insert(rule) }
        updateProgram()
    }

    /// Replaces the routes of a prefix in a table, in the kernel's order.
    package mutating func setRoutes(_ routes: [Route], _ place: PrefixInTable) {
        let old = routeTables.entries(place.prefix, table: place.table)
        let new = routes.map { route in
            (
                key: route.orderKey,
                entry: RouteEntry(
                    attributes: pool.retain(route), expiry: RouteEntry.expiry(route.expires, clock))
            )
        }
        for entry in old { pool.release(entry.attributes) }
        let order = new.indices.sorted { (new[$0].key, $0) < (new[$1].key, $1) }
        store(order.map { new[$0].entry }, place.prefix, table: place.table)
    }

    /// Removes all routes.
    package mutating func removeRoutes() {
        (routeTables, pool) = (RouteTables(), RouteAttributePool())
        updateProgram()
    }
}

extension NexthopObject {
    /// The members of a group; empty for other objects.
    var members: [Member] {
        guard case .group(let members) = kind else { return [] }
        return members
    }

    /// The IPv4 gateway of a single nexthop; `nil` for other objects.
    fileprivate var gateway4: IPAddress? {
        guard case .single(let nexthop) = kind, let gateway = nexthop.gateway, gateway.family == .v4 else {
            return nil
        }
        return gateway
    }
}
