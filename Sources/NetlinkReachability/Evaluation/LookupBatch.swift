// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// The lookups of a batch, and the only place that asks for them: the second step of an evaluation.
///
/// What a lookup has to ask again is asked together with that of the others. The facts about the interfaces of the
/// answers are fetched here too, so that the rules find them.
struct LookupBatch {
    var lookups: [CandidateLookup] = []
    /// The lookups of what carries the tunnels that the others lead into.
    var carriers: [CarrierLookup] = []
    /// Where each of ``carriers`` is.
    private(set) var carrierIndices: [CarrierLookup.Key: Int] = [:]
    /// The entrances of tunnels that were followed, and the places of what carries the tunnel for each.
    var entrances: [CarrierLookup.Entrance: [Int]] = [:]
    /// The places of what carries the tunnels that the packets of each of ``lookups`` take.
    var lookupCarriers: [Int: [Int]] = [:]
    /// The same for each of ``carriers``.
    var outerCarriers: [Int: [Int]] = [:]
    /// The first lookups whose tunnels were not followed.
    var firstUnfollowed = (lookup: 0, carrier: 0)
    /// The queries that are being asked.
    private var queries: [RouteLookup] = []

    /// Adds the lookup of what carries a tunnel, unless there is one.
    ///
    /// - Returns: Its place among ``carriers``.
    mutating func add(_ carrier: CarrierLookup) -> Int {
        if let known = carrierIndices[carrier.key] { return known }
        carrierIndices[carrier.key] = carriers.count
        carriers.append(carrier)
        return carriers.count - 1
    }

    /// Runs all lookups to their ends.
    mutating func run(_ interfaces: inout BatchInterfaces, _ host: HostListing) {
        // The entry and the packet: most lookups ask for no more.
        queries.reserveCapacity(2 * lookups.count)
        while true {
            for index in lookups.indices {
                lookups[index].advance(host, &interfaces)
                lookups[index].appendQueries(to: &queries)
            }
            for index in carriers.indices {
                carriers[index].lookup.advance(host, &interfaces, CarrierLookup.nexthopLimit)
                carriers[index].lookup.appendQueries(to: &queries)
            }
            if queries.isEmpty {
                guard interfaces.haveTunnels, addCarriers(interfaces, host) else {
                    // The reason can name an address; if they cannot be listed, it is shorter.
                    for index in lookups.indices where lookups[index].detail != .flags {
                        guard lookups[index].query.destination.family == .v6 else { continue }
                        if lookups[index].lacksSource { _ = try? host.addresses() }
                    }
                    return
                }
            } else {
                ask(&interfaces)
            }
        }
    }

    private mutating func ask(_ interfaces: inout BatchInterfaces) {
        do {
            try interfaces.answer(&queries)
        } catch {
            for index in queries.indices { queries[index].result = .failure(error) }
        }
        var next = 0
        for index in lookups.indices { lookups[index].takeResults(queries, at: &next) }
        for index in carriers.indices { carriers[index].lookup.takeResults(queries, at: &next) }
        queries.removeAll(keepingCapacity: true)
    }
}

extension CandidateLookup {
    /// Whether an IPv6 lookup has no source address, or only one whose packets routers do not forward.
    fileprivate var lacksSource: Bool {
        guard case .answered(let source, let answer) = step else { return false }
        guard case .taken(let match) = answer else { return answer == .rejected(.noSourceAddress) }
        guard let source = source ?? match.source, !query.destination.isLinkLocal else { return false }
        return source.isLinkLocal || source.isLoopback
    }

    /// Asks for what the step waits for other than routes, until it waits for a route or has ended.
    ///
    /// An answer with more nexthops than the limit is undecided.
    fileprivate mutating func advance(
        _ host: HostListing,
        _ interfaces: inout BatchInterfaces,
        _ nexthopLimit: Int? = nil
    ) {
        while true {
            switch step {
            case .findingInterface(let reference):
                take(
                    Result { () throws(ReachabilityError) in
                        try host.interface(reference, of: candidate.destination)
                    })
            case .checkingSource(let entry, _):
                guard let end = binding?.value.local else { preconditionFailure("no local address") }
                take(
                    Result { () throws(ReachabilityError) in
                        try host.refusal(of: end, entry, query, isConnected: isConnected)
                    })
            case .selectingSource(let answer):
                take(
                    Result { () throws(ReachabilityError) in
                        try host.facts.routing.sourceAddresses(for: query, after: answer)
                    })
            case .selectingOuterSource(let destination, _, let answer):
                takeOuter(
                    Result { () throws(ReachabilityError) in
                        try host.outerSources(for: destination, through: answer)
                    })
            case .fetchingInterfaces(_, let answer), .fetchingOuterInterfaces(let answer, _):
                take(
                    Result { () throws(ReachabilityError) in
                        if let nexthopLimit, answer.nexthops.count > nexthopLimit { throw .undecidedCarrier }
                        return try interfaces.fetch(answer, detail)
                    })
            case .routing, .routingFrom, .routingOuter, .answered, .unreachable, .failed: return
            }
        }
    }
}

extension ReachabilityError {
    fileprivate static let undecidedCarrier = ReachabilityError(
        .undecided,
        operation: "find what carries a tunnel",
        message: "the route of the outer packets has more than \(CarrierLookup.nexthopLimit) nexthops"
    )
}

/// The facts about interfaces that a batch knows.
struct BatchInterfaces {
    let facts: NetworkFacts
    /// Facts by the index of the interface; about the same one, those that came with the answers, the newest first, and
    /// then those that were fetched since.
    private var known: [InterfaceReading] = []
    /// Whether one of the interfaces is a tunnel.
    private(set) var haveTunnels = false

    init(_ facts: NetworkFacts) {
        self.facts = facts
    }

    /// Answers queries, and keeps the facts that come with the answers: a later one can be about the same interface.
    mutating func answer(_ queries: inout [RouteLookup]) throws(ReachabilityError) {
        let found = try facts.routing.answer(&queries, from: 0)
        known = known.isEmpty ? found : found + known
        // The newest ones stay first: the order is stable.
        if known.count > 1 { known.sort { $0.facts.index < $1.facts.index } }
        for reading in found { note(reading.facts) }
    }

    /// Fetches the facts about the interfaces of an answer that are not known.
    ///
    /// - Returns: Whether one of the interfaces exists, or none matters.
    mutating func fetch(_ answer: RouteAnswer, _ detail: QueryDetail) throws(ReachabilityError) -> Bool {
        guard case .taken(let match) = answer else { return true }
        let decides = match.type.leavesHost
        guard decides || detail != .flags else { return true }
        guard match.hasSeveralNexthops else {
            guard let index = match.nexthop?.interfaceIndex else { return !decides }
            return try fetch(index, detail) || !decides
        }
        var isAnyFound = false
        for nexthop in match.nexthops where try fetch(nexthop.interfaceIndex, detail) { isAnyFound = true }
        return isAnyFound || !decides
    }

    /// Fetches the facts about an interface, unless they are known.
    ///
    /// - Returns: Whether the interface exists.
    mutating func fetch(_ index: UInt32, _ detail: QueryDetail) throws(ReachabilityError) -> Bool {
        if place(of: index, detail) != nil { return true }
        guard let found = try facts.routing.facts(aboutInterface: index, detail: detail) else { return false }
        known.insert(InterfaceReading(found, detail), at: known.partitioningIndex { $0.facts.index > index })
        note(found)
        return true
    }

    private mutating func note(_ facts: InterfaceFacts) {
        if facts.traits.contains(.isTunnel) { haveTunnels = true }
    }

    /// The facts about an interface; `nil` when it is gone, and where they were not fetched.
    func facts(aboutInterface index: UInt32, _ detail: QueryDetail) -> InterfaceFacts? {
        place(of: index, detail).map { known[$0].facts }
    }

    /// The traits of an interface; `nil` when it is gone.
    func traits(ofInterface index: UInt32, _ detail: QueryDetail) -> InterfaceTraits? {
        place(of: index, detail).map { known[$0].facts.traits }
    }

    private func place(of index: UInt32, _ detail: QueryDetail) -> Int? {
        let first = known.partitioningIndex { $0.facts.index >= index }
        return known[first...].prefix { $0.facts.index == index }.firstIndex { $0.suffices(for: detail) }
    }
}
