// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import RoutingModel

// Routes that a program sets: `fib_create_info` and `fib_table_insert` for IPv4, `ip6_route_info_create` and
// `fib6_add_rt2node` for IPv6.

extension HostState {
    // MARK: Setting

    mutating func setRoute(
        _ request: HostChange.RouteRequest,
        _ verb: HostChange.Verb
    ) throws(KernelRefusal) {
        let isIPv6 = request.destination.family == .v6
        let type = request.type ?? .unicast
        // ip(8) looks names up before its request to the kernel.
        for nexthop in request.nexthops { if let name = nexthop.device { _ = try index(of: name) } }
        guard !isIPv6 || request.tos == 0 else { throw KernelRefusal(EINVAL, "IPv6 routes have no tos") }
        var route = Route(
            destination: request.destination, type: type, table: request.table ?? Route.mainTable,
            origin: request.origin ?? Route.bootOrigin, tos: request.tos, priority: request.metric ?? 0,
            nexthopID: request.nexthopID, expires: request.lifetime)
        try require(request.tos & 3 == 0, EINVAL, "the lower two bits of a tos are those of ECN")
        if isIPv6 {
            if route.priority == 0 { route.priority = 1_024 }
            route.preference = request.preference ?? .medium
        }
        if type.isRejecting {
            // IPv6 puts such routes on the loopback interface, whatever gateway or interface they are given.
            guard request.nexthops.count <= (isIPv6 ? 1 : 0), request.nexthopID == 0 else {
                throw KernelRefusal(EINVAL, "a route of the type \(type) has neither gateway nor interface")
            }
            for nexthop in request.nexthops {
                try require(
                    nexthop.gateway?.family != .v4, EINVAL, "an IPv6 route cannot have an IPv4 gateway")
                try require(
                    !nexthop.isOnLink || nexthop.device != nil, ENODEV, "onlink needs an interface")
            }
            if isIPv6 { route.nexthops = [Nexthop(interfaceIndex: 1)] }
        } else {
            try setNexthops(of: &route, request)
        }
        if !isIPv6, let scope = request.scope { route.scope = try checked(scope, of: route) }
        if let source = request.preferredSource {
            guard snapshot.addresses.contains(where: { $0.address == source }) else {
                throw KernelRefusal(EINVAL, "\(source) is not an address of this host")
            }
            route.preferredSource = source
        }
        try insert(route, verb)
    }

    /// The scope of a new IPv4 route.
    ///
    /// By default, a route without a gateway has the scope link.
    private func checked(_ scope: RouteScope, of route: Route) throws(KernelRefusal) -> RouteScope {
        try require(scope.rawValue <= RouteScope.host.rawValue, EINVAL, "no route has the scope nowhere")
        guard scope != .host else { throw .unknown("scope host is known of addresses alone") }
        guard scope != .link || route.nexthops.allSatisfy({ $0.gateway == nil }) else {
            throw KernelRefusal(ENETUNREACH, "a route of the scope link has no gateway")
        }
        return scope
    }

    private func setNexthops(
        of route: inout Route,
        _ request: HostChange.RouteRequest
    ) throws(KernelRefusal) {
        if request.nexthopID != 0 {
            guard request.nexthops.isEmpty, let nexthops = snapshot.nexthops(ofObject: request.nexthopID)
            else {
                throw KernelRefusal(EINVAL, "there is no nexthop \(request.nexthopID)")
            }
            guard !nexthops.isEmpty, nexthops.allSatisfy({ $0.gateway != nil }) else {
                throw .unknown("the family of the nexthop \(request.nexthopID) is not recorded")
            }
            guard route.destination.family == .v4 || nexthops.allSatisfy({ $0.gateway?.family == .v6 }) else {
                throw KernelRefusal(EINVAL, "an IPv6 route cannot have an IPv4 nexthop")
            }
            route.nexthops = nexthops
            return
        }
        try require(!request.nexthops.isEmpty, ENODEV, "the route has neither a gateway nor an interface")
        if route.destination.family == .v4, !request.isMultipath, request.nexthops[0].gateway == nil {
            route.scope = .link
        }
        for wanted in request.nexthops {
            let nexthop = try nexthop(wanted, of: route)
            if route.destination.family == .v6, route.nexthops.contains(where: nexthop.isDuplicate) {
                throw KernelRefusal(EEXIST, "a nexthop is given twice")
            }
            route.nexthops.append(nexthop)
        }
        guard
            route.destination.family == .v4 || route.nexthops.count == 1
                || route.nexthops.allSatisfy({ $0.gateway != nil })
        else { throw .unknown("an IPv6 route with several nexthops is known with gateways alone") }
    }

    /// Checks a nexthop and creates it.
    private func nexthop(
        _ wanted: HostChange.RouteRequest.Nexthop,
        of route: Route
    ) throws(KernelRefusal) -> Nexthop {
        let index = try wanted.device.map { (name) throws(KernelRefusal) in try self.index(of: name) }
        guard let gateway = wanted.gateway else {
            guard let index else { throw KernelRefusal(ENODEV, "a nexthop has no interface") }
            guard !wanted.isOnLink else { throw KernelRefusal(EINVAL, "onlink is about a gateway") }
            try checkIsReady(index, route.destination.family)
            if route.destination.family == .v6, snapshot.links[index]?.flags.contains(.loopback) == true {
                throw .unknown(
                    "an IPv6 route through the loopback interface rejects packets: give unreachable")
            }
            return nexthop(index, weight: wanted.weight, family: route.destination.family)
        }
        guard route.destination.family == .v4 || gateway.family == .v6 else {
            throw KernelRefusal(EINVAL, "\(gateway) is not an IPv6 address")
        }
        guard gateway.family == .v4 || !gateway.isMulticast && !gateway.isUnspecified else {
            throw KernelRefusal(EINVAL, "\(gateway) is not an address of one host")
        }
        let owner = snapshot.addresses.first { $0.address == gateway }
        if gateway.family == .v6, let owner,
            index == nil || !gateway.isLinkLocal || owner.interfaceIndex == index
        {
            throw KernelRefusal(EINVAL, "the gateway \(gateway) is an address of this host")
        }
        if wanted.isOnLink {
            guard let index else { throw KernelRefusal(ENODEV, "onlink needs an interface") }
            try checkIsUp(index)
            guard owner == nil, try gateway.family == .v4 ? isUnicast(gateway) : fitsOnLink(gateway, index)
            else { throw KernelRefusal(EINVAL, "\(gateway) is not a gateway") }
            try checkIsReady(index, gateway.family)
            return nexthop(
                index, via: gateway, weight: wanted.weight, isOnLink: true, family: route.destination.family)
        }
        let found = try interface(toGateway: gateway, through: index, table: route.table)
        var nexthop = nexthop(found, via: gateway, weight: wanted.weight, family: route.destination.family)
        // `fib_check_nh_v6_gw` ignores the carrier.
        if gateway.family != route.destination.family { nexthop.flags = [] }
        if owner?.interfaceIndex == found {
            nexthop.gatewayScope = routing.ignoresGateway(nexthop, of: route) ? .host : .link
        }
        return nexthop
    }

    /// The interface that is up and has a gateway on its link.
    private func interface(
        toGateway gateway: IPAddress,
        through index: UInt32?,
        table: UInt32
    ) throws(KernelRefusal) -> UInt32 {
        let found: UInt32
        switch (gateway.family, index) {
        case (.v4, _): found = try directIPv4(gateway, index, table)
        case (.v6, nil) where gateway.isLinkLocal:
            throw KernelRefusal(EINVAL, "the gateway \(gateway) needs an interface")
        case (.v6, let index?) where gateway.isLinkLocal: found = index
        case (.v6, _): found = try directIPv6(gateway, index, table)
        }
        try checkIsReady(found, gateway.family)
        return found
    }

    /// Throws if IPv6 is off for an IPv6 nexthop, or the interface is down, as `fib6_nh_init` does after the gateway.
    private func checkIsReady(_ index: UInt32, _ family: IPAddress.Family) throws(KernelRefusal) {
        if family == .v6 { try checkHasIPv6(index) }
        try checkIsUp(index)
    }

    func checkIsUp(_ index: UInt32) throws(KernelRefusal) {
        guard interfaces[index]?.isUp == true else {
            throw KernelRefusal(ENETDOWN, "\(snapshot.links[index]?.name ?? "the interface") is down")
        }
    }

    // MARK: Gateways

    /// Whether an IPv4 address belongs neither to this host nor to several hosts: `inet_addr_type_dev_table`.
    private func isUnicast(_ address: IPAddress) -> Bool {
        let longest = snapshot.chains(over: address, inTables: tables(Route.localTable)).first { _ in true }
        guard let type = longest?[0].type else { return !address.isMulticast }
        return type == .unicast || type.isRejecting
    }

    /// The tables that an IPv4 lookup in one table reads.
    ///
    /// Until a rule is added or removed, local and main share a tree.
    private func tables(_ table: UInt32) -> [UInt32] {
        let isShared = snapshot.program.hasPlainIPv4 && table == Route.localTable
        return isShared ? [Route.localTable, Route.mainTable] : [table]
    }

    /// Whether the main table allows an IPv6 gateway with the flag `onlink` on an interface:
    /// `ip6_route_check_nh_onlink`.
    private func fitsOnLink(_ gateway: IPAddress, _ index: UInt32) throws(KernelRefusal) -> Bool {
        let table = snapshot.vrf(ofInterface: index)?.vrfTable ?? Route.mainTable
        let search = GatewaySearch(isStrict: false, needsCarrier: false)
        guard let hit = try entry(for: gateway, index, table, search), !hit.isRejecting,
            !hit.route.destination.address.isUnspecified
        else { return true }
        return hit.route.type == .unicast && hit.nexthop?.interfaceIndex == index
    }

    /// Walks the rules for the lookup of a gateway, which has no mark, source, user or port.
    private func walkRules<Value>(
        for gateway: IPAddress,
        _ index: UInt32?,
        _ visit: (Rule, Rule.Step) throws(KernelRefusal) -> Value?
    ) throws(KernelRefusal) -> Value? {
        var query = RouteQuery(destination: gateway)
        query.ipProtocol = 0
        var packet = RulePacket(query)
        (packet.user, packet.outputInterface) = (0, index.flatMap { snapshot.links[$0] })
        return try snapshot.rules(gateway.family).walk(
            selects: { (rule) throws(KernelRefusal) -> Bool? in
                // An IPv6 lookup has no incoming interface, and looks at no source of its route.
                gateway.family == .v6 && rule.inputInterface != nil
                    ? rule.isInverted : rule.selects(packet) ?? rule.isInverted
            }, visit: visit)
    }

    /// The interface that has an IPv4 gateway on its link: `fib_check_nh_v4_gw`, which skips routes through other
    /// gateways.
    private func directIPv4(
        _ gateway: IPAddress,
        _ index: UInt32?,
        _ table: UInt32
    ) throws(KernelRefusal) -> UInt32 {
        var found = table == Route.mainTable ? nil : direct(gateway, index, table)
        if found == nil {
            found = try walkRules(for: gateway, index) { (rule, step) throws(KernelRefusal) in
                if case .refusal(let rejection) = step {
                    throw KernelRefusal(
                        rejection.rawValue, "the rule \(rule.priority) rejects the gateway \(gateway)")
                }
                guard case .table(let table) = step, let hit = direct(gateway, index, table) else {
                    return nil
                }
                let exit = hit.nexthop.flatMap { snapshot.links[$0.interfaceIndex] }
                return rule.suppresses(length: hit.length, group: exit?.group) ? nil : hit
            }
        }
        guard let found else {
            throw KernelRefusal(ENETUNREACH, "no interface has the gateway \(gateway) on its link")
        }
        guard found.type == .unicast || found.type == .local, let nexthop = found.nexthop else {
            throw KernelRefusal(EINVAL, "\(gateway) is not a gateway: its route is of the type \(found.type)")
        }
        try checkIsUp(nexthop.interfaceIndex)
        return nexthop.interfaceIndex
    }

    /// The entry of a table that decides about an IPv4 gateway.
    private func direct(
        _ gateway: IPAddress,
        _ index: UInt32?,
        _ table: UInt32
    ) -> (type: RouteType, nexthop: Nexthop?, length: Int)? {
        for route in snapshot.chains(over: gateway, inTables: tables(table)).joined()
        where route.tos == 0 && route.scope.rawValue >= RouteScope.link.rawValue {
            if route.type == .throw { return nil }
            if route.type.isRejecting { return (route.type, nil, route.destination.length) }
            let usable = route.nexthops.first { nexthop in
                isUsable(nexthop) && (index == nil || nexthop.interfaceIndex == index)
            }
            if let usable { return (route.type, usable, route.destination.length) }
        }
        return nil
    }

    /// Whether a nexthop can have a gateway on its link.
    ///
    /// It needs no carrier for that.
    private func isUsable(_ nexthop: Nexthop) -> Bool {
        guard nexthop.flags.contains(.dead) else { return true }
        return nexthop.flags.contains(.linkDown) && interfaces[nexthop.interfaceIndex]?.isUp == true
    }

    /// The interface that has an IPv6 gateway on its link: `ip6_route_check_nh`.
    private func directIPv6(
        _ gateway: IPAddress,
        _ index: UInt32?,
        _ table: UInt32
    ) throws(KernelRefusal) -> UInt32 {
        func interface(_ hit: SnapshotLookup.Hit?) -> UInt32? {
            hit.flatMap { $0.isRejecting || $0.nexthop?.gateway != nil ? nil : $0.nexthop?.interfaceIndex }
        }
        var search = GatewaySearch(isStrict: true, needsCarrier: false)
        var found = interface(try entry(for: gateway, index, table, search))
        try require(
            found != nil || !snapshot.program.lacksIPv6Rules, SnapshotLookup.Unknown.rules6.reason)
        // Only the lookup in the table of the route ignores the carrier (RT6_LOOKUP_F_IGNORE_LINKSTATE).
        search.needsCarrier = true
        if found == nil {
            found =
                try walkRules(for: gateway, index) { (_, step) throws(KernelRefusal) -> UInt32?? in
                    // `fib6_lookup` ends at the first entry, whatever the rule suppresses.
                    guard case .table(let table) = step,
                        let hit = try entry(for: gateway, index, table, search)
                    else { return nil }
                    return .some(interface(hit))
                } ?? nil
        }
        guard let found else {
            throw KernelRefusal(EHOSTUNREACH, "no interface has the gateway \(gateway) on its link")
        }
        guard snapshot.links[found]?.flags.contains(.loopback) != true else {
            throw KernelRefusal(EINVAL, "the gateway \(gateway) is on the loopback interface")
        }
        return found
    }

    /// The entry of a table for an IPv6 gateway.
    private func entry(
        for gateway: IPAddress,
        _ index: UInt32?,
        _ table: UInt32,
        _ search: GatewaySearch
    ) throws(KernelRefusal) -> SnapshotLookup.Hit? {
        do {
            return try SnapshotLookup.entry(snapshot, for: gateway, index ?? 0, table, search)
        } catch {
            throw .unknown(error.message)
        }
    }

    // MARK: Inserting

    /// The routes that conflict with a new one.
    ///
    /// With NLM_F_EXCL, the kernel refuses the new route.
    func rivals(of route: Route) -> [Route] {
        snapshot.routes(to: route.destination, table: route.table).filter {
            $0.tos == route.tos && $0.source == route.source && $0.priority == route.priority
        }
    }

    private mutating func insert(_ route: Route, _ verb: HostChange.Verb) throws(KernelRefusal) {
        let rivals = rivals(of: route)
        if verb == .add, !rivals.isEmpty {
            throw KernelRefusal(EEXIST, "there is a route to \(route.destination) of that metric")
        }
        if verb == .change, rivals.isEmpty {
            throw KernelRefusal(ENOENT, "there is no route to \(route.destination) of that metric")
        }
        switch route.destination.family {
        case .v4: try insertIPv4(route, verb, rivals)
        case .v6: try insertIPv6(route, verb, rivals)
        }
    }

    private mutating func insertIPv4(
        _ route: Route,
        _ verb: HostChange.Verb,
        _ rivals: [Route]
    ) throws(KernelRefusal) {
        let isKnown = rivals.contains {
            $0.type == route.type && $0.scope == route.scope && $0.isAlike(route)
        }
        switch verb {
        case .append where isKnown, .prepend where isKnown:
            throw KernelRefusal(EEXIST, "there is a route to \(route.destination) of that metric")
        case .replace where isKnown && rivals.first?.isAlike(route) != true,
            .change where isKnown && rivals.first?.isAlike(route) != true:
            throw KernelRefusal(EEXIST, "there is an equal route to \(route.destination) behind another")
        case .replace, .change: apply(.route(route, .replacing), .route(route.destination))
        case .prepend: apply(.route(route, .first), .route(route.destination))
        default: insert(route)
        }
    }

    private mutating func insertIPv6(
        _ route: Route,
        _ verb: HostChange.Verb,
        _ rivals: [Route]
    ) throws(KernelRefusal) {
        if verb == .replace || verb == .change {
            return apply(.route(route, .replacing), .route(route.destination))
        }
        guard !rivals.contains(where: { $0.hasAny(of: route) }) else {
            throw KernelRefusal(EEXIST, "there is a route to \(route.destination) with that nexthop")
        }
        var route = route
        if route.balances, let group = rivals.first(where: \.balances) {
            // The kernel joins the nexthops of routes with the same metric.
            route.nexthops = group.nexthops + route.nexthops
        }
        insert(route)
    }

    // MARK: Removing

    mutating func removeRoute(_ request: HostChange.RouteRequest) throws(KernelRefusal) {
        let isIPv6 = request.destination.family == .v6
        let wanted = request.nexthops.first
        let index = try wanted?.device.map { (name) throws(KernelRefusal) in try self.index(of: name) }
        func isMeant(_ nexthop: Nexthop) -> Bool {
            (index == nil || nexthop.interfaceIndex == index)
                && (wanted?.gateway == nil || nexthop.gateway == wanted?.gateway)
        }
        try require(!request.isMultipath, "a route to be removed is known by one nexthop at most")
        let routes = snapshot.routes(to: request.destination, table: request.table ?? Route.mainTable)
        let found = routes.first { route in
            // IPv4 compares only the first nexthop.
            let nexthops = isIPv6 ? route.nexthops[...] : route.nexthops.prefix(1)
            return (isIPv6 ? route.source == nil : route.tos == request.tos)
                && (isIPv6 || request.scope.map { $0 == route.scope } ?? true)
                && (isIPv6 || request.type.map { $0 == route.type } ?? true)
                && (request.metric ?? 0 == 0 || request.metric == route.priority)
                && (request.origin.map { $0 == route.origin } ?? true)
                && (isIPv6 || request.preferredSource.map { $0 == route.preferredSource } ?? true)
                && (request.nexthopID == 0 || request.nexthopID == route.nexthopID)
                // With a nexthop object, an IPv6 route is removed regardless of its nexthops, and an IPv4 route is
                // not.
                && (wanted == nil || isIPv6 && route.nexthopID != 0
                    || route.nexthopID == 0 && nexthops.contains(where: isMeant))
        }
        guard var route = found else {
            // The root of an IPv6 table has an entry that is not a route.
            let isRoot = isIPv6 && request.destination.isDefault && wanted == nil && request.metric == nil
            throw KernelRefusal(
                isRoot ? ENOENT : ESRCH, "there is no such route to \(request.destination)")
        }
        if isIPv6, route.nexthopID == 0, wanted?.gateway != nil {
            // One of several nexthops is removed alone.
            route.nexthops = Array(route.nexthops.filter(isMeant).prefix(1))
        }
        remove(route)
    }
}

extension Route {
    /// Whether another route has the same nexthops.
    fileprivate func isAlike(_ other: Route) -> Bool {
        var (left, right) = (identity, other.identity)
        right.origin = left.origin
        left.flags = right.flags
        return left == right && origin == other.origin
    }

    /// Whether the route shares a nexthop with another IPv6 route: `rt6_duplicate_nexthop`.
    fileprivate func hasAny(of other: Route) -> Bool {
        nexthops.contains { other.nexthops.contains(where: $0.isDuplicate) }
    }
}
