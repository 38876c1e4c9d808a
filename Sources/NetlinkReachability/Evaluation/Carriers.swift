// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// A group of outer packets of a tunnel that all have the same route.
struct CarrierKey: Hashable {
    /// The destination of the outer packets.
    enum Outer: Hashable {
        /// The remote end that the kernel shows.
        case toRemote
        /// The endpoint of a WireGuard peer.
        case toEndpoint(TunnelEnds)
        /// An unknown address, with this mark. The address given here is an example for the default path.
        case marked(UInt32, IPAddress)
        /// The destination of a host route.
        case toHost(IPAddress)

        /// How the destination is known.
        var evidence: TunnelCarrier.Evidence {
            switch self {
            case .toRemote: .remote
            case .toEndpoint: .endpoint
            case .marked: .rule
            case .toHost: .hostRoute
            }
        }
    }

    /// The index of the tunnel.
    let tunnel: UInt32
    /// The mark of the inner packets.
    let mark: UInt32
    let detail: QueryDetail
    let outer: Outer

    /// The mark that the outer packets carry into the next tunnel.
    ///
    /// The kernel's tunnels are routed by a mark but do not set it on their packets. WireGuard sets the mark.
    var packetMark: UInt32 {
        switch outer {
        case .toRemote: mark
        case .toEndpoint(let ends): ends.mark ?? 0
        case .marked(let mark, _): mark
        case .toHost: 0
        }
    }

    /// The deepest nesting of tunnels through which the kernel sends (`IP_TUNNEL_RECURSION_LIMIT`), measured with
    /// Linux 6.18.
    static let sendLimit = 3
    /// The deepest nesting of tunnels that is evaluated.
    static let depthLimit = 16
    /// The most nexthops of a route that are followed into tunnels.
    static let nexthopLimit = 64
    /// The most groups of outer packets in a batch.
    ///
    /// A tunnel that needs more is not evaluated.
    static let limit = 1_024
}

/// The state of the evaluation of a tunnel's outer packets.
struct KnownCarrier {
    /// The facts that this evaluation has read.
    var reading = Known.Reading()
    /// The number of the request round in which a fact was missing.
    var waits: Int?
    /// The result; `nil` while a fact is missing.
    var state: CarrierState?
}

/// The result for the outer packets of a tunnel.
enum CarrierState {
    /// The evaluation has not ended: the outer packets are routed back into the tunnel.
    case underEvaluation
    case evaluated(Carrier)
    /// No answer shows the carrier.
    case unknown
    case failed(ReachabilityError)
}

/// The evaluation of the outer packets of a tunnel.
struct Carrier {
    let packet: Packet
    let route: PacketRoute
    let evaluation: Evaluation
    /// The nesting depth of tunnels, including this one.
    ///
    /// WireGuard starts a new count, because a separate kernel thread sends its packets.
    let depth: Int

    /// Whether the kernel drops the packets ("Dead loop on virtual device").
    var isTooDeep: Bool { depth > CarrierKey.sendLimit }

    /// Why the outer packets can or cannot leave.
    var reason: ReachabilityReason {
        isTooDeep ? ReachabilityReason(.tunnelsTooDeep, "\(CarrierKey.sendLimit)") : evaluation.reason
    }
}

// MARK: - Exact carriers

extension Known {
    /// The traits of an interface, including those that follow from the carrier of a tunnel; `nil` if the interface
    /// was removed.
    mutating func traits(
        ofInterface index: UInt32,
        _ packets: InnerPackets
    ) throws(Interruption) -> InterfaceTraits? {
        guard let facts = try interfaces.facts(aboutInterface: index, packets.detail) else { return nil }
        guard facts.traits.contains(.isTunnel) else { return facts.traits }
        switch try cryptokeyRoute(of: facts.link, to: packets.destination) {
        case .noPeer?: return facts.traits.union(.hasNoPeer)
        case .noEndpoint?: return facts.traits.union(.isNotCarried)
        case .endpoint?, nil: break
        }
        switch try carrier(of: facts.link, packets) {
        case .underEvaluation: return facts.traits.union(.isNotCarried)
        case .evaluated(let outer) where outer.evaluation.rank < 2:
            let dials = outer.evaluation.flags.contains(.connectionOnTraffic)
            return facts.traits.union(dials ? .isCarriedOnTraffic : .isNotCarried)
        case .evaluated(let outer) where outer.isTooDeep: return facts.traits.union(.isNotCarried)
        case .failed(let error): throw .failed(error)
        case .evaluated, .unknown: return facts.traits
        case nil:
            let isBlocked = try blocker(of: facts.link, packets.detail) != nil
            return isBlocked ? facts.traits.union(.isNotCarried) : facts.traits
        }
    }

    /// The interface that a tunnel's outer packets are bound to, if the kernel does not show their destination; `nil`
    /// for other tunnels.
    ///
    /// This applies to a vxlan with `dev` and without a remote end.
    mutating func boundCarrier(
        of tunnel: Link,
        _ detail: QueryDetail
    ) throws(Interruption) -> InterfaceFacts? {
        guard let ends = tunnel.ends, ends.link != 0, ends.remote == nil,
            try !leadsElsewhere(tunnel, than: ends)
        else { return nil }
        return try interfaces.facts(aboutInterface: ends.link, detail)
    }

    /// Why a tunnel cannot send, if the kernel does not show where its outer packets go; `nil` where it can, and for
    /// another tunnel.
    mutating func blocker(
        of tunnel: Link,
        _ detail: QueryDetail
    ) throws(Interruption) -> ReachabilityReason? {
        if let lower = try boundCarrier(of: tunnel, detail),
            let kind = ReachabilityRules.blocker(lower.traits)
        {
            return ReachabilityReason(kind, lower.name)
        }
        guard let ends = tunnel.ends, ends.remote == nil, let local = ends.local,
            try !leadsElsewhere(tunnel, than: ends)
        else { return nil }
        let end = LocalEnd(
            given: local, interfaceIndex: ends.link == 0 ? nil : ends.link, isBinding: false)
        let query = RouteQuery(destination: local)
        var entry: RoutingResult?
        if local.family == .v4 {
            entry = findAnswer(to: query)
            if entry == nil { throw .missing }
        }
        // `ip_nonlocal_bind` is about bind(2).
        return try refusal(of: end, entry, query, isConnected: true)
    }

    mutating func traits(
        of answer: RouteAnswer,
        _ packets: InnerPackets
    ) throws(Interruption) -> [UInt32: InterfaceTraits] {
        guard case .taken(let match) = answer, match.type.leavesHost else { return [:] }
        var traits: [UInt32: InterfaceTraits] = [:]
        let indices = match.nexthops.map(\.interfaceIndex)
        let isFollowed = indices.count <= CarrierKey.nexthopLimit
        let found = try values(of: indices) { (index, known) throws(Interruption) in
            isFollowed
                ? try known.traits(ofInterface: index, packets)
                : try known.interfaces.facts(aboutInterface: index, packets.detail)?.traits
        }
        for (index, found) in zip(indices, found) { traits[index] = found }
        return traits
    }

    /// Where WireGuard sends packets to a destination; `nil` for other tunnels, and if the peers are not known.
    mutating func cryptokeyRoute(
        of tunnel: Link,
        to destination: IPAddress
    ) throws(Interruption) -> WireGuardPeers.CryptokeyRoute? {
        guard tunnel.kind == "wireguard" else { return nil }
        guard let peers = unnotified.wireGuardPeers.find(tunnel.index) else { throw .missing }
        switch peers {
        case .success(let peers):
            let route = peers?.route(to: destination)
            // The kernel does not notify of a peer's new endpoint, so the value is evaluated again after five
            // seconds.
            if let route, route.ends == nil { note(lifetime: 500) }
            return route
        case .failure(let error) where error.code == .undecided: return nil
        case .failure(let error): throw .failed(error)
        }
    }

    /// The result for the outer packets of a tunnel; `nil` if the kernel does not show their destination.
    mutating func carrier(of tunnel: Link, _ packets: InnerPackets) throws(Interruption) -> CarrierState? {
        guard let (key, packet) = try exactCarrier(of: tunnel, packets) else { return nil }
        return try state(of: key, packet)
    }

    /// The outer packets of a tunnel; `nil` if the kernel does not show their destination.
    mutating func exactCarrier(
        of tunnel: Link,
        _ packets: InnerPackets
    ) throws(Interruption) -> (key: CarrierKey, packet: Packet)? {
        let peer = try cryptokeyRoute(of: tunnel, to: packets.destination)?.ends
        guard let ends = tunnel.ends ?? peer, let remote = ends.remote,
            try !leadsElsewhere(tunnel, than: ends)
        else { return nil }
        // The kernel itself sends these packets: as user 0 of its namespace.
        var options = ReachabilityOptions()
        (options.user, options.mark) = (0, ends.mark ?? packets.mark)
        options.typeOfService = ends.typeOfService
        if let port = ends.destinationPort {
            (options.ipProtocol, options.destinationPort) = (.udp, port)
            options.sourcePort = ends.sourcePort
        }
        let key = CarrierKey(
            tunnel: tunnel.index, mark: packets.mark, detail: packets.detail,
            outer: peer.map(CarrierKey.Outer.toEndpoint) ?? .toRemote)
        var packet = Packet(
            .address(remote), from: ends.local, options, packets.detail, boundTo: ends.link)
        (packet.isOuter, packet.packetMark) = (true, key.packetMark)
        // `ip_tunnel_xmit` hashes the inner packet, too: each of the nexthops carries some connections.
        if ["gre", "gretap", "erspan", "ipip"].contains(tunnel.kind) { packet.takesEachNexthop = true }
        // `ip6_tnl_xmit_ctl` requires a local address of this host; tunnels over IPv4 select one.
        if ends.local == nil, ["ip6tnl", "ip6gre", "ip6gretap", "ip6erspan"].contains(tunnel.kind) {
            packet.refusal = ReachabilityReason(.notOwnAddress, "\(IPAddress.anyV6)")
        }
        return (key, packet)
    }

    /// Whether some packets of a tunnel can leave to other ends than its own.
    ///
    /// The forwarding table of a vxlan has an end for each learned address of the inner link. If the table cannot be
    /// listed, other ends are possible.
    mutating func leadsElsewhere(_ tunnel: Link, than ends: TunnelEnds) throws(Interruption) -> Bool {
        guard tunnel.kind == "vxlan" else { return false }
        guard let found = host.forwardingEnds.find(tunnel.index) else { throw .missing }
        guard let others = found.answer else { return true }
        return others.contains { other in
            (ends.remote != nil && other.remote != ends.remote)
                || (other.link != 0 && other.link != ends.link)
        }
    }

    /// The result for the outer packets of a tunnel; `nil` if the tunnel is not evaluated.
    mutating func state(of key: CarrierKey, _ packet: Packet) throws(Interruption) -> CarrierState? {
        if carriers[key] == nil {
            guard carriers.count < CarrierKey.limit else { return nil }
            carriers[key] = KnownCarrier()
        }
        note(carrier: key)
        let carrier = carriers[key]
        if let state = carrier?.state { return state }
        if entered.contains(key) { return .underEvaluation }
        // A fact that another item has requested in this round is not requested again.
        if carrier?.waits == round { throw .missing }
        guard entered.count <= CarrierKey.depthLimit else { return nil }
        // The outer packets keep their own record of the facts that they have read.
        let outer = exchange(&reading, with: carrier?.reading ?? Reading())
        resume()
        entered.append(key)
        defer {
            entered.removeLast()
            carriers[key]?.reading = exchange(&reading, with: outer)
        }
        do throws(Interruption) {
            let state = CarrierState.evaluated(try evaluateOuter(packet, of: key))
            carriers[key]?.state = state
            return state
        } catch {
            guard case .failed(let failure) = error else {
                carriers[key]?.waits = round
                throw error
            }
            // No flag depends on a carrier that is inferred. Whether a tunnel with an exact one sends is undecided
            // with its outer packets.
            let isUnknown =
                failure.code == .undecided && (!key.outer.evidence.isExact || failure == .undecidedCarrier)
            let state: CarrierState = isUnknown ? .unknown : .failed(failure)
            carriers[key]?.state = state
            return state
        }
    }

    /// The routing table entries for the outer packets that the item has read, if the kernel shows their destination.
    var carrierEntries: [Route] {
        var entries: [Route] = []
        var seen: Set<CarrierKey> = []
        var next = reading.carriers
        while let key = next.popLast() {
            guard key.outer.evidence.isExact, seen.insert(key).inserted, let known = carriers[key] else {
                continue
            }
            if case .evaluated(let carrier)? = known.state {
                let evaluation = carrier.evaluation
                entries += [evaluation.answer?.entry, evaluation.outerEntry].compactMap(\.self)
            }
            next += known.reading.carriers
        }
        return entries
    }

    private mutating func evaluateOuter(
        _ packet: Packet,
        of key: CarrierKey
    ) throws(Interruption) -> Carrier {
        let route = try packet.route(&self)
        var judgement = try packet.judgeAlone(route, &self)
        var depth = if case .toEndpoint = key.outer { 0 } else { 1 }
        if let nexthop = judgement.nexthop,
            let facts = try interfaces.facts(aboutInterface: nexthop.interfaceIndex, packet.detail),
            facts.traits.contains(.isTunnel)
        {
            switch try carrier(of: facts.link, packet.deciding(judgement, route)) {
            case .underEvaluation? where judgement.kind == .tunnelWaits:
                (judgement.flags, judgement.kind) = ([], .tunnelLoops)
            case .evaluated(let below)? where facts.link.kind != "wireguard": depth += below.depth
            default: break
            }
        }
        return Carrier(
            packet: packet, route: route, evaluation: try packet.evaluation(route, judgement, &self),
            depth: depth)
    }

    /// Why the outer packets of a tunnel cannot leave now.
    ///
    /// If the next tunnel waits too, the reason of that one.
    mutating func carrierReason(
        ofTunnel index: UInt32,
        _ packets: InnerPackets
    ) throws(Interruption) -> ReachabilityReason? {
        guard let facts = try interfaces.facts(aboutInterface: index, packets.detail) else { return nil }
        if case .noEndpoint? = try cryptokeyRoute(of: facts.link, to: packets.destination) {
            return ReachabilityReason(.noEndpoint, facts.name, other: "\(packets.destination)")
        }
        guard case .evaluated(let outer)? = try carrier(of: facts.link, packets) else {
            return try blocker(of: facts.link, packets.detail)
        }
        return outer.evaluation.kind == .tunnelWaits ? outer.evaluation.outerReason : outer.reason
    }
}
