// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// Whether packets leave through an interface, and what the kernel meets first that keeps them from it.

/// What leads packets elsewhere, while it is looked for.
private struct EgressSearch {
    let link: Link
    let evaluation: Evaluation
    let query: RouteQuery
    /// The names of the interfaces of all routes.
    var names: [UInt32: String] = [:]

    /// The outcome for packets that are routed there, and do not leave.
    var blocked: PacketEgress {
        let obstacle: PacketEgress.Obstacle =
            evaluation.kind.isAboutSource
            ? .source : evaluation.kind == .interfaceDown ? .interfaceDown : .noCarrier
        return PacketEgress(
            obstacle, evaluation.reason.description, route: evaluation.answer?.entry.map(named))
    }

    /// How packets leave through the interface, in words.
    ///
    /// Of several nexthops, the one that decided can be on another interface.
    func words(of answer: RouteAnswer) -> String {
        guard Set(answer.nexthops.map(\.interfaceIndex)).count > 1, answer.type == .unicast,
            let nexthop = answer.nexthops.first(where: { $0.interfaceIndex == link.index })
        else { return "\(evaluation.reason)" }
        let reason = ReachabilityReason(
            nexthop.gateway == nil ? .onLink : .gateway, link.name,
            other: nexthop.gateway?.description ?? "")
        return "those of some connections, \(reason)"
    }

    func named(_ route: Route) -> NetworkRoute { NetworkRoute(route, name: { names[$0] }) }

    /// A route in words, with the interfaces that it leaves through.
    func words(_ route: Route) -> String {
        let exits = Set(route.nexthops.compactMap { names[$0.interfaceIndex] }).sorted()
        return named(route).shortWords + (exits.isEmpty ? "" : " on \(exits.joined(separator: " and "))")
    }

    /// Whether a route takes the packets, and out of the interface.
    func leads(_ route: Route) -> Bool {
        let leaves = [RouteType.unicast, .multicast, .broadcast].contains(route.type)
        return (leaves || route.type == .local && link.flags.contains(.loopback))
            && (route.tos == 0 || route.tos == query.comparedTypeOfService)
            && route.source.map { prefix in query.source.map(prefix.contains) ?? false } ?? true
            && !route.isCloned && route.nexthops.contains { $0.interfaceIndex == link.index }
    }
}

extension Known {
    /// Whether packets to a target leave through an interface.
    ///
    /// - Throws: An ``Interruption`` if it needs more, or the outcome is not known.
    mutating func egress(
        of target: ReachabilityTarget,
        _ options: ReachabilityOptions,
        through interface: BoundInterface
    ) throws(Interruption) -> PacketEgress {
        let evaluation = try evaluation(of: target, options, .full)
        guard let link = try link(interface.index) else {
            return PacketEgress(.interfaceDown, "\(interface.name) is gone")
        }
        guard let query = evaluation.query, let answer = evaluation.answer else {
            let isAboutSource = evaluation.kind.isAboutSource
            return PacketEgress(isAboutSource ? .source : .target, evaluation.reason.description)
        }
        var search = EgressSearch(link: link, evaluation: evaluation, query: query)
        for link in try host.links.get() { search.names[link.index] = link.name }
        let isDelivered = answer.type == .local || answer.type == .anycast
        let exits = isDelivered ? [1] : answer.nexthops.map(\.interfaceIndex)
        if exits.contains(link.index) {
            guard evaluation.rank == 2 else { return search.blocked }
            let isDown = answer.nexthops.allSatisfy { $0.isDown || $0.interfaceIndex != link.index }
            if isDown, !isDelivered, evaluation.nexthop?.interfaceIndex != link.index {
                return PacketEgress(.noCarrier, "\(link.name) has no carrier")
            }
            return PacketEgress(nil, search.words(of: answer), route: answer.entry.map(search.named))
        }
        if isDelivered {
            return PacketEgress(
                .route, "\(evaluation.reason): its packets stay on lo", route: answer.entry.map(search.named))
        }
        if query.outputInterface != 0, query.outputInterface != link.index {
            return PacketEgress(
                .binding, "the socket is bound to \(evaluation.boundInterface ?? "another interface")")
        }
        guard link.flags.contains(.up) else { return PacketEgress(.interfaceDown, "\(link.name) is down") }
        if answer.isRejected, evaluation.kind.isAboutSource { return search.blocked }
        let walk = try rules(of: query, answer)
        guard walk.undecided.isEmpty else {
            throw .undecided(
                "find what keeps packets from \(link.name)",
                "it is not known whether the rule \(walk.undecided[0]) selects them")
        }
        return try obstacle(walk, search)
    }

    /// What keeps packets that leave elsewhere, or not at all, from leaving through an interface.
    private mutating func obstacle(
        _ walk: RuleWalk,
        _ search: EgressSearch
    ) throws(Interruption) -> PacketEgress {
        // The tables behind rules that refuse the packets count, too. The other rules can point to such a rule.
        var steps: [(rule: Rule, table: UInt32)] = []
        let leading = walk.rules.map { rule in
            var rule = rule
            if case .refusal? = rule.step(vrfTable: nil) { rule.action = .nop }
            return rule
        }
        leading.walk(for: walk.packet) { rule, step -> Void? in
            if case .table(let table) = step { steps.append((rule, table)) }
            return nil
        }
        let others = walk.rules.compactMap { rule -> (rule: Rule, table: UInt32)? in
            guard case .table(let table)? = rule.step(vrfTable: nil),
                !steps.contains(where: { $0.table == table })
            else { return nil }
            return (rule, table)
        }
        var routes = try routes(inTables: steps.map { $0.table }, search)
        /// The first route of a table that leads there.
        func there(_ table: UInt32) -> Route? {
            routes[table]?.filter(search.leads).min {
                ($1.destination.length, $0.priority) < ($0.destination.length, $1.priority)
            }
        }
        let candidates = steps.compactMap { (rule, table) in there(table).map { (rule: rule, route: $0) } }
        let isPassedOver = { (rule: Rule, route: Route) in
            rule.suppresses(length: route.destination.length, group: search.link.group)
        }
        guard let (rule, other) = candidates.first(where: { !isPassedOver($0, $1) }) ?? candidates.first
        else {
            routes = try self.routes(inTables: others.map { $0.table }, search)
            guard let step = others.first(where: { there($0.table) != nil }), let other = there(step.table)
            else {
                return PacketEgress(.noRoute, "no route through \(search.link.name)", rule: walk.deciding)
            }
            return PacketEgress(
                .selector,
                "the route \(search.words(other)) is for other packets, by the rule \(step.rule)",
                rule: step.rule, other: search.named(other))
        }
        return try search.obstacle(walk, before: other, by: rule, in: routes[other.table] ?? [])
    }

    /// The routes over the destination in each of the tables.
    private mutating func routes(
        inTables tables: [UInt32],
        _ search: EgressSearch
    ) throws(Interruption) -> [UInt32: [Route]] {
        let tables = Set(tables).sorted()
        let address = search.query.destination.withoutZone
        let found = try values(of: tables) { (table, known) throws(Interruption) in
            try known.host.routes.get(TableQuery(table: table, address: address))
        }
        return Dictionary(uniqueKeysWithValues: zip(tables, found))
    }
}

extension EgressSearch {
    /// What the kernel meets before a route through the interface.
    fileprivate func obstacle(
        _ walk: RuleWalk, before other: Route, by rule: Rule, in routes: [Route]
    ) throws(Interruption) -> PacketEgress {
        let entry = walk.route
        func egress(
            _ obstacle: PacketEgress.Obstacle, _ reason: String, _ route: Route? = nil, rule: Rule? = nil
        ) -> PacketEgress {
            PacketEgress(
                obstacle, reason, rule: rule ?? walk.deciding, route: (route ?? entry).map(named),
                other: named(other))
        }
        let nexthops = other.nexthops.filter { $0.interfaceIndex == link.index }
        /// The kernel has looked the route up, and does not use it.
        func ignored() throws(Interruption) -> PacketEgress {
            guard !link.canSend || nexthops.allSatisfy(\.isDown) else {
                throw .undecided(
                    "find what keeps packets from \(link.name)",
                    "the kernel does not use the route \(words(other)), and does not show why")
            }
            return egress(.noCarrier, "\(link.name) has no carrier, and routes without one are ignored")
        }
        let place = walk.deciding.flatMap { walk.rules.firstIndex(of: $0) } ?? walk.rules.endIndex
        if let own = walk.rules.firstIndex(of: rule), own < place {
            // The table of the route was looked up, and the packets did not take it.
            if rule.suppresses(length: other.destination.length, group: link.group) {
                return egress(.rule, "the rule \(rule) passes over \(words(other))", rule: rule)
            }
            if let first = routes.refusing(before: other) {
                return egress(
                    .route, "the route \(words(first)) comes before \(words(other))", first, rule: rule)
            }
            return try ignored()
        }
        let isOwnTable = entry?.table == other.table
        if let deciding = walk.deciding, !isOwnTable, !Rule.standard.contains(deciding) {
            let what = entry.map { "has \(words($0))" } ?? "refuses the packets"
            return egress(.rule, "the rule \(deciding) comes first, and \(what)")
        }
        guard let entry else { return try ignored() }
        if isOwnTable, entry.destination.length > other.destination.length {
            return egress(.prefix, "the route \(words(entry)) has a longer prefix than \(words(other))")
        }
        if isOwnTable, entry.destination == other.destination, entry.priority < other.priority {
            return egress(.metric, "the route \(words(entry)) has a lower metric than \(words(other))")
        }
        if isOwnTable, entry.nexthops.contains(where: { $0.interfaceIndex == link.index }) {
            return egress(.hash, "the kernel chooses another nexthop of \(words(entry)) by a hash")
        }
        if isOwnTable, nexthops.allSatisfy({ $0.flags.contains(.dead) }) { return try ignored() }
        return egress(.route, "the route \(words(entry)) comes before \(words(other))")
    }
}

extension [Route] {
    /// The route of a type that sends nothing that a lookup finds before another one; `nil` for none.
    fileprivate func refusing(before other: Route) -> Route? {
        filter { route in
            route.type.isRejecting
                && (other.destination.length, route.priority) <= (route.destination.length, other.priority)
        }.max { $0.destination.length < $1.destination.length }
    }
}

extension ReachabilityReason.Code {
    /// Whether no packet leaves for want of a source address.
    fileprivate var isAboutSource: Bool {
        [.noSourceAddress, .unusableSource, .notOwnAddress, .loopbackSource].contains(self)
    }
}
