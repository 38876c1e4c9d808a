// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// The lookup of the packets that a tunnel sends around others.
///
/// Lookups whose packets take the same tunnel share it.
struct CarrierLookup {
    /// Where the outer packets go.
    enum Outer: Hashable {
        /// To the remote end that the kernel shows.
        case toRemote
        /// To the endpoint of a WireGuard peer.
        case toEndpoint(TunnelEnds)
        /// To an address that is not known, with this mark: one that stands for the default path.
        case marked(UInt32, IPAddress)
        /// To the peer of a connected socket.
        case toPeer(IPAddress)
    }

    /// What lookups have in common that share this one.
    struct Key: Hashable {
        /// The index of the tunnel.
        let tunnel: UInt32
        /// The mark of the packets inside.
        let mark: UInt32
        let detail: QueryDetail
        let outer: Outer
        /// Whether what carries the tunnels around this one is inferred.
        let infersCarriers: Bool

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
    }

    /// What lookups have in common whose packets enter a tunnel.
    struct Entrance: Hashable {
        let tunnel: UInt32
        let mark: UInt32
        let detail: QueryDetail
        /// The table that leads into the tunnel, where that matters.
        let table: UInt32?
        /// The endpoint of the WireGuard peer that has the destination.
        let endpoint: TunnelEnds?
    }

    let key: Key
    /// How many tunnels are around this one.
    let depth: Int
    /// The lookup of the outer packets.
    var lookup: CandidateLookup
}

/// What became of the outer packets of a tunnel.
enum CarrierState {
    /// The evaluation has not ended: the outer packets lead back into the tunnel.
    case underEvaluation
    case evaluated(Evaluation)
    /// No answer shows it.
    case unknown
    case failed(ReachabilityError)
}

// MARK: - Plan

extension CarrierLookup {
    /// The most tunnels in each other that are followed; the kernel sends through eight.
    static let depthLimit = 16
    /// The most nexthops of a route that are followed into tunnels.
    static let nexthopLimit = 64
    /// The most lookups of a batch; a tunnel that needs more is not followed.
    static let limit = 1_024
    /// The most marks that are tried for a tunnel.
    private static let markLimit = 8
    /// The most peers of sockets that are looked up for a tunnel.
    private static let peerLimit = 256

    /// Plans the lookups of what carries a tunnel.
    ///
    /// - Parameters:
    ///   - tunnel: The tunnel.
    ///   - inner: The lookup of the packets inside.
    ///   - mark: Their mark.
    ///   - answer: Their route, whose entry has the table that leads into the tunnel.
    ///   - exit: Where a WireGuard interface sends them; `nil` for another tunnel, and where it is not known.
    ///   - depth: How many tunnels are around this one.
    ///   - host: Lists rules and sockets.
    /// - Returns: The lookups; none if nothing can be asked, and one that failed if the rules or the peers cannot be
    ///   listed.
    static func plan(
        _ tunnel: Link,
        under inner: CandidateLookup,
        _ mark: UInt32,
        _ answer: RouteAnswer,
        exit: Result<WireGuardPeers.Exit?, ReachabilityError>,
        depth: Int,
        _ host: HostListing
    ) -> [CarrierLookup] {
        func lookup(
            _ outer: Outer,
            to candidate: Candidate,
            _ options: ReachabilityOptions,
            _ ends: TunnelEnds? = nil
        ) -> CarrierLookup {
            let key = Key(
                tunnel: tunnel.index, mark: mark, detail: inner.detail, outer: outer,
                infersCarriers: inner.infersCarriers)
            var lookup = CandidateLookup(
                candidate, from: ends?.local, options, inner.detail, boundTo: ends?.link ?? 0,
                isOuter: ends != nil)
            (lookup.infersCarriers, lookup.packetMark) = (inner.infersCarriers, key.packetMark)
            return CarrierLookup(key: key, depth: depth, lookup: lookup)
        }
        var options = ReachabilityOptions()
        func failed(_ outer: Outer, _ error: ReachabilityError) -> [CarrierLookup] {
            var failed = lookup(outer, to: .address(.anyV4), options)
            failed.lookup = CandidateLookup(
                failed.lookup.candidate, inner.detail, failed.lookup.query, .failed(error))
            return [failed]
        }
        let peer: TunnelEnds?
        switch exit {
        // There are no outer packets.
        case .success(.noPeer?), .success(.noEndpoint?): return []
        case .success(let found): peer = found?.ends
        case .failure(let error): return failed(.toRemote, error)
        }
        if let ends = tunnel.ends ?? peer, let remote = ends.remote {
            guard !host.leadsElsewhere(tunnel, than: ends) else { return [] }
            // The kernel itself sends them: user 0 of its namespace.
            (options.user, options.mark) = (0, ends.mark ?? mark)
            options.typeOfService = ends.typeOfService
            if let port = ends.destinationPort {
                (options.ipProtocol, options.destinationPort) = (.udp, port)
                options.sourcePort = ends.sourcePort
            }
            return [lookup(peer.map(Outer.toEndpoint) ?? .toRemote, to: .address(remote), options, ends)]
        }
        guard inner.infersCarriers, tunnel.hidesEnds, let table = answer.entry?.table else { return [] }
        let marks: [UInt32]
        do throws(ReachabilityError) {
            marks = try host.rules().marks(pastTable: table, limit: markLimit)
        } catch {
            return failed(.marked(0, .anyV4), error)
        }
        guard marks.isEmpty else {
            return marks.flatMap { exempt in
                options.mark = exempt
                return IPAddress.Family.allCases.flatMap { Candidate.defaultPath($0) }.map {
                    lookup(.marked(exempt, $0.destination), to: $0, options)
                }
            }
        }
        return host.connectedPeers().prefix(peerLimit).map {
            lookup(.toPeer($0), to: .address($0), options)
        }
    }
}

extension Link {
    /// Whether the interface is a tunnel of this network namespace whose ends are not shown: what carries it can only
    /// be inferred.
    var hidesEnds: Bool { isTunnel && !lowerIsForeign && (ends?.link ?? 0) == 0 }
}

extension [Rule] {
    /// The marks whose packets rules keep out of a table, or send to another one: first those of rules that send all
    /// other packets to the table.
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
                // Those of the others come after them.
                if excluded.count == limit { return excluded }
            } else if value != 0, target != table, sent.count < 2 * limit, !sent.contains(value) {
                // As many as the limit are left without the excluded ones.
                sent.append(value)
            }
        }
        return [UInt32]((excluded + sent.filter { !excluded.contains($0) }).prefix(limit))
    }
}
