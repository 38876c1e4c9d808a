// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// Turns a route into flags with a reason. The facts that the rules read are collected first.
extension Packet {
    /// Judges the route of the packet, and the route of its outer packet.
    func judge(_ route: PacketRoute, _ known: inout Known) throws(Interruption) -> Judgement {
        switch route.outcome {
        case .unreachable(let reason): return Judgement([], reason.code)
        case .answered(.rejected(let rejection)):
            var judgement = ReachabilityRules.judge(.rejected(rejection), of: candidate, route.query) { _ in
                nil
            }
            if case .rule? = try refusal(judgement, route, &known) {
                judgement.kind = .refusedByRule
            } else if rejection == .noRoute, local == nil, !candidate.isDefaultPath, !isConnected,
                route.query.source == route.query.destination
            {
                // From a destination that a program declared local, a socket sends only if the host has that address.
                judgement.kind = .notOwnAddress
            }
            return judgement
        case .answered(let answer):
            if answer.isEncapsulated { return try judgeEncapsulated(answer, route, &known) }
            guard known.interfaces.haveTunnels else {
                // The common case: without tunnels, the facts are known and nothing is copied.
                return ReachabilityRules.judge(answer, of: candidate, route.query) {
                    known.interfaces.knownFacts(aboutInterface: $0, detail)?.traits
                }
            }
            let traits = try known.traits(of: answer, inner)
            return ReachabilityRules.judge(answer, of: candidate, route.query) { traits[$0] }
        }
    }

    /// Judges the route of a packet to one address, which uses only one of several nexthops.
    func judgeAlone(_ route: PacketRoute, _ known: inout Known) throws(Interruption) -> Judgement {
        let judgement = try judge(route, &known)
        // The default path stands for many addresses, whose packets use all nexthops.
        guard case .answered(let answer) = route.outcome, answer.isNexthopUndecided, !candidate.isDefaultPath,
            !answer.isEncapsulated
        else { return judgement }
        let others = try judgements(of: answer, route, &known).map(\.flags)
        // To a tunnel it makes no difference how its packets leave.
        let isSure = others.allSatisfy { isOuter ? $0.rank == judgement.flags.rank : $0 == judgement.flags }
        guard isSure, answer.match?.refusal == nil || judgement.flags.isEmpty else {
            throw .failed(.undecidedSource(route.query))
        }
        return judgement
    }

    /// Judges each nexthop of an answer alone.
    private func judgements(
        of answer: RouteAnswer,
        _ route: PacketRoute,
        _ known: inout Known
    ) throws(Interruption) -> [Judgement] {
        let traits = try known.traits(of: answer, inner)
        return answer.nexthops.map { nexthop in
            let one = answer.with { ($0.nexthops, $0.refusal) = ([nexthop], nil) }
            return ReachabilityRules.judge(one, of: candidate, route.query) { traits[$0] }
        }
    }

    private func judgeEncapsulated(
        _ answer: RouteAnswer,
        _ route: PacketRoute,
        _ known: inout Known
    ) throws(Interruption) -> Judgement {
        let traits = known.attempt { (known) throws(Interruption) in try known.traits(of: answer, inner) }
        let outer = known.attempt { (known) throws(Interruption) in try outerEvaluation(route, &known) }
        guard let traits, let outer else { throw .missing }
        let traitsOfInterfaces = try known.value(of: traits)
        let judgement = ReachabilityRules.judge(answer, of: candidate, route.query) { traitsOfInterfaces[$0] }
        guard let nexthop = answer.nexthop, let encapsulation = nexthop.encapsulation?.value else {
            return judgement
        }
        // Only a tunnel with `external` uses these attributes (`skb_tunnel_info`). Any other interface sends the
        // packet unchanged.
        let index = (judgement.nexthop ?? nexthop).interfaceIndex
        if [.ip, .ip6].contains(encapsulation.kind),
            let link = try known.interfaces.facts(aboutInterface: index, detail)?.link,
            link.ends.map({ $0.remote != nil }) ?? true
        {
            return judgement
        }
        return ReachabilityRules.judge(judgement, inside: try known.value(of: outer), encapsulation)
    }

    /// The evaluation of the outer packet; `nil` if the route does not encapsulate.
    func outerEvaluation(_ route: PacketRoute, _ known: inout Known) throws(Interruption) -> Evaluation? {
        guard let (destination, answer) = route.outer?.value, let packets = outerPackets(route) else {
            return nil
        }
        let (candidate, query) = (Candidate.address(destination), outerQuery(destination))
        let traits = try known.traits(of: answer, packets)
        let judgement = ReachabilityRules.judge(answer, of: candidate, query) { traits[$0] }
        return Evaluation(
            judgement, try facts(of: judgement, &known),
            Evaluation.Basis(candidate: candidate, query: query, answer: answer))
    }

    /// The facts about the interface that decided.
    private func facts(
        of judgement: Judgement,
        _ known: inout Known
    ) throws(Interruption) -> InterfaceFacts? {
        guard let index = judgement.nexthop?.interfaceIndex else { return nil }
        // For flags alone, the facts about an interface are optional.
        return detail == .flags
            ? known.interfaces.knownFacts(aboutInterface: index, detail)
            : try known.interfaces.facts(aboutInterface: index, detail)
    }
}

// MARK: - Evaluations

extension Packet {
    /// Combines a judgement with the query and the answer behind it.
    ///
    /// - Parameters:
    ///   - route: The route of the packet.
    ///   - judgement: The judgement on this route.
    ///   - all: The evaluations of all candidates.
    ///   - known: The known facts.
    /// - Returns: The evaluation.
    /// - Throws: ``Interruption/missing`` if a fact is not known yet.
    func evaluation(
        _ route: PacketRoute,
        _ judgement: Judgement,
        all: [Evaluation] = [],
        _ known: inout Known
    ) throws(Interruption) -> Evaluation {
        let answer: RouteAnswer
        switch route.outcome {
        case .unreachable(let reason): return Evaluation(unreachable: reason, candidate)
        case .answered(let given): answer = given
        }
        let packets = deciding(judgement, route)
        let basis = Evaluation.Basis(
            candidate: candidate,
            query: route.query,
            boundInterface: route.boundInterface,
            answer: answer,
            sourceAddress: judgement.flags.isEmpty ? nil : answer.sourceAddress(of: route.query),
            all: all,
            outerReason: try outerReason(of: judgement, route, packets, &known),
            outerEntry: route.outer?.value.answer.entry,
            refusal: try refusal(judgement, route, &known)?.words ?? "",
            nexthopReasons: try nexthopReasons(of: judgement, answer, route, &known),
            pendingSource: try pendingSource(of: judgement, route.query, &known),
            packets: packets,
            localInterface: route.localInterface
        )
        return Evaluation(judgement, try facts(of: judgement, &known), basis)
    }

    /// The rule or route that refuses the packet; `nil` if none does, and if only flags are needed.
    ///
    /// If a bound IPv4 packet is refused, the kernel treats its destination as on the link.
    private func refusal(
        _ judgement: Judgement,
        _ route: PacketRoute,
        _ known: inout Known
    ) throws(Interruption) -> Refusal? {
        let kinds: [ReachabilityReason.Code] = [
            .noRoute, .noDefaultRoute, .unreachable, .prohibited, .blackhole, .refusedByRule,
        ]
        guard detail != .flags, kinds.contains(judgement.kind), route.query.outputInterface == 0,
            case .answered(.rejected(let rejection)) = route.outcome
        else { return nil }
        return try known.refusal(of: route.query, rejection)
    }

    /// See ``Evaluation/Basis/nexthopReasons``.
    private func nexthopReasons(
        of judgement: Judgement,
        _ answer: RouteAnswer,
        _ route: PacketRoute,
        _ known: inout Known
    ) throws(Interruption) -> [ReachabilityReason] {
        guard judgement.kind == .someConnections, detail != .flags else { return [] }
        var first: [Bool: ReachabilityReason] = [:]
        for one in try judgements(of: answer, route, &known) {
            let leaves = one.flags.rank == 2
            if leaves ? one.nexthop != judgement.nexthop : first[false] != nil { continue }
            first[leaves] = try evaluation(route, one, &known).reason
        }
        if first[false] == nil, let refusal = answer.match?.refusal {
            let refused = PacketRoute(
                outcome: .answered(.rejected(refusal.rejection)), query: route.query.from(refusal.source),
                boundInterface: route.boundInterface)
            first[false] = try evaluation(refused, try judge(refused, &known), &known).reason
        }
        return [first[true], first[false]].compactMap(\.self)
    }

    /// The address that will become the packet's source when duplicate address detection ends, in words; empty if
    /// there is none.
    private func pendingSource(
        of judgement: Judgement,
        _ packet: RouteQuery,
        _ known: inout Known
    ) throws(Interruption) -> String {
        guard detail != .flags, [.unusableSource, .noSourceAddress].contains(judgement.kind) else {
            return ""
        }
        let bound = packet.outputInterface == 0 ? nil : packet.outputInterface
        return try known.pendingSource(
            of: packet.destination, through: judgement.nexthop?.interfaceIndex ?? bound)
    }

    /// Why the outer packet can or cannot leave; `nil` if the route does not encapsulate.
    private func outerReason(
        of judgement: Judgement,
        _ route: PacketRoute,
        _ packets: InnerPackets,
        _ known: inout Known
    ) throws(Interruption) -> ReachabilityReason? {
        guard judgement.kind == .tunnelWaits, let nexthop = judgement.nexthop else {
            return try outerEvaluation(route, &known)?.reason
        }
        return try known.carrierReason(ofTunnel: nexthop.interfaceIndex, packets)
    }
}

extension PacketRoute {
    /// See ``Evaluation/Basis/localInterface``.
    fileprivate var localInterface: UInt32? {
        guard case .success(.taken(let match))? = localEntry, match.type == .local, !match.dependsOnSource
        else { return nil }
        return match.nexthop?.interfaceIndex
    }
}

extension RouteAnswer {
    /// The source address of a packet; `nil` if it is unknown or unspecified.
    fileprivate func sourceAddress(of query: RouteQuery) -> IPAddress? {
        let source = query.source ?? self.source
        return source?.isUnspecified == true ? nil : source
    }
}
