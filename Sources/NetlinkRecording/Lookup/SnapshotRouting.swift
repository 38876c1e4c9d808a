// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// A recorded network as a source of facts.
///
/// Every query is answered within the process.
///
/// It is a value: change ``snapshot`` and query again.
package struct SnapshotRouting: Sendable {
    /// The network.
    package var snapshot: NetworkSnapshot
    /// The interfaces that nl80211 lists as Wi-Fi.
    ///
    /// No rtnetlink message contains this fact.
    package var wirelessIndexes: Set<UInt32>
    /// The interfaces that sysfs reports as cellular modems.
    ///
    /// No rtnetlink message contains this fact.
    package var cellularIndexes: Set<UInt32>
    /// Whether anything answers on the default path at the snapshot's time; `nil` if it is not known.
    package var evidence: NetworkEvidence?

    /// Moves the snapshot's clock forward, never back.
    package mutating func moveClock(to clock: Int64) {
        guard clock > snapshot.clock else { return }
        evidence = evidence?.aged(by: .milliseconds((clock - snapshot.clock) * 10))
        snapshot.clock = clock
    }

    /// Creates a source from a snapshot.
    package init(
        _ snapshot: NetworkSnapshot,
        wirelessIndexes: Set<UInt32> = [],
        cellularIndexes: Set<UInt32> = []
    ) {
        self.snapshot = snapshot
        self.wirelessIndexes = wirelessIndexes
        self.cellularIndexes = cellularIndexes
    }
}

extension SnapshotRouting: RoutingSource {
    package func answer(_ lookups: inout [RouteLookup], from first: Int) -> [InterfaceReading] {
        lookups.answer(from: first) { (query) throws(ReachabilityError) in try answer(to: query) }
        return []
    }

    package func answer(to query: RouteQuery) throws(ReachabilityError) -> RouteAnswer {
        if query.selectsNexthop { return try choice(for: query) }
        // The common case: one plain route decides, and the source address has no effect.
        if !query.wantsEntry, let answer = snapshot.plainAnswer(to: query) { return answer }
        return try snapshot.answer(to: query).with { match in
            guard let entry = match.entry else { return }
            match.type = query.type(of: entry.type, origin: entry.origin)
            match.dependsOnSource =
                query.dependsOnSource(entry.type, origin: entry.origin)
                || snapshot.hasRules(forSourceOf: query)
        }
    }

    package func answer<Answer>(_ query: HostQuery<Answer>) throws(ReachabilityError) -> Answer {
        switch query {
        case .interface(let index, let detail, let give):
            give(try facts(about: snapshot.links[index], detail))
        case .links(let give): give(Array(snapshot.links.values))
        case .rules(let give): give(snapshot.rules)
        case .addresses(let give): give(snapshot.addresses)
        case .interfaceIndex(let name, let give):
            give(snapshot.links.values.first { $0.isNamed(name) }?.index)
        case .askingUser(let give): give(snapshot.askingUser)
        case .inputSettings(let index, let give): give(snapshot.inputSettings(ofInterface: index))
        case .routes(let query, let give):
            give(Array(snapshot.chains(over: query.address, inTables: [query.table]).joined()))
        case .refusingRoutes(let destinations, let give):
            give(
                destinations.flatMap { snapshot.routes(over: $0) }
                    .filter { RouteType.refusing.contains($0.type) }.withoutRepeats())
        case .hostRoutes(let table, let give):
            give(
                IPAddress.Family.allCases.flatMap { snapshot.routes(ofTable: table, $0) }
                    .filter(\.isHostRoute).map(\.destination.address))
        case .sourceAddresses(let query, let give): give(try sources(for: query.packet, after: query.answer))
        case .answerRecord(let give): give(evidence.map(AnswerRecord.recorded))
        // No table has these.
        case .forwardingEnds(_, let give): give([])
        case .wireGuardPeers(_, let give): give(nil)
        case .multipathHashPolicy(_, let give): give(nil)
        case .connect(_, let give): give(nil)
        case .hardwareAddresses(let give): give(nil)
        case .ssid(_, let give): give(nil)
        }
    }

    /// The entry with the nexthops that a packet can take: several, where the kernel chooses one of them.
    ///
    /// There are several if the kernel chooses one by a hash.
    ///
    /// A snapshot does not contain the hash. The source is that of the query or of the entry, else the only one that
    /// the kernel can select, or the unspecified address for none. If the kernel can select several sources, the source
    /// is `nil`, or one of them if routers forward packets from none of them.
    private func choice(for query: RouteQuery) throws(ReachabilityError) -> RouteAnswer {
        let answer = try snapshot.answer(to: query)
        if query.inputInterface != 0 { return answer }
        guard var route = answer.entry else {
            return try groupChoice(for: query) ?? linkChoice(for: query) ?? answer
        }
        let sources =
            if let source = query.source ?? snapshot.groupSource(for: query) { [source] } else {
                try self.sources(for: query, after: answer)
            }
        let live = route.nexthops.filter { !$0.flags.contains(.dead) }
        let bound = live.filter { $0.interfaceIndex == query.outputInterface && !route.ignoresBinding }
            .prefix(1)
        route.nexthops = Array(!bound.isEmpty ? bound : live.isEmpty ? route.nexthops.prefix(1) : live[...])
        // `__mkroute_output`: a group uses the gateway of a route for groups alone.
        let isOfGroup =
            route.type == .broadcast
            || query.destination.isMulticastIPv4 && route.destination.length < 4
        for index in route.nexthops.indices
        where isOfGroup || ignoresGateway(route.nexthops[index], of: route) {
            route.nexthops[index].gateway = nil
        }
        if isLocalGroup(query, route) {
            let vrf = route.nexthops.first.flatMap { snapshot.vrf(ofInterface: $0.interfaceIndex) }
            let receivers = vrf.map { [$0] } ?? snapshot.links.values.filter { $0.flags.contains(.loopback) }
            route.nexthops = receivers.map { Nexthop(interfaceIndex: $0.index) }
        }
        let none: IPAddress = query.destination.family == .v4 ? .anyV4 : .anyV6
        let isOnlyLocal =
            query.destination.family == .v6 && !query.destination.isLinkLocal
            && sources.allSatisfy { $0.isLinkLocal || $0.isLoopback }
        return .route(route).with {
            $0.type = query.type(of: route.type, origin: route.origin)
            $0.source = sources.count < 2 || isOnlyLocal ? sources.first ?? none : nil
        }
    }

    /// Whether the kernel ignores a gateway and treats the destination as on the link.
    ///
    /// It does so if the gateway is an IPv4 address of the nexthop's own interface: the scope of such a nexthop is
    /// `host` (`fib_check_nh_v4_gw`).
    ///
    /// The kernel decides this when the route is added, and no message contains the decision. For a route in a dump,
    /// the addresses and routes in that dump decide.
    func ignoresGateway(_ nexthop: Nexthop, of route: Route) -> Bool {
        guard let gateway = nexthop.gateway, gateway.family == .v4, !nexthop.flags.contains(.onLink) else {
            return false
        }
        return switch nexthop.gatewayScope {
        case .unnoted:
            snapshot.addressBook.contains(gateway, ofInterface: nexthop.interfaceIndex)
                && !isOnLink(gateway, nexthop, of: route)
        case .host: true
        case .link: false
        }
    }

    /// Whether the table of a route has its gateway on the link.
    ///
    /// The kernel looks for a gateway in the route's own table first, unless that is the main table.
    private func isOnLink(_ gateway: IPAddress, _ nexthop: Nexthop, of route: Route) -> Bool {
        guard route.table != Route.mainTable, route.nexthopID == 0 else { return false }
        let entry = snapshot.chains(over: gateway, inTables: [route.table]).joined().first { entry in
            entry.tos == 0 && entry.scope.rawValue >= RouteScope.link.rawValue
                && (entry.nexthops.isEmpty
                    || entry.nexthops.contains { $0.interfaceIndex == nexthop.interfaceIndex })
        }
        return entry?.type == .unicast && entry?.scope == .link
    }

    /// The route of an IPv4 destination without a matching route, for a bound socket.
    ///
    /// `ip_route_output_key_hash_rcu` treats the destination as on the link, except in a VRF, and selects a source of
    /// that link.
    private func linkChoice(for query: RouteQuery) -> RouteAnswer? {
        guard query.destination.family == .v4, !query.destination.isIPv4Group,
            let link = snapshot.links[query.outputInterface], link.flags.contains(.up),
            snapshot.vrf(ofInterface: link.index) == nil
        else { return nil }
        let source = snapshot.ipv4Source(near: nil, scope: .link, through: link.index) ?? .anyV4
        return .taken(RouteMatch(.unicast, Nexthop(interfaceIndex: link.index)))
            .with { $0.source = query.source ?? source }
    }

    /// The route of an IPv4 multicast or broadcast destination without a matching route:
    /// `ip_route_output_key_hash_rcu` uses the interface of the binding, or of the source address.
    private func groupChoice(for query: RouteQuery) throws(ReachabilityError) -> RouteAnswer? {
        guard query.destination.isIPv4Group else { return nil }
        let index: UInt32
        if query.outputInterface != 0 {
            index = query.outputInterface
            guard snapshot.links[index]?.flags.contains(.up) == true else { return nil }
        } else {
            var lookup = SnapshotLookup(snapshot, query)
            guard let source = query.source, let owner = try lookup.interface(ofSource: source) else {
                return nil
            }
            index = owner
        }
        let type = query.destination.isMulticast ? RouteType.multicast : .broadcast
        return .taken(RouteMatch(type, Nexthop(interfaceIndex: index)))
            .with { $0.source = query.source ?? snapshot.groupSource(for: query) ?? .anyV4 }
    }

    /// Whether the route of an IPv4 group is of type local: its packets stay in this host
    /// (`ip_route_output_key_hash_rcu`).
    private func isLocalGroup(_ query: RouteQuery, _ route: Route) -> Bool {
        query.destination.isIPv4Group
            && snapshot.chains(over: query.destination, inTables: [route.table]).joined().contains {
                $0.type == .local && $0.destination == route.destination && $0.tos == route.tos
                    && $0.priority == route.priority
            }
    }

    /// Selects among the recorded addresses, those of a VRF for its interfaces.
    private func sources(
        for query: RouteQuery,
        after answer: RouteAnswer
    ) throws(ReachabilityError) -> [IPAddress] {
        guard case .taken(let match) = answer else {
            guard query.destination.family == .v6 else { return [] }
            return SourceAddressSelection.candidates(
                for: query.destination,
                among: addresses(inDomainOf: query.outputInterface)
            )
        }
        let entry = if let known = match.entry { known } else { try snapshot.answer(to: query).entry }
        guard let route = entry else { return [] }
        if query.destination.family == .v4, route.type == .local || isLocalGroup(query, route) {
            return [route.preferredSource ?? query.destination.withoutZone]
        }
        var sources: [IPAddress] = []
        for nexthop in route.nexthops.possible {
            let found =
                if let domain = domainLeft(by: query, through: nexthop) {
                    self.sources(for: query.destination, .link, through: domain, near: nil)
                } else if let source = route.preferredSource {
                    [source]
                } else {
                    scopes(of: route, through: nexthop).flatMap {
                        self.sources(
                            for: query.destination, $0, through: nexthop.interfaceIndex, near: nexthop.gateway
                        )
                    }
                }
            for source in found where !sources.contains(source) { sources.append(source) }
        }
        return sources
    }

    /// The scopes for which the kernel may have selected an IPv4 source address.
    ///
    /// The kernel stores the source with the nexthop. A nexthop object selects the source for its own scope when it
    /// is added. After any change of an address, the first route that is used selects the source for its scope
    /// (`fib_info_update_nhc_saddr`).
    private func scopes(of route: Route, through nexthop: Nexthop) -> [RouteScope] {
        guard route.destination.family == .v4, route.nexthopID != 0 else { return [route.scope] }
        return [route.scope, nexthop.gateway == nil ? .host : .link]
    }

    /// The VRF of a socket whose packets leave the VRF; `nil` for others.
    ///
    /// Newer kernels select an address of the VRF, older ones an address of the other interface (`fib_select_path`,
    /// `ip6_route_get_saddr`).
    private func domainLeft(by query: RouteQuery, through nexthop: Nexthop) -> UInt32? {
        guard let domain = snapshot.vrf(ofInterface: query.outputInterface)?.index,
            domain != snapshot.vrf(ofInterface: nexthop.interfaceIndex)?.index
        else { return nil }
        return snapshot.isKernel(before: 6, 1) ? nil : domain
    }

    /// The addresses that the kernel can select on an interface; if there are none, on the interfaces of its VRF.
    private func sources(
        for destination: IPAddress,
        _ scope: RouteScope,
        through index: UInt32,
        near gateway: IPAddress?
    ) -> [IPAddress] {
        guard destination.family == .v4 else {
            return SourceAddressSelection.candidates(
                for: destination,
                among: addresses(inDomainOf: index),
                outgoingInterface: index,
                onInterfaceAlone: snapshot.links[index]?.settings.ipv6SelectsOnInterface == true
            )
        }
        let source = snapshot.ipv4Source(near: gateway, scope: scope, through: index)
        return source.map { [$0] } ?? []
    }

    /// The addresses of the VRF that an interface is, or is a port of; or of all interfaces without a VRF.
    private func addresses(inDomainOf index: UInt32) -> [InterfaceAddress] {
        let vrf = snapshot.vrf(ofInterface: index)?.index
        return snapshot.addresses.filter { snapshot.vrf(ofInterface: $0.interfaceIndex)?.index == vrf }
    }

    private func facts(about link: Link?, _ detail: QueryDetail) throws(ReachabilityError) -> InterfaceFacts?
    {
        guard let link else { return nil }
        let isModem = cellularIndexes.contains(link.index)
        return try gatherFacts(about: link, isCellularDevice: isModem, detail: detail)
    }
}

extension SnapshotRouting: LinkDirectory {
    package func link(_ index: UInt32) throws(ReachabilityError) -> Link? {
        snapshot.links[index]
    }

    package func ipv4Addresses(ofInterface index: UInt32) throws(ReachabilityError) -> [InterfaceAddress] {
        snapshot.addresses(ofInterface: index, family: .v4)
    }
}
