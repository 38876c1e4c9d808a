// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// What packets have in common that a tunnel sends around others.
struct CarrierKey: Hashable {
    /// Where the outer packets go.
    enum Outer: Hashable {
        /// To the remote end that the kernel shows.
        case toRemote
        /// To the endpoint of a WireGuard peer.
        case toEndpoint(TunnelEnds)
        /// To an address that is not known, with this mark: one that stands for the default path.
        case marked(UInt32, IPAddress)
        /// To the peer of a connected socket, or to an address with a route of its own.
        case toPeer(IPAddress)

        /// Whether the kernel shows it.
        var isExact: Bool {
            switch self {
            case .toRemote, .toEndpoint: true
            case .marked, .toPeer: false
            }
        }
    }

    /// The index of the tunnel.
    let tunnel: UInt32
    /// The mark of the packets inside.
    let mark: UInt32
    let detail: QueryDetail
    let outer: Outer

    /// The mark of the outer packets in the tunnels around this one.
    ///
    /// A tunnel of the kernel is routed by its mark, but does not set it on its packets; WireGuard does.
    var packetMark: UInt32 {
        switch outer {
        case .toRemote: mark
        case .toEndpoint(let ends): ends.mark ?? 0
        case .marked(let mark, _): mark
        case .toPeer: 0
        }
    }

    /// The most tunnels in each other that the kernel sends through (`IP_TUNNEL_RECURSION_LIMIT`); measured with Linux
    /// 6.18.
    static let sendLimit = 3
    /// The most tunnels in each other that are followed.
    static let depthLimit = 16
    /// The most nexthops of a route that are followed into tunnels.
    static let nexthopLimit = 64
    /// The most outer packets of a batch; a tunnel that needs more is not followed.
    static let limit = 1_024
}

/// What is known of the outer packets of a tunnel.
struct KnownCarrier {
    /// What their evaluation has read.
    var reading = Known.Reading()
    /// The round in which something was missing.
    var waits: Int?
    /// What became of them; `nil` as long as something is missing.
    var state: CarrierState?
}

/// What became of the outer packets of a tunnel.
enum CarrierState {
    /// The evaluation has not ended: the outer packets lead back into the tunnel.
    case underEvaluation
    case evaluated(Carrier)
    /// No answer shows it.
    case unknown
    case failed(ReachabilityError)
}

/// The outer packets of a tunnel, evaluated.
struct Carrier {
    let packet: Packet
    let route: PacketRoute
    let evaluation: Evaluation
    /// The number of tunnels in each other, with that of the packets.
    ///
    /// WireGuard begins a new count: a thread of its own sends its packets.
    let depth: Int

    /// Whether the kernel drops the packets ("Dead loop on virtual device").
    var isTooDeep: Bool { depth > CarrierKey.sendLimit }

    /// What became of the packets, in words.
    var reason: ReachabilityReason {
        isTooDeep ? ReachabilityReason(.tunnelsTooDeep, "\(CarrierKey.sendLimit)") : evaluation.reason
    }
}

// MARK: - Exact carriers

extension Known {
    /// The traits of an interface, with those that follow from what carries packets there; `nil` when it is gone.
    mutating func traits(
        ofInterface index: UInt32,
        _ packets: InnerPackets
    ) throws(Interruption) -> InterfaceTraits? {
        guard let facts = try interfaces.facts(aboutInterface: index, packets.detail) else { return nil }
        guard facts.traits.contains(.isTunnel) else { return facts.traits }
        switch try exit(of: facts.link, to: packets.destination) {
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
            let lower = try boundCarrier(of: facts.link, packets.detail)
            let isBlocked = lower.map { ReachabilityRules.blocker($0.traits) != nil } ?? false
            return isBlocked ? facts.traits.union(.isNotCarried) : facts.traits
        }
    }

    /// The interface that the outer packets of a tunnel are bound to, if the kernel does not show where they go; `nil`
    /// for another tunnel.
    ///
    /// A vxlan with `dev` and without a remote end has one.
    mutating func boundCarrier(
        of tunnel: Link,
        _ detail: QueryDetail
    ) throws(Interruption) -> InterfaceFacts? {
        guard let ends = tunnel.ends, ends.link != 0, ends.remote == nil,
            try !leadsElsewhere(tunnel, than: ends)
        else { return nil }
        return try interfaces.facts(aboutInterface: ends.link, detail)
    }

    /// The traits of the interfaces of an answer, for packets that take it; those that are gone are left out.
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

    /// Where a tunnel sends packets to a destination, if that decides; `nil` for a tunnel with ends of its own, and
    /// where its peers are not known.
    mutating func exit(
        of tunnel: Link,
        to destination: IPAddress
    ) throws(Interruption) -> WireGuardPeers.Exit? {
        guard tunnel.kind == "wireguard" else { return nil }
        guard let peers = unnotified.wireGuardPeers.find(tunnel.index) else { throw .missing }
        switch peers {
        case .success(let peers):
            let exit = peers?.exit(to: destination)
            // A peer can get an endpoint silently: the value is evaluated again after five seconds.
            if let exit, exit.ends == nil { note(lifetime: 500) }
            return exit
        case .failure(let error) where error.code == .undecided: return nil
        case .failure(let error): throw .failed(error)
        }
    }

    /// What became of the outer packets of a tunnel; `nil` where the kernel does not show where they go.
    mutating func carrier(of tunnel: Link, _ packets: InnerPackets) throws(Interruption) -> CarrierState? {
        guard let (key, packet) = try exactCarrier(of: tunnel, packets) else { return nil }
        return try state(of: key, packet)
    }

    /// The outer packets of a tunnel, if the kernel shows where they go.
    mutating func exactCarrier(
        of tunnel: Link,
        _ packets: InnerPackets
    ) throws(Interruption) -> (key: CarrierKey, packet: Packet)? {
        let peer = try exit(of: tunnel, to: packets.destination)?.ends
        guard let ends = tunnel.ends ?? peer, let remote = ends.remote,
            try !leadsElsewhere(tunnel, than: ends)
        else { return nil }
        // The kernel itself sends them: user 0 of its namespace.
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
        // `ip6_tnl_xmit_ctl` wants an address of this host; the tunnels over IPv4 select one.
        if ends.local == nil, ["ip6tnl", "ip6gre", "ip6gretap", "ip6erspan"].contains(tunnel.kind) {
            packet.refusal = ReachabilityReason(.notOwnAddress, "\(IPAddress.anyV6)")
        }
        return (key, packet)
    }

    /// Whether some packets of a tunnel can leave in another way than by its ends.
    ///
    /// The forwarding table of a vxlan, which learns, has ends for each address of the link inside. If it cannot be
    /// listed, it can have others.
    mutating func leadsElsewhere(_ tunnel: Link, than ends: TunnelEnds) throws(Interruption) -> Bool {
        guard tunnel.kind == "vxlan" else { return false }
        guard let found = host.forwardingEnds.find(tunnel.index) else { throw .missing }
        guard let others = found.answer else { return true }
        return others.contains { other in
            (ends.remote != nil && other.remote != ends.remote)
                || (other.link != 0 && other.link != ends.link)
        }
    }

    /// What became of the outer packets of a tunnel; `nil` for a tunnel that is not followed.
    mutating func state(of key: CarrierKey, _ packet: Packet) throws(Interruption) -> CarrierState? {
        if carriers[key] == nil {
            guard carriers.count < CarrierKey.limit else { return nil }
            carriers[key] = KnownCarrier()
        }
        note(carrier: key)
        let carrier = carriers[key]
        if let state = carrier?.state { return state }
        if entered.contains(key) { return .underEvaluation }
        // What an item notes as missing is not noted again by the others.
        if carrier?.waits == round { throw .missing }
        guard entered.count <= CarrierKey.depthLimit else { return nil }
        // The outer packets have read what their own value depends on.
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
            let state: CarrierState = failure.code == .undecided ? .unknown : .failed(failure)
            carriers[key]?.state = state
            return state
        }
    }

    /// The entries of the tables for the outer packets that the item has read, where the kernel shows where they go.
    var carrierEntries: [Route] {
        var entries: [Route] = []
        var seen: Set<CarrierKey> = []
        var next = reading.carriers
        while let key = next.popLast() {
            guard key.outer.isExact, seen.insert(key).inserted, let known = carriers[key] else { continue }
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
        var judgement = try packet.judge(route, &self)
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

    /// Why the outer packets of a tunnel cannot leave now: if the tunnel around it waits too, what that waits for.
    mutating func carrierReason(
        ofTunnel index: UInt32,
        _ packets: InnerPackets
    ) throws(Interruption) -> ReachabilityReason? {
        guard let facts = try interfaces.facts(aboutInterface: index, packets.detail) else { return nil }
        if case .noEndpoint? = try exit(of: facts.link, to: packets.destination) {
            return ReachabilityReason(.noEndpoint, facts.name, other: "\(packets.destination)")
        }
        guard case .evaluated(let outer)? = try carrier(of: facts.link, packets) else {
            guard let lower = try boundCarrier(of: facts.link, packets.detail) else { return nil }
            return ReachabilityRules.blocker(lower.traits).map { ReachabilityReason($0, lower.name) }
        }
        return outer.evaluation.kind == .tunnelWaits ? outer.evaluation.outerReason : outer.reason
    }
}
