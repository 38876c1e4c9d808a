// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// One query to a snapshot: policy rules in order, longest prefix, metric, state of the nexthops, each family
/// by its own rules.
///
/// The answer is the kernel's answer to RTM_GETROUTE with RTM_F_FIB_MATCH on a host with the snapshot's tables.
/// Comments name the functions of Linux 6.1 that it follows.
struct SnapshotLookup {
    /// A fact that a snapshot may not hold, with the reason why there is no answer where it matters.
    ///
    /// The lookup runs for both cases of each, and returns an answer only where both use the same interfaces.
    enum Unknown: String, CaseIterable {
        /// The user who asks, for rules that look at it.
        case user = "a rule looks at the user, and the tables do not hold the user"
        /// Whether the kernel ignores routes without a carrier.
        case carrier = """
            the tables do not say whether routes without a carrier are ignored (ignore_routes_with_linkdown)
            """
        /// Whether this is an IPv6 router.
        case forwarding = "the tables do not say whether this host forwards IPv6"
        /// Whether the IPv4 tables local and main share one tree: they do until the first rule is added.
        case sharedTree = """
            the tables do not say whether a rule was ever added, and the order of tables depends on it
            """
        /// Whether a rule that names a VRF as interface takes what is bound to it, or arrives in it.
        case vrfOutput = "kernels differ over rules that name a VRF as interface"
        /// Whether a router prolonged a route after the message with its lifetime.
        case lifetime = "the lifetime of a route is over, and its router may have prolonged it"
        /// Whether an IPv6 prefix that has only routes for certain sources once had plain ones, and is hidden.
        case leaf = """
            a prefix has routes for certain sources alone, and the kernel misses them if it had others before
            """
        /// Whether IPv6 looks at its rules at all: it asks local and main until the first rule is added.
        case rules6 = """
            the tables do not say whether an IPv6 rule was ever added, and without one the kernel asks the \
            tables local and main regardless of missing rules
            """
        /// Whether the kernel uses an IPv6 route that a rule suppressed when no later rule finds another.
        case suppressedRoute = """
            kernels between 5.11 and 6.0 differ over IPv6 routes that a rule suppresses when no later rule matches
            """
        /// Which gateways of equal IPv4 default routes answer.
        case neighbours = "the neighbours were not recorded, and they decide between equal default routes"
        /// Which of several equal IPv4 default routes is next.
        case turn = "the kernel takes equal default routes in turn, and no dump holds whose turn it is"

        var reason: String { rawValue }
    }

    /// An entry that takes the packet.
    struct Hit {
        var route: Route
        /// The nexthop that made it usable; `nil` for an entry without nexthops.
        var nexthop: Nexthop?
    }

    /// What a table or a rule says; none for nothing, or a throw route: the next rule.
    enum Finding {
        case hit(Hit)
        case rejected(RouteRejection)
    }

    let snapshot: NetworkSnapshot
    let query: RouteQuery
    /// The unknown that is assumed true.
    var assumed: Unknown?
    /// The unknowns that were consulted.
    var consulted: Set<Unknown> = []
    /// The interface that nexthops must go through, 0 for none.
    ///
    /// A VRF is none: it chooses the table.
    var outputInterface: UInt32
    /// The interface whose VRF counts: that of the query, or for the way back of a packet the one that it arrives on.
    var domainInterface: UInt32
    /// The VRF that the query is bound to, itself or by a port of it.
    var vrf: Link?
    /// Whether the kernel chooses among equal IPv4 default routes, as it does for packets of this host.
    var choosesDefault: Bool
    /// The neighbours that are taken not to answer.
    var avoided: Set<Neighbour.Key> = []
    /// How to look for the gateway of a new route; `nil` for a packet.
    var gatewaySearch: GatewaySearch?

    init(_ snapshot: NetworkSnapshot, _ query: RouteQuery) {
        self.snapshot = snapshot
        self.query = query
        outputInterface = query.outputInterface
        domainInterface = query.inputInterface == 0 ? query.outputInterface : query.inputInterface
        choosesDefault = query.inputInterface == 0
    }

    static func undecided(_ reason: String) -> ReachabilityError {
        ReachabilityError(.undecided, operation: "find a route in the tables", message: reason)
    }

    /// Records that an unknown was consulted and returns its assumed value.
    mutating func ask(_ unknown: Unknown) -> Bool {
        consulted.insert(unknown)
        return assumed == unknown
    }
}

// MARK: - Answers

extension SnapshotLookup {
    /// The answer, and for each case of what the snapshot does not hold the other answer.
    ///
    /// - Parameters:
    ///   - snapshot: The network.
    ///   - query: The query.
    ///   - body: Receives the unknown, the answer and the other one.
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
        // Without any rule a dump is not whole.
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

    /// Whether there is anything of a family: a kernel without IPv6 has not even a loopback address of it.
    private func hasAny(of family: IPAddress.Family) -> Bool {
        !snapshot.ruleLists[family].isEmpty || snapshot.addressBook.hasAny(family)
            || snapshot.routeTables.hasAny(family)
    }
}

// MARK: - Tables

extension SnapshotLookup {
    /// What a table of the query's family says.
    mutating func find(inTable number: UInt32) throws(ReachabilityError) -> Finding? {
        query.destination.family == .v4 ? try findIPv4(in: [number]) : try findIPv6(inTable: number)
    }

    /// What the first of several tables says that says anything.
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
    /// - Throws: ``ReachabilityError`` with the code ``ReachabilityError/Code/undecided`` with the reason, where the
    ///   answer depends on something that the snapshot does not hold. As the kernel does, it also throws an error
    ///   with the code ``ReachabilityError/Code/systemFailure`` for an interface that does not exist.
    package func answer(to query: RouteQuery) throws(ReachabilityError) -> RouteAnswer {
        try SnapshotLookup.answer(self, query) { (unknown, answer, other) throws(ReachabilityError) in
            guard answer.isEquivalent(to: other),
                answer.isRejected == other.isRejected || !canBeRoutedBySource(query)
            else { throw SnapshotLookup.undecided(unknown.reason) }
        }
    }

    /// Whether an IPv6 socket whose lookup is rejected can find a route from the source address that it then selects
    /// (`ip6_dst_lookup_tail`).
    private func canBeRoutedBySource(_ query: RouteQuery) -> Bool {
        guard query.destination.family == .v6, query.source == nil else { return false }
        return ruleLists[.v6].all.contains { $0.source != nil }
            || pool.inUse.contains { pool.source($0) != nil }
    }

    /// Returns every answer that the kernel can give, for each case of what the snapshot does not hold.
    ///
    /// Where all of them use the same interfaces, ``answer(to:)`` returns the first; the kernel's answer can have
    /// another prefix, metric, gateway or errno. Of several gateways of equal default routes two are tried.
    package func possibleAnswers(to query: RouteQuery) throws(ReachabilityError) -> [RouteAnswer] {
        var others: [RouteAnswer] = []
        let answer = try SnapshotLookup.answer(self, query) { others.append($2) }
        return [answer] + others
    }

    /// What decides the path of a packet beside what the snapshot holds, in words; empty for most queries.
    package func openChoices(for query: RouteQuery) -> [String] {
        var reasons: [String] = []
        let answer = try? SnapshotLookup.answer(self, query) { (unknown, answer, other) in
            if answer.path != other.path { reasons.append(unknown.reason) }
        }
        let nexthops = answer?.bound(toInterface: query.outputInterface).nexthops ?? []
        let count = nexthops.count { !$0.flags.contains(.dead) }
        if count > 1 { reasons.append("the kernel chooses one of \(count) nexthops by a hash of the packet") }
        return reasons
    }

    /// The interfaces without a carrier through which the kernel's hash sends some packets.
    package func silentInterfaces(for query: RouteQuery) -> Set<UInt32> {
        let nexthops = (try? answer(to: query))?.bound(toInterface: query.outputInterface).nexthops ?? []
        guard nexthops.count > 1 else { return [] }
        let silent = nexthops.filter { $0.flags.contains(.linkDown) && !$0.flags.contains(.dead) }
        return Set(silent.map(\.interfaceIndex))
    }

    /// Returns the answer where one plain route of the main table decides by itself; `nil` where that needs the lookup.
    ///
    /// It covers hosts with the initial IPv4 rules, and queries about an address alone.
    func plainAnswer(to query: RouteQuery) -> RouteAnswer? {
        guard program.hasPlainIPv4, query.destination.family == .v4, query.outputInterface == 0,
            query.source == nil, query.destination.isPlainIPv4, let local = program.local4,
            let main = program.main4
        else { return nil }
        // Tables are read in place: a copy of one would count references.
        return routeTables.tables.withUnsafeBufferPointer { tables in
            guard tables[local].longestMatch(query.destination) == nil else { return nil }
            guard let chain = tables[main].longestMatch(query.destination)?.value else {
                return program.hasIPv4Default ? nil : .rejected(.noRoute)
            }
            guard case .one(let attributes) = chain else { return nil }
            return pool.plainMatch(attributes).map(RouteAnswer.taken)
        }
    }

    /// Whether policy rules compare the source address that an IPv4 socket without one selects.
    func hasRules(forSourceOf query: RouteQuery) -> Bool {
        query.source == nil && query.destination.family == .v4
            && ruleLists[.v4].all.contains { $0.source != nil }
    }

    /// The IPv4 address that the kernel selects for a route without one of its own, as the recorded ones decide.
    func ipv4Source(near gateway: IPAddress?, scope: RouteScope, through index: UInt32) -> IPAddress? {
        SourceAddressSelection.selectIPv4(
            near: gateway,
            scope: scope,
            among: addresses(ofInterface: index, family: .v4),
            orElse: ipv4Addresses(inDomainOf: index)
        )
    }

    /// The IPv4 addresses of all interfaces of a VRF, or of all without one, as `inet_select_addr` looks through them.
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
