// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// The lookups of a batch, and the only place that asks for them: the second step of an evaluation.
///
/// What a lookup has to ask again is asked together with that of the others. The facts about the interfaces of the
/// answers are fetched here too, so that the rules find them.
struct LookupBatch {
    private(set) var lookups: [CandidateLookup] = []
    /// The lookups of what carries the tunnels that the others lead into.
    private(set) var carriers: [CarrierLookup] = []
    /// Where each of ``carriers`` is.
    private(set) var carrierIndices: [CarrierLookup.Key: Int] = [:]
    /// The entrances of tunnels that were followed.
    var entrances: Set<CarrierLookup.Entrance> = []
    /// The first lookups whose tunnels were not followed.
    var firstUnfollowed = (lookup: 0, carrier: 0)
    /// The queries that are being asked.
    private var queries: [RouteLookup] = []

    /// Adds a lookup.
    mutating func add(_ lookup: consuming CandidateLookup) {
        lookups.append(lookup)
    }

    /// Adds the lookup of what carries a tunnel, unless there is one.
    mutating func add(_ carrier: CarrierLookup) {
        guard carrierIndices[carrier.key] == nil else { return }
        carrierIndices[carrier.key] = carriers.count
        carriers.append(carrier)
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
                guard addCarriers(interfaces, host) else {
                    // The reason can name an address; if they cannot be listed, it is shorter.
                    if lookups.contains(where: \.lacksSource) { _ = try? host.addresses() }
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
    /// Whether no address can be the source of IPv6 packets, or only one that routers do not forward.
    fileprivate var lacksSource: Bool {
        guard detail != .flags, query.destination.family == .v6, case .answered(let source, let answer) = step
        else { return false }
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
