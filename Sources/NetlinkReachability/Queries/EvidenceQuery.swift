// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// The query for evidence of answers on the path to a target.
final class EvidenceQuery: Query {
    private let subject: FlagsQuery

    init(_ subject: FlagsQuery) {
        self.subject = subject
    }

    var description: String { "evidence of \(subject.target)" }

    var namedTarget: FlagsQuery? { subject.namedTarget }

    var inputs: QueryInputs { [.neighbours, .answers] }

    func areSame(_ one: NetworkEvidence, _ other: NetworkEvidence) -> Bool {
        one.isSameState(as: other) && one.isOfSamePath(as: other)
    }

    func value(_ known: inout Known) throws(Interruption) -> NetworkEvidence {
        let reading = known.unnotified.answers.find()
        let addresses = known.host.addresses.find()
        let nextHops = known.attempt { (known) throws(Interruption) in
            try known.nextHops(of: subject.target, subject.options)
        }
        guard let reading, let addresses, let nextHops else { throw .missing }
        guard let reading = try known.value(of: reading) else { return NetworkEvidence() }
        let paths = try known.value(of: nextHops)
        switch reading.record {
        case .recorded(let evidence): return try Self.evidence(evidence, paths)
        case .kernel(let sockets, let neighbours):
            return try known.evidence(
                paths, sockets, neighbours, reading, addresses: try known.value(of: addresses))
        }
    }

    /// The evidence of a recording, if it is about one of the next hops.
    private static func evidence(
        _ recorded: NetworkEvidence,
        _ nextHops: Set<EvidenceMemory.NextHop>
    ) throws(Interruption) -> NetworkEvidence {
        guard !nextHops.isEmpty else { return NetworkEvidence() }
        let hasPath = nextHops.contains {
            $0.interface == recorded.interfaceIndex && $0.gateway == recorded.gatewayAddress
        }
        guard hasPath else {
            throw .undecided(
                "evaluate the evidence",
                "the recorded evidence is about another path")
        }
        return recorded
    }
}

/// How often evidence is read, in milliseconds.
enum EvidenceTiming {
    /// The period while no connection waits for an answer.
    static let quiet = 4_000
    /// The period while a connection waits.
    ///
    /// Also the shortest pause before a closed connection causes a reading.
    static let waiting = 1_000
    /// With more connections than this, also the period while one waits is at least ``perConnection`` for each.
    static let manyConnections = 10_000
    /// The least period for each connection, of which a reading takes about 1.7 µs of a processor.
    static let perConnection = 2

    static func pause(isWaiting: Bool, connections: Int) -> Int {
        let usual = isWaiting ? waiting : quiet
        let least = isWaiting && connections <= manyConnections ? 0 : connections * perConnection
        return max(usual, least)
    }
}

extension Known {
    /// The next hops of packets to a target.
    fileprivate mutating func nextHops(
        of target: ReachabilityTarget,
        _ options: ReachabilityOptions
    ) throws(Interruption) -> Set<EvidenceMemory.NextHop> {
        // Only a full evaluation shows several candidates.
        let evaluation = try evaluation(of: target, options, target.address == nil ? .full : .reason)
        var nextHops: Set<EvidenceMemory.NextHop> = []
        for one in [evaluation] + evaluation.all where one.rank > 0 {
            guard let match = one.answer?.match, match.type == .unicast else { continue }
            for nexthop in match.nexthops where nexthop.interfaceIndex != 0 {
                nextHops.insert(EvidenceMemory.NextHop(nexthop))
                if let gateway = nexthop.gateway { note(address: gateway.withoutZone) }
            }
        }
        return nextHops
    }

    /// Judges the connections over some next hops, together with what earlier evaluations stored.
    fileprivate mutating func evidence(
        _ nextHops: Set<EvidenceMemory.NextHop>,
        _ allSockets: [ConnectedSocket],
        _ neighbours: [Neighbour.Key: NeighbourReply],
        _ reading: AnswerReading,
        addresses: [InterfaceAddress]
    ) throws(Interruption) -> NetworkEvidence {
        var memory = remembered?.value ?? EvidenceMemory()
        let time = reading.time.milliseconds
        let own = Set(addresses.map(\.address.withoutZone))
        var moments: [EvidenceMemory.NextHop: EvidenceMemory.Moment] = [:]
        for nextHop in nextHops {
            let gateway = nextHop.neighbour.flatMap { neighbours[$0] }
            moments[nextHop] = EvidenceMemory.Moment(time: time, gateway: gateway)
        }
        let closed = nextHops.isEmpty ? [] : closed.filter { memory.isContinued && $0.time > memory.time }
        let sockets = nextHops.isEmpty ? [] : allSockets
        var (routes, isComplete) = (memory.routes, true)
        var used: Set<RouteQuery> = []
        func nextHop(of socket: ConnectedSocket, _ known: inout Known) -> EvidenceMemory.NextHop? {
            let flow = socket.flow
            guard flow.isRemote(from: own) else { return nil }
            let query = RouteQuery(ofPacketsIn: flow)
            if routes[query] == nil {
                guard let result = known.findAnswer(to: query) else {
                    isComplete = false
                    return nil
                }
                routes[query] = .some(EvidenceMemory.NextHop(result))
            }
            used.insert(query)
            return routes[query] ?? nil
        }
        for socket in sockets {
            guard let nextHop = nextHop(of: socket, &self) else { continue }
            moments[nextHop]?.sockets.append(socket)
        }
        for closed in closed {
            guard let nextHop = nextHop(of: closed.socket, &self) else { continue }
            moments[nextHop]?.closed.append(closed)
        }
        guard isComplete else { throw .missing }
        memory.routes = routes.count == used.count ? routes : routes.filter { used.contains($0.key) }
        for query in used { note(address: query.destination) }
        let evidence = memory.judge(moments, at: time, timeAsleep: reading.timeAsleep)
        func pause(isWaiting: Bool) -> Int {
            EvidenceTiming.pause(isWaiting: isWaiting, connections: allSockets.count)
        }
        memory.nextReading = time + pause(isWaiting: true)
        var next = pause(isWaiting: memory.isWaiting)
        // Read sooner if the present tries become old enough for a silence before that.
        if let left = memory.timeUntilSilence, next == EvidenceTiming.waiting {
            next = min(next, max(left, 100))
        }
        // The lifetime is in ticks of 10 ms.
        note(lifetime: Int32(clamping: next / 10))
        remember(memory)
        return evidence
    }
}

extension ConnectedSocket.Flow {
    /// Whether the remote is another host, and the local address still belongs to this host.
    fileprivate func isRemote(from own: Set<IPAddress>) -> Bool {
        !remote.isUnspecified && !remote.isLoopback && !own.contains(remote) && own.contains(local)
    }
}

extension RouteQuery {
    /// Creates the query for the route of a socket's packets.
    fileprivate init(ofPacketsIn flow: ConnectedSocket.Flow) {
        self.init(
            destination: flow.remote, outputInterface: flow.boundInterface, source: flow.local,
            mark: flow.mark)
        user = flow.user
        selectsNexthop = true
    }
}

extension EvidenceMemory.NextHop {
    fileprivate init(_ nexthop: Nexthop) {
        self.init(interface: nexthop.interfaceIndex, gateway: nexthop.gateway?.withoutZone)
    }

    /// The next hop in an answer; `nil` if the packet does not leave.
    fileprivate init?(_ result: RoutingResult) {
        guard case .success(.taken(let match)) = result, match.type == .unicast,
            let nexthop = match.nexthop, nexthop.interfaceIndex != 0
        else { return nil }
        self.init(nexthop)
    }
}

extension NetworkQuery<NetworkEvidence> {
    /// Whether hosts answer on the path to a target, delivered whenever the verdict changes, or the path that it is
    /// about.
    ///
    /// No packet is sent. While the query is observed, the TCP connections and the neighbours are read every 4 s;
    /// every 1 s while a connection waits for an answer; and at once when a connection ends or the gateway changes
    /// its state. With more than 2,000 connections, the period is 2 ms for each; while one waits, with more than
    /// 10,000. An observation stores earlier answers. A query that is asked once uses only what the kernel shows at
    /// that moment. Flags, paths and statuses do not depend on evidence.
    ///
    /// A recording has evidence of its default path if it was recorded with `netflags record --evidence`, and of every
    /// target whose path is the same. For other targets, the query fails with `ReachabilityError.Code.undecided`.
    ///
    /// - Parameters:
    ///   - target: The target; by default the default path.
    ///   - options: The socket whose path is evaluated.
    /// - Returns: The query.
    public static func evidence(
        of target: ReachabilityTarget = .defaultPath,
        options: ReachabilityOptions = ReachabilityOptions()
    ) -> Self {
        Self(EvidenceQuery(FlagsQuery(target: target, options: options)))
    }
}
