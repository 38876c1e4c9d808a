// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
package import RoutingModel
internal import SystemSupport

/// The live kernel of one network namespace.
///
/// Any number of threads can use it at once, because each request takes a socket from a small pool. The sockets
/// belong to the namespace of the thread that creates this object. After a `fork()` without `exec()`, only one of the
/// two processes may use them.
package final class KernelRouting: Sendable {
    /// The most idle sockets that stay open.
    ///
    /// More threads can send requests at once. Their sockets are closed afterwards.
    private static let idleLimit = 4

    /// The connection that is used unless another thread is using it; `nil` after a failed request on it.
    private let first: Locked<KernelConnection?>
    /// Connections for threads that find the first connection in use.
    private let idle = Locked<[Locked<KernelConnection>]>([])
    private let namespace: NetworkNamespace?
    /// How long each attempt of a request waits for the kernel's answer.
    private let timeout: Duration
    /// The sockets of both families that are connected, and kept for the next query.
    private let probe4 = Locked<ProbeSocket?>(nil)
    private let probe6 = Locked<ProbeSocket?>(nil)

    /// Opens the first socket in the calling thread's network namespace.
    ///
    /// - Parameter timeout: How long each of three attempts of a request waits for the kernel's answer.
    /// - Throws: An error when no socket can be opened.
    package convenience init(timeout: Duration = QuerySocket.answerTimeout) throws(ReachabilityError) {
        self.init(first: try KernelConnection(timeout: timeout), timeout)
    }

    /// Creates a source without an open socket.
    ///
    /// The first query opens one, and its thread has to be in the caller's network namespace.
    static func unopened() -> KernelRouting {
        KernelRouting(first: nil, QuerySocket.answerTimeout)
    }

    private init(first: sending KernelConnection?, _ timeout: Duration) {
        self.timeout = timeout
        namespace = NetworkNamespace.current
        self.first = Locked(first)
    }

    /// Passes a socket to the body.
    func withSocket<Answer: Sendable>(
        _ body: (inout QuerySocket) throws(ReachabilityError) -> Answer
    ) throws(ReachabilityError) -> Answer {
        try withConnection { (connection) throws(ReachabilityError) in try connection.withSocket(body) }
    }

    /// Passes a connection to the body.
    ///
    /// A connection is closed after a failed request, because a late answer could still arrive on it.
    @inline(__always)
    private func withConnection<Answer: Sendable>(
        _ body: (KernelConnection) throws(ReachabilityError) -> Answer
    ) throws(ReachabilityError) -> Answer {
        func use(_ kept: inout sending KernelConnection?) throws(ReachabilityError) -> sending Answer {
            let connection = if let kept = kept.take() { kept } else { try open() }
            let answer = try body(connection)
            kept = connection
            return answer
        }
        if let answer = try first.withLockIfAvailable(use) { return answer }
        if let answer = try withPooledConnection(body) { return answer }
        return try first.withLock(use)
    }

    /// Passes another connection than the first one; `nil` if no further one can be opened, because the calling thread
    /// is in another network namespace.
    private func withPooledConnection<Answer: Sendable>(
        _ body: (KernelConnection) throws(ReachabilityError) -> Answer
    ) throws(ReachabilityError) -> Answer? {
        let kept = idle.withLock { $0.popLast() }
        guard kept != nil || isInNamespace else { return nil }
        let connection = if let kept { kept } else { Locked(try open()) }
        let answer = try connection.withLock { (connection) throws(ReachabilityError) in
            try body(connection)
        }
        idle.withLock { idle in
            if idle.count < Self.idleLimit { idle.append(connection) }
        }
        return answer
    }

    private func open() throws(ReachabilityError) -> sending KernelConnection {
        try checkNamespace()
        return try KernelConnection(timeout: timeout)
    }

    /// Opens a feed of the notifications of this namespace.
    package func changes() throws(ReachabilityError) -> KernelChanges {
        try checkNamespace()
        return try KernelChanges()
    }

    /// Whether the calling thread is in the network namespace of the sockets.
    var isInNamespace: Bool { NetworkNamespace.current == namespace }

    private func checkNamespace() throws(ReachabilityError) {
        guard isInNamespace else {
            throw ReachabilityError(
                operation: "open a further netlink socket",
                number: EXDEV,
                message: "this thread is in another network namespace than the source: "
                    + "use a thread in that one, or open a source in this one"
            )
        }
    }
}

extension KernelRouting: RoutingSource {
    /// Queries the table's entries with all nexthops and their carrier, or the packet's own nexthop.
    ///
    /// For an entry, the kernel makes the same lookup as for a packet, including the choice between equal default
    /// routes. Only the choice of a nexthop by hash is left open.
    package func answer(
        _ lookups: inout [RouteLookup],
        from first: Int
    ) throws(ReachabilityError) -> [InterfaceReading] {
        let facts = try withConnection { (connection) throws(ReachabilityError) in
            try connection.answer(&lookups, from: first)
        }
        for index in first..<lookups.count where lookups[index].query.isStrict {
            let loose = lookups[index]
            lookups[index].result = Result { () throws(ReachabilityError) in
                try strictAnswer(to: loose.query, loose.result.get())
            }
        }
        return facts
    }

    package func answer<Answer>(_ query: HostQuery<Answer>) throws(ReachabilityError) -> Answer {
        switch query {
        case .interface(let index, let detail, let give):
            give(
                try withConnection { (connection) throws(ReachabilityError) in
                    try connection.facts(aboutInterface: index, detail: detail)
                })
        case .links(let give):
            give(try withSocket { (socket) throws(ReachabilityError) in try socket.links() })
        case .rules(let give):
            give(try withConnection { (connection) throws(ReachabilityError) in try connection.rules() })
        case .forwardingEnds(let index, let give): give(try forwardingEnds(ofInterface: index))
        case .wireGuardPeers(let index, let give): give(try wireGuardPeers(ofInterface: index))
        case .hostRoutes(let table, let give): give(try hostRoutes(inTable: table))
        case .multipathHashPolicy(let family, let give): give(multipathHashPolicy(family))
        case .refusingRoutes(let destinations, let give): give(try refusingRoutes(over: destinations))
        // A query without a user is that of the real user of this process.
        case .askingUser(let give): give(getuid())
        case .sourceAddresses(let query, let give): give(try sources(for: query.packet, after: query.answer))
        case .addresses(let give): give(try addresses())
        case .interfaceIndex(let name, let give):
            give(
                try withSocket { (socket) throws(ReachabilityError) in try socket.link(named: name) }?.index)
        case .inputSettings(let index, let give): give(try inputSettings(ofInterface: index))
        case .routes(let query, let give): give(try routes(inTable: query.table, over: query.address))
        case .connect(let query, let give): give(connect(query))
        case .answerRecord(let give): give(try answerRecord())
        case .hardwareAddresses(let give): give(try hardwareAddresses())
        // A thread in another namespace would ask that one.
        case .ssid(let index, let give): give(isInNamespace ? try DeviceFacts.ssid(ofInterface: index) : nil)
        }
    }

    /// Looks up as a bound socket with a source address does, which RTM_GETROUTE cannot express.
    ///
    /// An answer through the bound interface also applies to the socket. If the answer uses another interface,
    /// connecting a socket shows whether there is a route. Without a source address, the kernel matches a query as
    /// strictly as a socket, so such a query shows the route. The result is wrong only if a rule or a route matches
    /// on the source: the query is then undecided.
    private func strictAnswer(
        to query: RouteQuery,
        _ loose: RouteAnswer
    ) throws(ReachabilityError) -> RouteAnswer {
        let bound = try facts(aboutInterface: query.outputInterface, detail: .flags)?.link
        if bound?.isVRF == true || loose.leaves(through: query.outputInterface) { return loose }
        if case .refused(let rejection) = routed(query) { return .rejected(rejection) }
        guard try !comparesSource(of: query) else {
            throw .undecided(
                "find a route of a bound socket",
                "IPv6 rules or routes compare the source address: ask without a source address or an interface"
            )
        }
        return try answer(to: query.with { ($0.source, $0.isStrict) = (nil, false) })
    }

    /// Whether an IPv6 rule or route can match on the source address of a packet.
    private func comparesSource(of query: RouteQuery) throws(ReachabilityError) -> Bool {
        try withSocket { (socket) throws(ReachabilityError) in
            let rules = try socket.rules(family: .v6).filter { rule in
                rule.source != nil
                    && (rule.isInverted
                        || rule.matchesFlow(of: query)
                            && rule.destination?.contains(query.destination) != false)
            }
            guard rules.isEmpty else { return true }
            let routes = try socket.collect(DumpRequest(.routes, family: .v6)) { change in
                guard case .route(let route, _) = change, route.source != nil,
                    route.destination.contains(query.destination)
                else { return nil as Route? }
                return route
            }
            return !routes.isEmpty
        }
    }

    /// Reads the sysctl; `nil` from a thread in another network namespace, because it would read the sysctl of its
    /// own.
    package func multipathHashPolicy(_ family: IPAddress.Family) -> MultipathHashPolicy? {
        guard isInNamespace else { return nil }
        return KernelSetting.number("net/\(family == .v4 ? "ipv4" : "ipv6")/fib_multipath_hash_policy")
            .map(MultipathHashPolicy.init)
    }

    /// Asks the kernel, for a rejected query by connecting a socket, or selects among the addresses of this host
    /// where a socket cannot be given what the query says.
    private func sources(
        for query: RouteQuery,
        after answer: RouteAnswer
    ) throws(ReachabilityError) -> [IPAddress] {
        if case .taken(let match) = answer { return try sources(for: query, match) }
        guard query.destination.family == .v6 else { return [] }
        var outcome = routed(query)
        if outcome == nil { outcome = try routedAsUDP(query) }
        switch outcome {
        case .connects(let source): return [source]
        case .refused: return []
        case nil:
            return SourceAddressSelection.candidates(
                for: query.destination,
                among: try addresses(ofInterface: 0, family: .v6)
            )
        }
    }

    /// The source address that each nexthop gives to a packet.
    private func sources(
        for query: RouteQuery,
        _ match: RouteMatch
    ) throws(ReachabilityError) -> [IPAddress] {
        if query.destination.family == .v6 {
            // The source depends on the addresses alone, and not on what no socket can be given.
            switch connect(query)
                ?? connect(RouteQuery(destination: query.destination, outputInterface: query.outputInterface))
            {
            case .connects(let source): return [source]
            case .refused(.noSourceAddress): return []
            default: break
            }
        }
        let interfaces =
            match.hasSeveralNexthops
            ? match.nexthops.possible.map(\.interfaceIndex)
            : [query.outputInterface]
        var lookups = interfaces.map { index in
            RouteLookup(query.forPacket.with { $0.outputInterface = index })
        }
        _ = try self.answer(&lookups, from: 0)
        var sources: [IPAddress] = []
        for lookup in lookups {
            guard let source = try lookup.result.get().match?.source, !source.isUnspecified,
                !sources.contains(source)
            else { continue }
            sources.append(source)
        }
        return sources
    }

    /// Connects a UDP socket; `nil` if a socket cannot have the query's properties.
    package func connect(_ query: RouteQuery) -> ConnectOutcome? {
        let family = query.destination.family
        return (family == .v4 ? probe4 : probe6).withLock { probe in
            if probe?.isCurrent != true {
                probe = NetworkNamespace.current == namespace ? ProbeSocket(family) : nil
            }
            let outcome = probe?.connect(query)
            if probe?.disconnect(after: query) != true { probe = nil }
            return outcome
        }
    }

    /// The result of connect(2) according to the routes; `nil` if something other than a route refuses the socket,
    /// such as an IPsec policy.
    private func routed(_ query: RouteQuery) -> ConnectOutcome? {
        let outcome = connect(query)
        if case .refused(let rejection) = outcome, !rejection.isOfRoutes { return nil }
        return outcome
    }

    /// The result for a UDP socket in place of a socket of another protocol; `nil` if an IPv6 rule matches on the
    /// protocol.
    private func routedAsUDP(_ query: RouteQuery) throws(ReachabilityError) -> ConnectOutcome? {
        guard query.ipProtocol != nil else { return nil }
        let rules = try withSocket { (socket) throws(ReachabilityError) in try socket.rules(family: .v6) }
        guard rules.allSatisfy({ $0.ipProtocol == nil && !$0.hasUnknownSelector }) else { return nil }
        return routed(query.with { $0.ipProtocol = nil })
    }
}

extension RouteRejection {
    /// Whether this errno comes from the lookup of a route or a source address.
    fileprivate var isOfRoutes: Bool {
        [.noRoute, .unreachable, .prohibited, .blackhole, .noSourceAddress].contains(self)
    }
}
