// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// The carriers of a tunnel, for what a path costs and for reports: if the kernel does not show them, they are inferred
// from rules and routes. No flag depends on them.
extension Known {
    /// The most marks that are tried for a tunnel.
    private static let markLimit = 8
    /// The most hosts with a route of their own that are looked up for a tunnel.
    private static let hostLimit = 256

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
            var found: [FoundCarrier] = []
            for (outer, state) in zip(outer, states) {
                switch state {
                case .failed(let error)?: throw .failed(error)
                case .evaluated(let carrier)?: found += try describe(carrier, outer.key, tunnel)
                case .underEvaluation?, .unknown?, nil: continue
                }
            }
            // The outer packets of other addresses can use another path, so the best inferred path counts. Both
            // families, and both halves of IPv4, can have the same one.
            let best = found.map(\.carrier.flags.rank).max()
            for next in found where next.carrier.flags.rank == best {
                let isKnown = carriers.contains { $0.carrier.isSame(as: next.carrier) }
                if !isKnown { carriers.append(next) }
            }
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
        let marks: ArraySlice<UInt32>
        switch rules {
        case .success(let rules): marks = rules.marks(pastTable: route.table).prefix(Self.markLimit)
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
        // The route to a VPN's server is in the table of the tunnel's default route, or of the routes that OpenVPN adds
        // in place of one: `0.0.0.0/1` and `128.0.0.0/1`, `::/3` to `e000::/3`, or only `2000::/3`.
        guard route.destination.length <= 3 else { return [] }
        return try host.hostRoutes.get(route.table).prefix(Self.hostLimit).map {
            outer(.toHost($0), to: .address($0), mark: 0)
        }
    }

    /// Describes the carrier of a tunnel by its outer packets.
    private mutating func describe(
        _ carrier: Carrier,
        _ key: CarrierKey,
        _ tunnel: NetworkInterface
    ) throws(Interruption) -> [FoundCarrier] {
        let (outer, packet, route) = (carrier.evaluation, carrier.packet, carrier.route)
        var result = TunnelCarrier(tunnel, key.outer.evidence)
        result.mark = packet.query.mark
        if result.evidence != .rule { result.remote = packet.candidate.destination }
        (result.flags, result.reason) = (carrier.isTooDeep ? [] : outer.flags, carrier.reason)
        let answer = outer.judgement.isOfOuter ? route.outer?.value.answer : outer.answer
        let nexthops = answer?.type?.leavesHost == false ? [] : answer?.nexthops ?? []
        var interfaces: [NetworkInterface] = []
        for nexthop in nexthops {
            let facts = try self.interfaces.facts(aboutInterface: nexthop.interfaceIndex, .full)
            if let facts { interfaces.append(NetworkInterface(facts)) }
        }
        let entering: Entering = (packet.deciding(outer.judgement, route), answer?.entry)
        if result.isExact {
            // There is no route, or the route ends on this host.
            if interfaces.isEmpty { return [(result, entering)] }
        } else if outer.answer?.type != .unicast || interfaces.contains(tunnel)
            || result.evidence == .hostRoute && outer.answer?.entry?.isHostRoute != true
        {
            // A route into the tunnel itself does not show its carrier, nor does one that is not the host's.
            return []
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
    func marks(pastTable table: UInt32) -> [UInt32] {
        func marks(isInverted: Bool) -> [UInt32] {
            compactMap { rule in
                guard rule.isInverted == isInverted, let mark = rule.mark, mark.mask != 0,
                    case .lookup(let target) = rule.action, (target == table) == isInverted
                else { return nil }
                let value = mark.value & mark.mask
                return isInverted || value != 0 ? value : nil
            }
        }
        return (marks(isInverted: true) + marks(isInverted: false)).withoutRepeats()
    }
}

extension TunnelCarrier {
    /// Whether both carriers are the same interface for packets with the same mark and destination, as far as known.
    fileprivate func isSame(as other: TunnelCarrier) -> Bool {
        (interface, mark, remote) == (other.interface, other.mark, other.remote)
    }
}
