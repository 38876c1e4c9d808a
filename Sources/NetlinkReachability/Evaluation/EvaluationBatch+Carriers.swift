// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// MARK: - Evaluate

extension EvaluationBatch {
    /// Evaluates the outer packets of a tunnel, and before them those of the tunnels around it, up to a limit.
    mutating func evaluateCarrier(_ index: Int, depth: Int = 0) {
        guard carrierStates[index] == nil, depth <= CarrierLookup.depthLimit else { return }
        carrierStates[index] = .underEvaluation
        let carrier = batch.carriers[index]
        switch carrier.lookup.step {
        case .answered(let source, let answer):
            for (packets, answer) in carrier.lookup.routes {
                for nexthop in answer.nexthops {
                    let next = carrierIndex(ofTunnel: nexthop.interfaceIndex, packets)
                    if let next { evaluateCarrier(next, depth: depth + 1) }
                }
            }
            do throws(ReachabilityError) {
                try checkCarriers(of: carrier.lookup)
            } catch {
                carrierStates[index] = .failed(error)
                return
            }
            var judgement = judge(carrier.lookup, answer, carrier.lookup.query.from(source))
            let packets = judgement.packets(of: carrier.lookup)
            if judgement.kind == .tunnelWaits, let nexthop = judgement.nexthop,
                case .underEvaluation? = carrierState(ofTunnel: nexthop.interfaceIndex, packets)
            {
                (judgement.flags, judgement.kind) = ([], .tunnelLoops)
            }
            carrierStates[index] = .evaluated(evaluation(of: carrier.lookup, judgement))
        case .failed(let error): carrierStates[index] = error.code == .undecided ? .unknown : .failed(error)
        case .unreachable(let reason):
            carrierStates[index] = .evaluated(Evaluation(unreachable: reason, carrier.lookup.candidate))
        default: preconditionFailure("a lookup was not run to its end")
        }
    }

    /// Where a WireGuard interface sends packets; `nil` for another one, and where it is not known.
    private func peerExit(ofTunnel index: UInt32, _ packets: InnerPackets) -> WireGuardPeers.Exit? {
        // Peers are known here if they could be listed.
        guard let facts = interfaces.facts(aboutInterface: index, packets.detail) else { return nil }
        return try? host.peerExit(of: facts.link, to: packets.destination)
    }

    /// The lookup of the outer packets of a tunnel, if the kernel shows where they go.
    private func carrierIndex(ofTunnel index: UInt32, _ packets: InnerPackets) -> Int? {
        let endpoint = peerExit(ofTunnel: index, packets)?.ends
        func find(_ infersCarriers: Bool) -> Int? {
            batch.carrierIndices[
                CarrierLookup.Key(
                    tunnel: index, mark: packets.mark, detail: packets.detail,
                    outer: endpoint.map(CarrierLookup.Outer.toEndpoint) ?? .toRemote,
                    infersCarriers: infersCarriers)]
        }
        // Only a full lookup infers.
        return (packets.detail == .full ? find(true) : nil) ?? find(false)
    }

    /// What became of the outer packets of a tunnel; `nil` where the kernel does not show where they go.
    private func carrierState(ofTunnel index: UInt32, _ packets: InnerPackets) -> CarrierState? {
        guard !batch.carriers.isEmpty else { return nil }
        return carrierIndex(ofTunnel: index, packets).flatMap { carrierStates[$0] }
    }

    /// The traits of an interface, with those that follow from what carries packets there; `nil` when it is gone.
    func traits(ofInterface index: UInt32, _ packets: InnerPackets) -> InterfaceTraits? {
        guard let traits = interfaces.traits(ofInterface: index, packets.detail) else { return nil }
        guard traits.contains(.isTunnel) else { return traits }
        switch peerExit(ofTunnel: index, packets) {
        case .noPeer?: return traits.union(.hasNoPeer)
        case .noEndpoint?: return traits.union(.isNotCarried)
        case .endpoint?, nil: break
        }
        switch carrierState(ofTunnel: index, packets) {
        case .underEvaluation: return traits.union(.isNotCarried)
        case .evaluated(let outer) where outer.rank < 2:
            let dials = outer.flags.contains(.connectionOnTraffic)
            return traits.union(dials ? .isCarriedOnTraffic : .isNotCarried)
        case .evaluated, .unknown, .failed, nil: return traits
        }
    }

    /// Why the outer packets of a tunnel cannot leave now: if the tunnel around it waits too, what that waits for.
    func carrierReason(ofTunnel index: UInt32, _ packets: InnerPackets) -> ReachabilityReason? {
        if case .noEndpoint? = peerExit(ofTunnel: index, packets) {
            let name = interfaces.facts(aboutInterface: index, packets.detail)?.name ?? ""
            return ReachabilityReason(.noEndpoint, name, other: "\(packets.destination)")
        }
        guard case .evaluated(let outer)? = carrierState(ofTunnel: index, packets) else { return nil }
        return outer.kind == .tunnelWaits ? outer.outerReason : outer.reason
    }

    /// Checks that the outer packets of the tunnels that a lookup leads into could be looked up.
    func checkCarriers(of lookup: CandidateLookup) throws(ReachabilityError) {
        for (packets, answer) in lookup.routes {
            for nexthop in answer.nexthops {
                let state = carrierState(ofTunnel: nexthop.interfaceIndex, packets)
                if case .failed(let error)? = state { throw error }
            }
        }
    }
}

// MARK: - Describe

extension EvaluationBatch {
    /// What carries an interface that packets take, and what carries that, if those are tunnels.
    ///
    /// Only lookups of ``QueryDetail/full`` know.
    mutating func carriers(
        ofInterface index: UInt32,
        _ packets: InnerPackets
    ) throws(ReachabilityError) -> [TunnelCarrier] {
        var found: [TunnelCarrier] = []
        var next = [(index: index, destination: Optional(packets.destination), mark: packets.mark)]
        var place = 0
        while place < next.count {
            let (index, destination, mark) = next[place]
            place += 1
            guard let facts = interfaces.facts(aboutInterface: index, .full),
                facts.traits.contains(.isTunnel)
            else { continue }
            for (carrier, outer) in try carriers(of: facts, to: destination, mark) {
                found.append(carrier)
                guard let index = carrier.interface?.index, !next.contains(where: { $0.index == index })
                else { continue }
                next.append((index, outer?.destination, outer?.mark ?? mark))
            }
        }
        return found
    }

    /// A carrier, and the outer packets that it takes; `nil` for one that is known without.
    private typealias FoundCarrier = (carrier: TunnelCarrier, outer: InnerPackets?)

    private mutating func carriers(
        of facts: InterfaceFacts,
        to destination: IPAddress?,
        _ mark: UInt32
    ) throws(ReachabilityError) -> [FoundCarrier] {
        let tunnel = NetworkInterface(facts)
        let exit = try destination.flatMap { (destination) throws(ReachabilityError) in
            try host.peerExit(of: facts.link, to: destination)
        }
        if let destination, let exit, exit.ends == nil {
            var nothing = TunnelCarrier(tunnel, .endpoint)
            nothing.reason = ReachabilityReason(
                exit == .noPeer ? .noPeer : .noEndpoint, tunnel.name, other: "\(destination)")
            return [(nothing, nil)]
        }
        let all = batch.carriers.indices.filter { index in
            let key = batch.carriers[index].key
            guard key.tunnel == facts.index, key.mark == mark, key.detail == .full else { return false }
            // Other destinations have other peers.
            return if case .toEndpoint(let ends) = key.outer { ends == exit?.ends } else { exit == nil }
        }
        var carriers: [FoundCarrier] = []
        let inferring = all.filter { batch.carriers[$0].key.infersCarriers }
        for index in inferring.isEmpty ? all : inferring {
            // Those of both families, and of both halves of IPv4, can be one.
            for found in try self.carriers(of: tunnel, index)
            where !carriers.contains(where: { found.carrier.isSame(as: $0.carrier) }) {
                carriers.append(found)
            }
        }
        // The outer packets of other addresses can take another path: that of the best counts.
        if let best = carriers.map(\.carrier.flags.rank).max(), carriers.allSatisfy({ !$0.carrier.isExact }) {
            carriers.removeAll { $0.carrier.flags.rank < best }
        }
        if carriers.isEmpty, let ends = facts.link.ends, ends.link != 0, ends.remote == nil,
            !host.leadsElsewhere(facts.link, than: ends),
            let lower = try self.facts(aboutInterface: ends.link, .full)
        {
            var carrier = TunnelCarrier(tunnel, .link)
            carrier.interface = NetworkInterface(lower)
            let blocker = ReachabilityRules.blocker(lower.traits)
            carrier.flags = blocker == nil ? .reachable : []
            carrier.reason = ReachabilityReason(blocker ?? .onLink, lower.name)
            carriers = [(carrier, nil)]
        }
        return carriers.isEmpty ? [(TunnelCarrier(tunnel, .unknown), nil)] : carriers
    }

    /// What a lookup of outer packets shows of the carrier.
    ///
    /// - Throws: The error of the lookup.
    private func carriers(
        of tunnel: NetworkInterface,
        _ index: Int
    ) throws(ReachabilityError) -> [FoundCarrier] {
        if case .failed(let error)? = carrierStates[index] { throw error }
        guard case .evaluated(let outer)? = carrierStates[index] else { return [] }
        let carrier = batch.carriers[index]
        let evidence: TunnelCarrier.Evidence =
            switch carrier.key.outer {
            case .toRemote: .remote
            case .toEndpoint: .endpoint
            case .marked: .rule
            case .toPeer: .hostRoute
            }
        var result = TunnelCarrier(tunnel, evidence)
        result.mark = carrier.lookup.query.mark
        if evidence != .rule { result.remote = carrier.lookup.candidate.destination }
        (result.flags, result.reason) = (outer.flags, outer.reason)
        let packets = outer.judgement.packets(of: carrier.lookup)
        let answer = outer.judgement.isOfOuter ? carrier.lookup.outer?.value.answer : outer.answer
        let nexthops = answer?.type?.leavesHost == false ? [] : answer?.nexthops ?? []
        let interfaces = nexthops.compactMap {
            self.interfaces.facts(aboutInterface: $0.interfaceIndex, .full).map(NetworkInterface.init)
        }
        switch evidence {
        case .rule where outer.answer?.type == .unicast, .hostRoute where outer.answer?.isHostRoute == true:
            // What leads into the tunnel itself carries something else.
            guard !interfaces.contains(tunnel) else { return [] }
        case .remote, .endpoint:
            // It leads nowhere, or to this host.
            if interfaces.isEmpty { return [(result, packets)] }
        default: return []
        }
        return interfaces.map { interface in
            result.interface = interface
            return (result, packets)
        }
    }
}

extension TunnelCarrier {
    /// Whether both are one interface for packets with one mark to one destination, as far as that is known.
    fileprivate func isSame(as other: TunnelCarrier) -> Bool {
        (interface, mark, remote) == (other.interface, other.mark, other.remote)
            && flags.rank <= other.flags.rank
    }
}

extension RouteAnswer {
    /// Whether the entry is a route to one host that a program added.
    fileprivate var isHostRoute: Bool {
        guard let entry, entry.type == .unicast else { return false }
        return entry.destination.length == entry.destination.address.family.bitWidth
            && entry.origin != Route.kernelOrigin
    }
}
