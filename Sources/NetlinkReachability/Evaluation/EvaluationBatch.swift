// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// A batch of evaluations: targets go in, are looked up together, and come out with flags and reasons.
///
/// Every query is in a batch: that of a handle in a batch of one; those of a burst of the monitor, of a list of
/// addresses or of a path in a batch of several. ``CandidateLookup`` plans what to ask about an address,
/// ``LookupBatch`` asks, and ``ReachabilityRules`` evaluate the answers.
struct EvaluationBatch: ~Copyable {
    /// The most targets that share a batch: more would take memory, and gain no time.
    ///
    /// The monitor reads notifications again after as many observations.
    static let limit = 256

    /// What is known of a target before it is looked up.
    private enum Exception {
        /// There is no candidate, or no address of a name, whose default path is looked up instead.
        case unreachable(ReachabilityReason)
        /// Nothing could be planned.
        case failed(ReachabilityError)
    }

    /// Where the lookups of each target begin.
    private var starts: [Int] = []
    /// What is known of the names of the targets that are added; `nil` to resolve them.
    var resolution: ResolvedName?
    /// What the batch knows about the host.
    let host: HostListing
    /// The lookups of the candidates, target after target.
    var batch = LookupBatch()
    var interfaces: BatchInterfaces
    /// What became of the outer packets of tunnels, as ``LookupBatch/carriers`` lists them; `nil` before it is known.
    var carrierStates: [CarrierState?] = []
    /// The neighbours that answers depend on, by the first target of each.
    private var neighbours: [Int: [IPAddress]] = [:]
    private var exceptions: [(target: Int, Exception)] = []

    init(_ facts: NetworkFacts, _ resolution: ResolvedName? = nil) {
        self.resolution = resolution
        host = HostListing(facts)
        interfaces = BatchInterfaces(facts)
    }

    var facts: NetworkFacts { host.facts }

    /// The number of targets.
    var count: Int { starts.count }
}

// MARK: - Plan

extension EvaluationBatch {
    /// Adds a target; a name is resolved here.
    mutating func add(_ target: ReachabilityTarget, _ options: ReachabilityOptions, _ detail: QueryDetail) {
        let local = options.localAddress
        // The common case needs no list of candidates.
        if let address = target.address?.unmapped, !address.isUnspecified,
            options.admits(address, from: local)
        {
            return add(.address(address), from: local, options, detail)
        }
        switch target.kind {
        case .address(let address):
            add(Candidate.candidates(for: address), from: local, options, detail)
        case .defaultPath:
            add(Candidate.candidates(for: .anyV4), from: local, options, detail)
        case .pair(let own, let remote):
            add(Candidate.candidates(for: remote), from: own, options, detail)
        case .host(let name):
            do {
                let result =
                    if let resolution { try resolution.get() } else {
                        try facts.resolver.resolve(
                            name, families: options.families, timeout: options.resolution.timeout)
                    }
                add(result, of: name, options, detail)
            } catch {
                exceptions.append((count, .failed(error)))
                starts.append(batch.lookups.count)
            }
        }
    }

    /// Adds the addresses of a name.
    ///
    /// If the name has no addresses, the default path is evaluated: if that needs a connection first, the name may
    /// resolve afterwards.
    private mutating func add(
        _ resolution: HostResolution,
        of name: String,
        _ options: ReachabilityOptions,
        _ detail: QueryDetail
    ) {
        let addresses = if case .addresses(let found) = resolution { found } else { [IPAddress.anyV4] }
        add(
            addresses.flatMap(Candidate.candidates), from: options.localAddress, options, detail,
            resolution.failure(of: name))
    }

    /// Adds a candidate that the options admit.
    ///
    /// - Parameters:
    ///   - candidate: The candidate.
    ///   - local: The local address that the socket is bound to; `nil` for none.
    ///   - options: The options of the socket.
    ///   - detail: How much to find out.
    ///   - isConnected: Whether the socket is connected.
    ///   - index: The interface that the socket is bound to, 0 for none; `nil` where the options and zones say it.
    mutating func add(
        _ candidate: Candidate,
        from local: IPAddress?,
        _ options: ReachabilityOptions,
        _ detail: QueryDetail,
        isConnected: Bool = false,
        boundTo index: UInt32? = nil
    ) {
        starts.append(batch.lookups.count)
        batch.lookups.append(
            CandidateLookup(candidate, from: local, options, detail, isConnected: isConnected, boundTo: index)
        )
    }

    /// Adds candidates; the best one gives the result.
    mutating func add(
        _ candidates: [Candidate],
        from local: IPAddress?,
        _ options: ReachabilityOptions,
        _ detail: QueryDetail,
        _ reason: ReachabilityReason? = nil
    ) {
        let admitted = candidates.filter { options.admits($0.destination, from: local) }
        if let known = reason ?? (admitted.isEmpty ? options.nothingAdmitted(from: local) : nil) {
            exceptions.append((count, .unreachable(known)))
        }
        starts.append(batch.lookups.count)
        for candidate in admitted {
            batch.lookups.append(CandidateLookup(candidate, from: local, options, detail))
        }
    }

    /// Adds the lookup of a candidate as a socket sees it that is bound to an interface.
    mutating func add(
        _ candidate: Candidate,
        _ query: RouteQuery,
        boundTo interface: String,
        infersCarriers: Bool
    ) {
        starts.append(batch.lookups.count)
        var lookup = CandidateLookup(candidate, .full, query, bindingTo: SocketBinding(interface: interface))
        lookup.infersCarriers = infersCarriers
        batch.lookups.append(lookup)
    }

    /// The indices of the lookups of a target.
    private func indices(of target: Int) -> Range<Int> {
        starts[target]..<(target + 1 < starts.count ? starts[target + 1] : batch.lookups.count)
    }

    private func exception(_ target: Int) -> Exception? {
        exceptions.first { $0.target == target }?.1
    }

    /// The lookup of the first candidate of a target; `nil` if it has none.
    func lookup(_ target: Int) -> CandidateLookup? {
        indices(of: target).first.map { batch.lookups[$0] }
    }
}

// MARK: - Look up and evaluate

extension EvaluationBatch {
    /// Looks up all targets that were added.
    mutating func run() {
        batch.run(&interfaces, host)
        carrierStates = Array(repeating: nil, count: batch.carriers.count)
        for index in batch.carriers.indices { evaluateCarrier(index) }
    }

    /// Notes neighbours whose hardware addresses an answer depends on.
    mutating func noteNeighbours(_ addresses: [IPAddress], of target: Int) {
        neighbours[target] = addresses
    }

    /// What the answers about some targets depend on.
    func dependencies(of targets: Range<Int>) -> RouteDependencies {
        var dependencies = RouteDependencies()
        var next: [Int] = []
        for target in targets {
            for address in neighbours[target] ?? [] { dependencies.addresses.insert(address) }
            for index in indices(of: target) {
                batch.lookups[index].note(in: &dependencies)
                next += batch.lookupCarriers[index] ?? []
            }
        }
        // Few hosts have tunnels.
        var seen: Set<Int> = []
        while let carrier = next.popLast() {
            guard seen.insert(carrier).inserted else { continue }
            batch.carriers[carrier].lookup.note(in: &dependencies)
            next += batch.outerCarriers[carrier] ?? []
        }
        return dependencies
    }

    /// The flags of a target.
    func flags(_ target: Int) throws(ReachabilityError) -> ReachabilityFlags {
        try best(target)?.judgement.flags ?? []
    }

    /// The evaluation of a target.
    func evaluation(_ target: Int) throws(ReachabilityError) -> Evaluation {
        guard let best = try best(target) else {
            guard case .unreachable(let reason)? = exception(target) else {
                return Evaluation(Judgement([], .interfaceGone))
            }
            return Evaluation(unreachable: reason)
        }
        let isFull = batch.lookups[best.lookup].detail == .full
        return evaluation(of: best, all: isFull ? all(indices(of: target)) : [])
    }

    /// A structure, because the runtime copies tuples whose elements count references.
    private struct Judged {
        let lookup: Int
        let judgement: Judgement
    }

    /// Evaluates each candidate of a target alone: the first of the highest rank gives the flags whole.
    ///
    /// A candidate whose lookup fails does not hide one that is reachable.
    ///
    /// - Parameter target: The target.
    /// - Returns: The candidate that decides; `nil` where that was known before.
    /// - Throws: `ReachabilityError` if a lookup has no answer, and no other candidate is reachable.
    private func best(_ target: Int) throws(ReachabilityError) -> Judged? {
        let exception = exception(target)
        if case .failed(let error)? = exception { throw error }
        var best: Judged?
        var failure: ReachabilityError?
        for lookup in indices(of: target) {
            do throws(ReachabilityError) {
                let next = try judge(lookup)
                if let best, !next.replaces(best.judgement) { continue }
                let judged = Judged(lookup: lookup, judgement: next)
                if next.flags.rank == 2 { return exception == nil ? judged : nil }
                best = judged
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        // Rank 1: a connection has to be made first, and then the name can have addresses.
        return exception == nil || best?.judgement.flags.rank == 1 ? best : nil
    }

    /// The evaluations of all candidates but those whose lookup failed.
    private func all(_ lookups: Range<Int>) -> [Evaluation] {
        var all: [Evaluation] = []
        for lookup in lookups {
            if case .failed = batch.lookups[lookup].step { continue }
            guard let judgement = try? judge(lookup) else { continue }
            let next = evaluation(of: Judged(lookup: lookup, judgement: judgement))
            if all.last?.isSameDefaultPath(as: next) != true { all.append(next) }
        }
        return all
    }

    /// Evaluates the answer about a candidate.
    private func judge(_ index: Int) throws(ReachabilityError) -> Judgement {
        switch batch.lookups[index].step {
        case .answered(let source, let answer):
            let query = batch.lookups[index].query.from(source)
            if !batch.carriers.isEmpty { try checkCarriers(of: batch.lookups[index]) }
            if answer.isEncapsulated { return judge(batch.lookups[index], answer, query) }
            // The lookup is not copied for the others: it is large.
            let (candidate, packets) = (batch.lookups[index].candidate, batch.lookups[index].packets)
            let judgement = judge(answer, of: candidate, query, packets)
            // The default path stands for many addresses, whose packets take each nexthop.
            guard answer.takesOneNexthop, !candidate.isDefaultPath else { return judgement }
            for nexthop in answer.nexthops {
                let one = judge(answer.with { $0.nexthops = [nexthop] }, of: candidate, query, packets)
                guard one.flags == judgement.flags else { throw .undecidedSource(query) }
            }
            return judgement
        case .unreachable(let reason): return Judgement([], reason.kind)
        case .failed(let error): throw error
        default: preconditionFailure("a lookup was not run to its end")
        }
    }

    /// Judges the answer of a lookup, and the packet that its route puts around its own.
    func judge(_ lookup: CandidateLookup, _ answer: RouteAnswer, _ query: RouteQuery) -> Judgement {
        let judgement = judge(answer, of: lookup.candidate, query, lookup.packets)
        guard let nexthop = answer.nexthop, let encapsulation = nexthop.encapsulation?.value else {
            return judgement
        }
        // A tunnel with `external` alone reads them (`skb_tunnel_info`); another interface sends the packet as it is.
        let index = (judgement.nexthop ?? nexthop).interfaceIndex
        if [.ip, .ip6].contains(encapsulation.kind),
            let link = interfaces.facts(aboutInterface: index, lookup.detail)?.link,
            link.ends.map({ $0.remote != nil }) ?? true
        {
            return judgement
        }
        return ReachabilityRules.judge(judgement, inside: outer(of: lookup), encapsulation)
    }

    /// Judges an answer about packets of a lookup.
    ///
    /// - Parameters:
    ///   - answer: The answer.
    ///   - candidate: What was looked up.
    ///   - query: The packet.
    ///   - packets: What it is in a tunnel.
    /// - Returns: The judgement, with the nexthop that decided.
    func judge(
        _ answer: RouteAnswer,
        of candidate: Candidate,
        _ query: RouteQuery,
        _ packets: InnerPackets
    ) -> Judgement {
        ReachabilityRules.judge(answer, of: candidate, query) {
            interfaces.haveTunnels
                ? traits(ofInterface: $0, packets) : interfaces.traits(ofInterface: $0, packets.detail)
        }
    }

    /// The evaluation of the packet that the route puts around the one of a lookup; `nil` where there is none.
    private func outer(of lookup: CandidateLookup) -> Evaluation? {
        guard let (destination, answer) = lookup.outer?.value, let packets = lookup.outerPackets else {
            return nil
        }
        let (candidate, query) = (Candidate.address(destination), lookup.outerQuery(destination))
        let judgement = judge(answer, of: candidate, query, packets)
        let facts = judgement.nexthop.flatMap {
            interfaces.facts(aboutInterface: $0.interfaceIndex, lookup.detail)
        }
        return Evaluation(
            judgement, facts, Evaluation.Basis(candidate: candidate, query: query, answer: answer))
    }

    /// Combines a judgement with its basis.
    private func evaluation(of judged: Judged, all: [Evaluation] = []) -> Evaluation {
        evaluation(of: batch.lookups[judged.lookup], judged.judgement, all: all)
    }

    /// Combines the judgement on a lookup with its basis.
    func evaluation(
        of lookup: CandidateLookup,
        _ judgement: Judgement,
        all: [Evaluation] = []
    ) -> Evaluation {
        guard case .answered(let source, let answer) = lookup.step else {
            guard case .unreachable(let reason) = lookup.step else {
                preconditionFailure("nothing was judged")
            }
            return Evaluation(unreachable: reason, lookup.candidate)
        }
        let query = lookup.query.from(source)
        let packets = judgement.packets(of: lookup)
        let basis = Evaluation.Basis(
            candidate: lookup.candidate,
            query: query,
            boundInterface: lookup.boundInterface,
            answer: answer,
            sourceAddress: judgement.flags.isEmpty ? nil : answer.sourceAddress(of: query),
            all: all,
            outerReason: outerReason(of: judgement, lookup, packets),
            pendingSource: pendingSource(of: judgement, query),
            packets: packets
        )
        let facts = judgement.nexthop.flatMap {
            interfaces.facts(aboutInterface: $0.interfaceIndex, lookup.detail)
        }
        return Evaluation(judgement, facts, basis)
    }

    /// The address that would be the source of a packet but for duplicate address detection, in words; empty for none.
    private func pendingSource(of judgement: Judgement, _ packet: RouteQuery) -> String {
        guard [.unusableSource, .noSourceAddress].contains(judgement.kind) else { return "" }
        let bound = packet.outputInterface == 0 ? nil : packet.outputInterface
        return host.pendingSource(
            of: packet.destination, through: judgement.nexthop?.interfaceIndex ?? bound)
    }

    /// What became of the packets around those of a lookup; `nil` where there are none.
    private func outerReason(
        of judgement: Judgement,
        _ lookup: CandidateLookup,
        _ packets: InnerPackets
    ) -> ReachabilityReason? {
        guard judgement.kind == .tunnelWaits, let nexthop = judgement.nexthop else {
            return outer(of: lookup)?.reason
        }
        return carrierReason(ofTunnel: nexthop.interfaceIndex, packets)
    }

    /// The name of an interface that a full answer goes through; `nil` when it is gone.
    func name(ofInterface index: UInt32) -> String? {
        interfaces.facts(aboutInterface: index, .full)?.name
    }

    /// The interface of a target's local IPv4 address, by the local table.
    ///
    /// `nil` also for a route that a program added: such a route does not show which interface has the address.
    func localInterface(of target: Int) -> UInt32? {
        guard case .success(.taken(let match))? = lookup(target)?.binding?.value.localEntry,
            match.type == .local,
            !match.dependsOnSource
        else { return nil }
        return match.nexthop?.interfaceIndex
    }

    /// The facts about an interface, those that came with the answers if there are any; `nil` when it is gone.
    mutating func facts(
        aboutInterface index: UInt32,
        _ detail: QueryDetail
    ) throws(ReachabilityError) -> InterfaceFacts? {
        guard try interfaces.fetch(index, detail) else { return nil }
        return interfaces.facts(aboutInterface: index, detail)
    }
}

extension Judgement {
    /// The packets of a lookup whose route decided: its own, or those around them.
    func packets(of lookup: CandidateLookup) -> InnerPackets {
        isOfOuter ? lookup.outerPackets ?? lookup.packets : lookup.packets
    }
}

extension RouteAnswer {
    /// The source address of a packet; `nil` where it is unknown, and where there is none.
    fileprivate func sourceAddress(of query: RouteQuery) -> IPAddress? {
        let source = query.source ?? self.source
        return source?.isUnspecified == true ? nil : source
    }
}

extension ReachabilityOptions {
    /// Whether the options want an address of this family, and the local address can be its source.
    ///
    /// The kernel takes the bytes of an IPv4 address as an IPv6 source silently.
    fileprivate func admits(_ destination: IPAddress, from local: IPAddress?) -> Bool {
        admits(destination.family) && (local?.family ?? destination.family) == destination.family
    }

    /// Why no candidate is left to ask about.
    fileprivate func nothingAdmitted(from local: IPAddress?) -> ReachabilityReason {
        if let local, admits(local.family) {
            return ReachabilityReason(.excludedFamily, local.family.description, other: local.description)
        }
        let wanted: IPAddress.Family = families == .v6 ? .v6 : .v4
        return ReachabilityReason(.excludedFamily, wanted.description)
    }
}
