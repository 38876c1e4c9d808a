// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// The carriers of a tunnel, for information only: if the kernel does not show them, they are inferred from the rules
// and from the sockets of the host. No flag depends on them.
extension Known {
    /// The most marks that are tried for a tunnel.
    private static let markLimit = 8
    /// The most socket peers that are looked up for a tunnel.
    private static let peerLimit = 256

    /// Packets that enter a tunnel, and their route into it; `nil` if the route is not known.
    typealias Entering = (packets: InnerPackets, route: Route?)

    /// A carrier, and the outer packets that use it; `nil` if the carrier is known without them.
    private typealias FoundCarrier = (carrier: TunnelCarrier, outer: Entering?)

    /// The carriers of an interface, and of each carrier that is a tunnel itself.
    mutating func carriers(
        ofInterface index: UInt32,
        _ entering: Entering
    ) throws(Interruption) -> [TunnelCarrier] {
        guard interfaces.haveTunnels else { return [] }
        var found: [TunnelCarrier] = []
        var next = [(index: index, entering: Optional(entering), depth: 0)]
        var place = 0
        while place < next.count {
            let (index, entering, depth) = next[place]
            place += 1
            guard depth <= CarrierKey.depthLimit + 1,
                let facts = try interfaces.facts(aboutInterface: index, .full),
                facts.traits.contains(.isTunnel)
            else { continue }
            for (carrier, outer) in try carriers(of: facts, entering) {
                found.append(carrier)
                guard let index = carrier.interface?.index, !next.contains(where: { $0.index == index })
                else { continue }
                next.append((index, outer, depth + 1))
            }
        }
        return found
    }

    private mutating func carriers(
        of facts: InterfaceFacts,
        _ entering: Entering?
    ) throws(Interruption) -> [FoundCarrier] {
        let tunnel = NetworkInterface(facts)
        if let destination = entering?.packets.destination,
            let route = try cryptokeyRoute(of: facts.link, to: destination), route.ends == nil
        {
            var nothing = TunnelCarrier(tunnel, .endpoint)
            nothing.reason = ReachabilityReason(
                route == .noPeer ? .noPeer : .noEndpoint, tunnel.name, other: "\(destination)")
            return [(nothing, nil)]
        }
        var carriers: [FoundCarrier] = []
        if let entering {
            let outer = try outerPackets(of: facts.link, entering)
            let states = try values(of: outer) { (outer, known) throws(Interruption) in
                try known.state(of: outer.key, outer.packet)
            }
            for (outer, state) in zip(outer, states) {
                switch state {
                case .failed(let error)?: throw .failed(error)
                case .evaluated(let carrier)?:
                    // Both families, and both halves of IPv4, can have the same carrier.
                    for found in try describe(carrier, outer.key, tunnel)
                    where !carriers.contains(where: { found.carrier.isSame(as: $0.carrier) }) {
                        carriers.append(found)
                    }
                case .underEvaluation?, .unknown?, nil: continue
                }
            }
        }
        // The outer packets of other addresses can use another path, so the best inferred path counts.
        if let best = carriers.map(\.carrier.flags.rank).max(), carriers.allSatisfy({ !$0.carrier.isExact }) {
            carriers.removeAll { $0.carrier.flags.rank < best }
        }
        if carriers.isEmpty, let lower = try boundCarrier(of: facts.link, .full) {
            var carrier = TunnelCarrier(tunnel, .link)
            carrier.interface = NetworkInterface(lower)
            let blocker = try blocker(of: facts.link, .full)
            carrier.flags = blocker == nil ? .reachable : []
            carrier.reason = blocker ?? ReachabilityReason(.onLink, lower.name)
            carriers = [(carrier, nil)]
        }
        return carriers.isEmpty ? [(TunnelCarrier(tunnel, .unknown), nil)] : carriers
    }

    /// The outer packets of a tunnel: those that the kernel shows, or else inferred ones.
    private mutating func outerPackets(
        of tunnel: Link,
        _ entering: Entering
    ) throws(Interruption) -> [(key: CarrierKey, packet: Packet)] {
        if let exact = try exactCarrier(of: tunnel, entering.packets) { return [exact] }
        guard tunnel.hidesEnds, let route = entering.route else { return [] }
        guard let rules = host.rules.find() else { throw .missing }
        func outer(
            _ outer: CarrierKey.Outer,
            to candidate: Candidate,
            mark: UInt32
        ) -> (key: CarrierKey, packet: Packet) {
            let key = CarrierKey(
                tunnel: tunnel.index, mark: entering.packets.mark, detail: .full, outer: outer)
            var options = ReachabilityOptions()
            options.mark = mark
            var packet = Packet(candidate, from: nil, options, .full, boundTo: 0)
            packet.packetMark = key.packetMark
            return (key, packet)
        }
        let marks: [UInt32]
        switch rules {
        case .success(let rules): marks = rules.marks(pastTable: route.table, limit: Self.markLimit)
        case .failure(let error) where error.code == .undecided: return []
        case .failure(let error): throw .failed(error)
        }
        guard marks.isEmpty else {
            return marks.flatMap { exempt in
                IPAddress.Family.allCases.flatMap { Candidate.defaultPath($0) }.map {
                    outer(.marked(exempt, $0.destination), to: $0, mark: exempt)
                }
            }
        }
        guard let connected = unnotified.connectedPeers.find() else { throw .missing }
        var peers = try value(of: connected)
        // OpenVPN over UDP connects no socket. The host route to its server is in the same table as the routes that it
        // adds in place of a default route: `0.0.0.0/1` and `128.0.0.0/1`, `::/3` to `e000::/3`, or only `2000::/3`.
        if (1...3).contains(route.destination.length) {
            peers += try host.hostRoutes.get(route.table).filter { !peers.contains($0) }
        }
        return peers.prefix(Self.peerLimit).map { outer(.toPeer($0), to: .address($0), mark: 0) }
    }

    /// Describes the carrier of a tunnel by its outer packets.
    private mutating func describe(
        _ carrier: Carrier,
        _ key: CarrierKey,
        _ tunnel: NetworkInterface
    ) throws(Interruption) -> [FoundCarrier] {
        let (outer, packet, route) = (carrier.evaluation, carrier.packet, carrier.route)
        let evidence: TunnelCarrier.Evidence =
            switch key.outer {
            case .toRemote: .remote
            case .toEndpoint: .endpoint
            case .marked: .rule
            case .toPeer: .hostRoute
            }
        var result = TunnelCarrier(tunnel, evidence)
        result.mark = packet.query.mark
        if evidence != .rule { result.remote = packet.candidate.destination }
        (result.flags, result.reason) = (carrier.isTooDeep ? [] : outer.flags, carrier.reason)
        let answer = outer.judgement.isOfOuter ? route.outer?.value.answer : outer.answer
        let nexthops = answer?.type?.leavesHost == false ? [] : answer?.nexthops ?? []
        var interfaces: [NetworkInterface] = []
        for nexthop in nexthops {
            let facts = try self.interfaces.facts(aboutInterface: nexthop.interfaceIndex, .full)
            if let facts { interfaces.append(NetworkInterface(facts)) }
        }
        let entering: Entering = (packet.deciding(outer.judgement, route), answer?.entry)
        switch evidence {
        case .rule where outer.answer?.type == .unicast,
            .hostRoute where outer.answer?.entry?.isHostRoute == true:
            // A route into the tunnel itself does not show its carrier.
            guard !interfaces.contains(tunnel) else { return [] }
        case .remote, .endpoint:
            // There is no route, or the route ends on this host.
            if interfaces.isEmpty { return [(result, entering)] }
        default: return []
        }
        return interfaces.map { interface in
            result.interface = interface
            return (result, entering)
        }
    }
}

extension Link {
    /// Whether the interface is a tunnel of this network namespace whose ends are not shown, so that its carrier can
    /// only be inferred.
    ///
    /// vti and xfrm are excluded, because nothing shows their carrier: the ends and the mark are in the IPsec states.
    fileprivate var hidesEnds: Bool {
        isTunnel && !lowerIsForeign && (ends?.link ?? 0) == 0 && ends?.remote == nil
            && !["vti", "vti6", "xfrm"].contains(kind)
    }
}

extension [Rule] {
    /// The marks whose packets rules exclude from a table or send to another table.
    ///
    /// The marks of rules that send all other packets to this table come first.
    func marks(pastTable table: UInt32, limit: Int) -> [UInt32] {
        var excluded: [UInt32] = []
        var sent: [UInt32] = []
        for rule in self {
            guard let mark = rule.mark, mark.mask != 0, case .lookup(let target) = rule.action else {
                continue
            }
            let value = mark.value & mark.mask
            if rule.isInverted {
                if target == table, !excluded.contains(value) { excluded.append(value) }
                // The marks of other rules come after these.
                if excluded.count == limit { return excluded }
            } else if value != 0, target != table, sent.count < 2 * limit, !sent.contains(value) {
                // Twice the limit, so that enough are left when excluded marks are removed.
                sent.append(value)
            }
        }
        return [UInt32]((excluded + sent.filter { !excluded.contains($0) }).prefix(limit))
    }
}

extension TunnelCarrier {
    /// Whether both carriers are the same interface for packets with the same mark and destination, as far as known.
    fileprivate func isSame(as other: TunnelCarrier) -> Bool {
        (interface, mark, remote) == (other.interface, other.mark, other.remote)
            && flags.rank <= other.flags.rank
    }
}
