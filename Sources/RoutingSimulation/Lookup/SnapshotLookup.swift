// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

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
        /// Whether a rule that names a VRF as outgoing interface takes what is bound to it.
        case vrfOutput = "kernels differ over rules that name a VRF as outgoing interface"
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
    /// The VRF that the query is bound to, itself or by a port of it.
    var vrf: Link?
    /// The neighbours that are taken not to answer.
    var avoided: Set<Neighbour.Key> = []
    /// How to look for the gateway of a new route; `nil` for a packet.
    var gatewaySearch: GatewaySearch?
    /// The source that IPv4 rules compare where the query names none, once a rule has asked for it.
    var ruleSource: IPAddress?

    init(_ snapshot: NetworkSnapshot, _ query: RouteQuery) {
        self.snapshot = snapshot
        self.query = query
        outputInterface = query.outputInterface
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
        return family == .v4 ? try answerIPv4() : try answerIPv6()
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
