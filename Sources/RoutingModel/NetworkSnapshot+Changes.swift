// SPDX-License-Identifier: Apache-2.0

extension NetworkSnapshot {
    /// Takes in what one message tells, and what follows from it without a message.
    ///
    /// IPv4 routes go without a word when their interface goes down or away, loses its last IPv4 address or
    /// their preferred source, and when their nexthop object goes; carrier changes show in no route message;
    /// nexthop objects go with the carrier of their interface. All that is derived here.
    ///
    /// What cannot be derived is missing until the next dump. A route that a
    /// router announced is told of without its lifetime, and its end up to 30 s late: it counts until then.
    package mutating func apply(_ change: NetworkChange) {
        switch change {
        case .link(let report): apply(report)
        case .removedLink(let index): removeLink(index)
        case .address(let address): apply(address)
        case .removedAddress(let address): remove(address)
        case .neighbour(let neighbour):
            neighbours = neighbours ?? [:]
            neighbours?[neighbour.key] = neighbour.state
        case .removedNeighbour(let key): neighbours?[key] = nil
        case .nexthop(let nexthop): apply(nexthop)
        case .removedNexthop(let id): removeNexthop(id)
        case .route(let route, let placement): insert(route, placement)
        case .removedRoute(let route): remove(route)
        case .rule(let rule): insert(rule)
        case .removedRule(let rule): remove(rule)
        case .settings(let settings): apply(settings)
        }
    }

    /// Says that what was applied so far was a whole dump.
    ///
    /// - Parameter knowsNeighbours: Whether the neighbours were in it, even if there are none.
    package mutating func dumpEnded(knowsNeighbours: Bool) {
        if knowsNeighbours { neighbours = neighbours ?? [:] }
        learnSettings()
        routes4.compact()
        routes6.compact()
    }

    /// Says that what was told about neighbours is not all of it, so that none counts.
    package mutating func forgetNeighbours() {
        neighbours = nil
    }

    // MARK: Addresses

    private mutating func apply(_ address: InterfaceAddress) {
        if let place = addresses.firstIndex(where: { $0.isSame(as: address) }) {
            addresses[place] = address
        } else {
            addresses.append(address)
        }
        if address.address.family == .v4, let link = links[address.interfaceIndex], link.flags.contains(.up) {
            // Legs that died with the last address live again.
            revive(link, families: [.v4])
        }
    }

    private mutating func remove(_ address: InterfaceAddress) {
        addresses.removeAll { $0.isSame(as: address) }
        guard address.address.family == .v4 else { return }
        let index = address.interfaceIndex
        if !addresses.contains(where: { $0.interfaceIndex == index && $0.address.family == .v4 }) {
            // The kernel takes IPv4 off an interface with its last address, even routes of host scope.
            markDead(family: .v4, interface: index, force: true)
        }
        if !addresses.contains(where: { $0.address == address.address }) {
            dropRoutes(
                .v4, preferring: address.address, table: vrfTable(ofInterface: index) ?? Route.mainTable)
        }
    }

    // MARK: Rules

    private mutating func insert(_ rule: Rule) {
        guard !rules.contains(rule) else { return }
        let place = rules.firstIndex { $0.family == rule.family && $0.priority > rule.priority }
        rules.insert(rule, at: place ?? rules.endIndex)
        program = RuleProgram(self)
    }

    private mutating func remove(_ rule: Rule) {
        guard let place = rules.firstIndex(of: rule) else { return }
        rules.remove(at: place)
        program = RuleProgram(self)
    }

    // MARK: Nexthop objects

    private mutating func apply(_ nexthop: NexthopObject) {
        nexthops[nexthop.id] = nexthop
        refreshRoutes(throughNexthop: nexthop.id)
        for group in nexthops.values where group.members.contains(where: { $0.id == nexthop.id }) {
            refreshRoutes(throughNexthop: group.id)
        }
    }

    /// Removes a nexthop object, its part in groups and the routes that have nothing else.
    mutating func removeNexthop(_ id: UInt32) {
        nexthops[id] = nil
        let doomed = Set(pool.inUse.filter { pool[$0].nexthopID == id })
        drop(doomed)
        for group in nexthops.values where group.members.contains(where: { $0.id == id }) {
            let rest = group.members.filter { $0.id != id }
            if rest.isEmpty {
                removeNexthop(group.id)
            } else {
                nexthops[group.id]?.kind = .group(rest)
                refreshRoutes(throughNexthop: group.id)
            }
        }
    }

    /// Gives the routes through a nexthop object its legs of now.
    private mutating func refreshRoutes(throughNexthop id: UInt32) {
        guard let legs = legs(ofNexthop: id) else { return }
        _ = pool.update { attributes in
            if attributes.nexthopID == id, !attributes.nexthops.isEmpty { attributes.nexthops = legs }
        }
    }

    /// The legs of a nexthop object; none for a blackhole, `nil` where it or a member is not known.
    func legs(ofNexthop id: UInt32) -> [Nexthop]? {
        switch nexthops[id]?.kind {
        case .leg(let leg): return [leg]
        case .blackhole: return []
        case .group(let members):
            var legs: [Nexthop] = []
            for member in members {
                guard case .leg(var leg) = nexthops[member.id]?.kind else {
                    if case .blackhole = nexthops[member.id]?.kind { return [] }
                    return nil
                }
                leg.weight = member.weight
                legs.append(leg)
            }
            return legs
        case .forwarding, nil: return nil
        }
    }
}

extension NexthopObject {
    /// The members of a group; none for anything else.
    fileprivate var members: [Member] {
        guard case .group(let members) = kind else { return [] }
        return members
    }
}

extension InterfaceAddress {
    /// Whether another message is about the same address.
    fileprivate func isSame(as other: InterfaceAddress) -> Bool {
        guard interfaceIndex == other.interfaceIndex, address == other.address else { return false }
        // An interface has an IPv6 address once; the same IPv4 address can stand there for several subnets.
        return address.family == .v6 || (prefixLength == other.prefixLength && peer == other.peer)
    }
}
