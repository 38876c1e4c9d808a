// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// One query to a snapshot: policy rules in order, longest prefix, metric, state of the nexthops.
///
/// Each family has its own rules for this.
///
/// The answer is the kernel's answer to RTM_GETROUTE with RTM_F_FIB_MATCH on a host with the snapshot's tables.
/// Comments name the corresponding functions of Linux 6.1.
struct SnapshotLookup {
    /// A fact that a snapshot may not contain.
    ///
    /// The raw value is the reason of an undecided answer.
    ///
    /// The lookup runs for both cases of each fact, and returns an answer only if both cases use the same interfaces.
    enum Unknown: String, CaseIterable {
        /// The user of the query, for rules that match on the user.
        case user = "a rule looks at the user, and the tables do not hold the user"
        /// Whether the kernel ignores routes without a carrier.
        case carrier = """
            the tables do not say whether routes without a carrier are ignored (ignore_routes_with_linkdown)
            """
        /// Whether this is an IPv6 router.
        case forwarding = "the tables do not say whether this host forwards IPv6"
        /// Whether the IPv4 tables local and main share a tree, as they do until the first rule is added.
        case sharedTree = """
            the tables do not say whether a rule was ever added, and the order of tables depends on it
            """
        /// Whether a rule that names a VRF as its interface matches packets that are bound to the VRF, or arrive in
        /// it.
        case vrfOutput = "kernels differ over rules that name a VRF as interface"
        /// Whether a router prolonged a route after the message with the route's lifetime.
        case lifetime = "the lifetime of a route is over, and its router may have prolonged it"
        /// Whether an IPv6 prefix with only routes for certain sources once had routes without a source, and is
        /// hidden.
        case leaf = """
            a prefix has routes for certain sources alone, and the kernel misses them if it had others before
            """
        /// Whether IPv6 evaluates its rules at all: it looks only in local and main until the first rule is added.
        case rules6 = """
            the tables do not say whether an IPv6 rule was ever added, and without one the kernel asks the \
            tables local and main regardless of missing rules
            """
        /// Whether the kernel uses an IPv6 route that a rule suppressed if no later rule finds another one.
        case suppressedRoute = """
            kernels between 5.11 and 6.0 differ over IPv6 routes that a rule suppresses when no later rule matches
            """
        /// The gateways of equal IPv4 default routes that answer.
        case neighbours = "the neighbours were not recorded, and they decide between equal default routes"
        /// The IPv4 default route that is used next, among several equal routes.
        case turn = "the kernel takes equal default routes in turn, and no dump holds whose turn it is"
        /// The nexthop of several, if not all of their interfaces let a loopback source leave.
        case nexthopForSource = """
            the kernel's hash chooses the nexthop, and only some of the interfaces have route_localnet
            """

        var reason: String { rawValue }
    }

    /// The entry that matches the packet.
    struct Hit {
        var route: Route
        /// The nexthop that made the entry usable; `nil` for an entry without nexthops.
        var nexthop: Nexthop?
    }

    /// The result of a table or a rule.
    ///
    /// Without a result, or with a throw route, the next rule follows.
    enum Finding {
        case hit(Hit)
        case rejected(RouteRejection)
    }

    let snapshot: NetworkSnapshot
    let query: RouteQuery
    /// The unknown fact that is assumed to be true.
    var assumed: Unknown?
    /// The unknown facts that the lookup consulted.
    var consulted: Set<Unknown> = []
    /// The interface that nexthops must use, 0 for none.
    ///
    /// It is 0 for a VRF, which only selects the table.
    var outputInterface: UInt32
    /// The interface whose VRF applies: that of the query; for the reverse lookup of a packet, the interface on which
    /// the packet arrives.
    var domainInterface: UInt32
    /// The VRF that the query is bound to, directly or by one of its ports.
    var vrf: Link?
    /// Whether to choose among equal IPv4 default routes, as the kernel does for packets from this host.
    var choosesDefault: Bool
    /// The neighbours that are assumed not to answer.
    var avoided: Set<Neighbour.Key> = []
    /// The parameters for the gateway lookup of a new route; `nil` for a packet.
    var gatewaySearch: GatewaySearch?

    init(_ snapshot: NetworkSnapshot, _ query: RouteQuery) {
        self.snapshot = snapshot
        self.query = query
        outputInterface = query.outputInterface
        domainInterface = query.inputInterface == 0 ? query.outputInterface : query.inputInterface
        choosesDefault = query.inputInterface == 0
    }

    /// That the kernel's hash decides, in words.
    static func choice(of count: Int) -> String {
        "the kernel chooses one of \(count) nexthops by a hash of the packet"
    }

    static func undecided(_ reason: String) -> ReachabilityError {
        ReachabilityError(.undecided, operation: "find a route in the tables", message: reason)
    }

    /// Records that an unknown fact was consulted, and returns its assumed value.
    mutating func ask(_ unknown: Unknown) -> Bool {
        consulted.insert(unknown)
        return assumed == unknown
    }
}

// MARK: - Answers

extension SnapshotLookup {
    /// The answer, and the alternative answer for each unknown fact.
    ///
    /// - Parameters:
    ///   - snapshot: The network.
    ///   - query: The query.
    ///   - body: Receives the unknown fact, the answer and the alternative answer.
    /// - Returns: The answer.
    /// - Throws: An error of a lookup or of the body.
    static func answer(
        _ snapshot: NetworkSnapshot,
        _ query: RouteQuery,
        _ body: (Unknown, RouteAnswer, RouteAnswer) throws(ReachabilityError) -> Void
    ) throws(ReachabilityError) -> RouteAnswer {
        var lookup = SnapshotLookup(snapshot, query)
        let answer = try lookup.run()
        guard !lookup.consulted.isEmpty else { return answer }
        for unknown in Unknown.allCases where lookup.consulted.contains(unknown) {
            var other = SnapshotLookup(snapshot, query)
            other.assumed = unknown
            try body(unknown, answer, try other.run())
        }
        return answer
    }

    private mutating func run() throws(ReachabilityError) -> RouteAnswer {
        // A complete dump has at least one rule.
        guard !snapshot.rules.isEmpty else {
            throw Self.undecided("no policy rules were recorded")
        }
        let family = query.destination.family
        guard hasAny(of: family) else { return .rejected(.noFamily) }
        if query.inputInterface != 0, snapshot.links[query.inputInterface] == nil {
            throw ReachabilityError.noInterface(query.inputInterface, "ask for a route")
        }
        guard family == .v4 else { return try answerIPv6() }
        return query.inputInterface == 0 ? try answerIPv4() : try answerArrivingIPv4()
    }

    /// Whether there is an object of a family.
    ///
    /// A kernel without IPv6 does not even have its loopback address.
    private func hasAny(of family: IPAddress.Family) -> Bool {
        !snapshot.ruleLists[family].isEmpty || snapshot.addressBook.hasAny(family)
            || snapshot.routeTables.hasAny(family)
    }
}

// MARK: - Tables

extension SnapshotLookup {
    /// The result of a table of the query's family.
    mutating func find(inTable number: UInt32) throws(ReachabilityError) -> Finding? {
        query.destination.family == .v4 ? try findIPv4(in: [number]) : try findIPv6(inTable: number)
    }

    /// The result of the first of several tables that has a result.
    mutating func find(inTables numbers: [UInt32]) throws(ReachabilityError) -> Finding? {
        for number in numbers {
            if let finding = try find(inTable: number) { return finding }
        }
        return nil
    }
}

// MARK: - Snapshots

extension NetworkSnapshot {
    /// Returns the kernel's answer to RTM_GETROUTE with RTM_F_FIB_MATCH.
    ///
    /// - Throws: ``ReachabilityError`` with the code ``ReachabilityError/Code/undecided`` and a reason, if the
    ///   answer depends on a fact that the snapshot does not contain. As in the kernel, an error with the code
    ///   ``ReachabilityError/Code/systemFailure`` for an interface that does not exist.
    package func answer(to query: RouteQuery) throws(ReachabilityError) -> RouteAnswer {
        try SnapshotLookup.answer(self, query) { (unknown, answer, other) throws(ReachabilityError) in
            guard answer.isEquivalent(to: other),
                answer.isRejected == other.isRejected || !canBeRoutedBySource(query)
            else { throw SnapshotLookup.undecided(unknown.reason) }
        }
    }

    /// Whether an IPv6 socket whose lookup is rejected can find a route with the source address that it then selects
    /// (`ip6_dst_lookup_tail`).
    private func canBeRoutedBySource(_ query: RouteQuery) -> Bool {
        guard query.destination.family == .v6, query.source == nil else { return false }
        return ruleLists[.v6].all.contains { $0.source != nil }
            || pool.inUse.contains { pool.source($0) != nil }
    }

    /// Returns every answer that the kernel can give, one for each case of the unknown facts.
    ///
    /// If all of them use the same interfaces, ``answer(to:)`` returns the first one. The kernel's answer can have
    /// another prefix, metric, gateway or errno. For several gateways of equal default routes, two cases are tried.
    package func possibleAnswers(to query: RouteQuery) throws(ReachabilityError) -> [RouteAnswer] {
        var others: [RouteAnswer] = []
        let answer = try SnapshotLookup.answer(self, query) { others.append($2) }
        return [answer] + others
    }

    /// The unknown facts that affect the path of a packet, in words; empty for most queries.
    package func openChoices(for query: RouteQuery) -> [String] {
        var reasons: [String] = []
        let answer = try? SnapshotLookup.answer(self, query) { (unknown, answer, other) in
            if answer.path != other.path { reasons.append(unknown.reason) }
        }
        let nexthops = answer?.bound(toInterface: query.outputInterface).nexthops ?? []
        let count = nexthops.count { !$0.flags.contains(.dead) }
        if count > 1 { reasons.append(SnapshotLookup.choice(of: count)) }
        return reasons
    }

    /// The interfaces without a carrier to which the kernel's hash sends some packets.
    package func silentInterfaces(for query: RouteQuery) -> Set<UInt32> {
        let nexthops = (try? answer(to: query))?.bound(toInterface: query.outputInterface).nexthops ?? []
        guard nexthops.count > 1 else { return [] }
        let silent = nexthops.filter { $0.flags.contains(.linkDown) && !$0.flags.contains(.dead) }
        return Set(silent.map(\.interfaceIndex))
    }

    /// Returns the answer if one plain route of the main table decides; `nil` if the full lookup is needed.
    ///
    /// It applies to hosts with the initial IPv4 rules, and to queries with only a destination.
    func plainAnswer(to query: RouteQuery) -> RouteAnswer? {
        guard program.hasPlainIPv4, query.destination.family == .v4, query.outputInterface == 0,
            query.source == nil, query.destination.isPlainIPv4, let local = program.local4,
            let main = program.main4
        else { return nil }
        // The tables are read in place, because copying one would count references.
        return routeTables.tables.withUnsafeBufferPointer { tables in
            guard tables[local].longestMatch(query.destination) == nil else { return nil }
            guard let chain = tables[main].longestMatch(query.destination)?.value else {
                return program.hasIPv4Default ? nil : .rejected(.noRoute)
            }
            guard case .one(let attributes) = chain else { return nil }
            return pool.plainMatch(attributes).map(RouteAnswer.taken)
        }
    }

    /// Whether policy rules match on the source address that the kernel selects for an IPv4 socket.
    func hasRules(forSourceOf query: RouteQuery) -> Bool {
        query.source == nil && query.destination.family == .v4
            && ruleLists[.v4].all.contains { $0.source != nil }
    }

    /// The IPv4 source that the kernel selects for a route without a preferred source, from the recorded addresses.
    func ipv4Source(near gateway: IPAddress?, scope: RouteScope, through index: UInt32) -> IPAddress? {
        SourceAddressSelection.selectIPv4(
            near: gateway,
            scope: scope,
            routesLoopback: inputSettings(ofInterface: index)?.routesLoopback == true,
            among: addresses(ofInterface: index, family: .v4),
            orElse: ipv4Addresses(inDomainOf: index)
        )
    }

    /// The source that a packet without one, bound to an interface, gets for an IPv4 group before its rules and routes
    /// are looked up (`ip_route_output_key_hash_rcu`); `nil` for another packet, and without an address.
    func groupSource(for query: RouteQuery) -> IPAddress? {
        guard query.destination.isIPv4Group, query.outputInterface != 0 else { return nil }
        let isOfLink = query.destination.isLinkMulticastIPv4 || query.destination.isLimitedBroadcast
        return ipv4Source(near: nil, scope: isOfLink ? .link : .universe, through: query.outputInterface)
    }

    /// The IPv4 addresses of all interfaces of a VRF, or of all without a VRF, in the order of `inet_select_addr`.
    private func ipv4Addresses(inDomainOf index: UInt32) -> [InterfaceAddress] {
        let domain = vrf(ofInterface: index)?.index
        let interfaces = addressBook.owners(.v4).filter {
            links[$0] != nil && vrf(ofInterface: $0)?.index == domain
        }
        let order = interfaces.sorted { ($0 == domain ? 0 : $0) < ($1 == domain ? 0 : $1) }
        return order.flatMap { addresses(ofInterface: $0, family: .v4).inKernelOrder }
    }
}

extension IPAddress {
    /// Whether an IPv4 address is neither multicast, reserved nor in 0.0.0.0/8, which old kernels refuse.
    fileprivate var isPlainIPv4: Bool { low >> 28 < 0xe && low >> 24 != 0 }
}
