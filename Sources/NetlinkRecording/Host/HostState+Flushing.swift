// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// The removals of `ip flush`: each entry of a dump that matches a filter, one after the other.

extension HostState {
    mutating func flush(_ flush: HostChange.AddressFlush) throws(KernelRefusal) {
        let index = try flush.device.map { (name) throws(KernelRefusal) in try self.index(of: name) }
        let all = index.map { index in
            IPAddress.Family.allCases.flatMap { snapshot.addresses(ofInterface: index, family: $0) }
        }
        let matching = (all ?? snapshot.addresses).filter(flush.matches)
        // Secondary addresses are removed first, so that none is promoted. The addresses that the filter leaves
        // decide about the rest.
        for address in matching.filter({ !$0.isPrimary }) { remove(address) }
        for address in matching where address.isPrimary { try checkedRemove(address) }
    }

    mutating func flush(_ flush: HostChange.RouteFlush) throws(KernelRefusal) {
        let table = flush.table ?? Route.mainTable
        let index = try flush.device.map { (name) throws(KernelRefusal) in try self.index(of: name) }
        guard snapshot.routeTables.index(ofTable: table, flush.family) != nil else {
            throw .unknown("the table \(table) holds no route, and whether the kernel has it is not recorded")
        }
        // Of main, ip(8) shows no IPv6 route of type local, and flushes what it shows (`filter_nlmsg` of iproute2).
        let hidesLocal = flush.family == .v6 && table == Route.mainTable
        let matching = snapshot.routes(ofTable: table, flush.family).filter {
            flush.matches($0, index) && !(hidesLocal && $0.type == .local)
        }
        // `ip route flush` sends each route back as it was dumped, with both the nexthop and the object:
        // `rtm_to_fib_config`.
        try require(
            matching.allSatisfy({ $0.nexthopID == 0 }),
            "the kernel refuses to flush routes through nexthop objects, and removes others before it does: "
                + "delete each of them")
        for route in matching { remove(route) }
    }

    /// Removes the rules of a family, except those with priority 0.
    mutating func flushRules(_ family: IPAddress.Family) {
        for rule in snapshot.rules where rule.family == family && rule.priority != 0 {
            apply(.removedRule(rule), .rule)
        }
    }
}

extension HostChange.AddressFlush {
    fileprivate func matches(_ address: InterfaceAddress) -> Bool {
        (family == nil || family == address.address.family) && (scope == nil || scope == address.scope)
            && (prefix?.contains(address.address) ?? true)
    }
}

extension HostChange.RouteFlush {
    /// Whether a route matches.
    ///
    /// The filter compares the nexthop only of a route with a single one.
    fileprivate func matches(_ route: Route, _ index: UInt32?) -> Bool {
        let only = route.nexthops.count == 1 ? route.nexthops.first : nil
        return (index == nil || only?.interfaceIndex == index)
            && (gateway?.contains(only?.gateway ?? (family == .v4 ? .anyV4 : .anyV6)) ?? true)
            && (origin == nil || route.origin == origin) && (scope == nil || route.scope == scope)
            && (type == nil || route.type == type)
            && (prefix.map { isRoot ? $0.contains(route.destination) : $0 == route.destination } ?? true)
    }
}
