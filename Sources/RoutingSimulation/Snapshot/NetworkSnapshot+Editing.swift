// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

// Changes of one part of a network that leave the other parts alone: what the kernel would do besides does not happen.

extension NetworkSnapshot {
    /// Sets the interface of an index, or removes it.
    package mutating func setLink(_ index: UInt32, _ link: Link?) {
        links[index] = link
    }

    /// Adds an address to the interface's.
    package mutating func insertAddress(_ address: InterfaceAddress) {
        if !isOwned(address) { noteScope(.link, ofGateway: address) }
        addressBook.insert(address)
    }

    /// Removes an address from the interface's.
    package mutating func removeAddress(_ address: InterfaceAddress) {
        addressBook.remove(address)
        if !isOwned(address) { noteScope(.host, ofGateway: address) }
    }

    private func isOwned(_ address: InterfaceAddress) -> Bool {
        addressBook.contains(address.address, ofInterface: address.interfaceIndex)
    }

    /// Notes what an address was to the nexthops that have it as their gateway, before that changes.
    private mutating func noteScope(_ scope: GatewayScope, ofGateway address: InterfaceAddress) {
        guard address.address.family == .v4 else { return }
        func note(_ nexthop: inout Nexthop) {
            guard nexthop.gateway == address.address, nexthop.interfaceIndex == address.interfaceIndex else {
                return
            }
            if nexthop.gatewayScope == .unnoted { nexthop.gatewayScope = scope }
        }
        for id in nexthopsVia[address.address] ?? [] {
            guard case .single(var nexthop)? = nexthopObjects[id]?.kind else { continue }
            note(&nexthop)
            nexthopObjects[id] = NexthopObject(id: id, kind: .single(nexthop))
        }
        pool.update(pool.index[.via(address.address)]) { route in
            for index in route.nexthops.indices { note(&route.nexthops[index]) }
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

    /// Replaces the rules of a family; those of one priority keep their order.
    package mutating func setRules(_ rules: [Rule], _ family: IPAddress.Family) {
        ruleLists[family] = RuleList()
        for rule in rules { ruleLists[family].insert(rule) }
        updateProgram()
    }

    /// Gives a prefix and table these routes, in the kernel's order; those of one place keep theirs.
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
    /// The members of a group; none for anything else.
    var members: [Member] {
        guard case .group(let members) = kind else { return [] }
        return members
    }

    /// The IPv4 gateway of a single nexthop; `nil` for anything else.
    fileprivate var gateway4: IPAddress? {
        guard case .single(let nexthop) = kind, let gateway = nexthop.gateway, gateway.family == .v4 else {
            return nil
        }
        return gateway
    }
}
