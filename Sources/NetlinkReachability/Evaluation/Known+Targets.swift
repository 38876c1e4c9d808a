// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// Turns a target into packets, and their evaluations into flags, an evaluation or a report.
extension Known {
    /// The packets of a target.
    private struct Packets {
        var packets: [Packet]
        /// Why the target is not reachable whatever the packets' result: there are no packets, or they stand for the
        /// default path of a name without an address.
        var reason: ReachabilityReason?
    }

    /// A packet that was evaluated.
    ///
    /// A structure, because the runtime copies tuples with references element by element.
    private struct Judged {
        let place: Int
        let route: PacketRoute
        let judgement: Judgement
    }

    /// The flags of a target.
    mutating func flags(
        of target: ReachabilityTarget,
        _ options: ReachabilityOptions
    ) throws(Interruption) -> ReachabilityFlags {
        // The common case: only one packet.
        if let packet = onlyPacket(of: target, options, .flags) {
            return try packet.judgeAlone(try packet.route(&self), &self).flags
        }
        let packets = try packets(of: target, options, .flags)
        return try best(packets, try judge(packets))?.judgement.flags ?? []
    }

    /// The evaluation of a target.
    mutating func evaluation(
        of target: ReachabilityTarget,
        _ options: ReachabilityOptions,
        _ detail: QueryDetail
    ) throws(Interruption) -> Evaluation {
        if let packet = onlyPacket(of: target, options, detail) {
            guard detail == .full else { return try evaluation(of: packet) }
            // A report also shows the result of connect(2). Skipped if there may be no packet to send.
            if packet.interface == nil, packet.local == nil, !packet.candidate.destination.needsZone {
                _ = unnotified.connections.find(packet.query.ofConnect(from: packet.local))
            }
            let alone = try evaluation(of: packet)
            return alone.query == nil ? alone : alone.with(all: [alone])
        }
        return try evaluation(of: try packets(of: target, options, detail))
    }

    /// The evaluation of one packet, for a target with one address.
    mutating func evaluation(of packet: Packet) throws(Interruption) -> Evaluation {
        let route = try packet.route(&self)
        return try packet.evaluation(route, try packet.judgeAlone(route, &self), &self)
    }

    /// The evaluation of the best candidate, with the evaluations of all candidates.
    mutating func evaluation(
        of candidates: [Candidate],
        from local: IPAddress?,
        _ options: ReachabilityOptions,
        _ detail: QueryDetail
    ) throws(Interruption) -> Evaluation {
        try evaluation(of: packets(to: candidates, from: local, options, detail))
    }

    private mutating func evaluation(of packets: Packets) throws(Interruption) -> Evaluation {
        let judged = try judge(packets)
        guard let best = try best(packets, judged) else {
            guard let reason = packets.reason else { return Evaluation(Judgement([], .interfaceGone)) }
            return Evaluation(unreachable: reason)
        }
        let packet = packets.packets[best.place]
        let all = packet.detail == .full ? try evaluations(packets, judged) : []
        return try packet.evaluation(best.route, best.judgement, all: all, &self)
    }

    /// The packet of a target with one address; `nil` for another target, or if the options exclude it.
    private func onlyPacket(
        of target: ReachabilityTarget,
        _ options: ReachabilityOptions,
        _ detail: QueryDetail
    ) -> Packet? {
        let local = options.localAddress
        guard let address = target.address?.unmapped, !address.isUnspecified,
            options.admits(address, from: local)
        else { return nil }
        return Packet(.address(address), from: local, options, detail)
    }

    /// The packets of a target.
    ///
    /// A name has been resolved.
    private mutating func packets(
        of target: ReachabilityTarget,
        _ options: ReachabilityOptions,
        _ detail: QueryDetail
    ) throws(Interruption) -> Packets {
        let local = options.localAddress
        switch target.kind {
        case .address(let address):
            return packets(to: Candidate.candidates(for: address), from: local, options, detail)
        case .defaultPath:
            return packets(to: Candidate.candidates(for: .anyV4), from: local, options, detail)
        case .pair(let own, let remote):
            return packets(to: Candidate.candidates(for: remote), from: own, options, detail)
        case .host(let name):
            let found = try resolution(of: NameQuery(name, options))
            // If the name has no addresses, the default path is evaluated. If the default path needs a connection
            // first, the name may resolve afterwards.
            let addresses = if case .addresses = found { found.destinations } else { [IPAddress.anyV4] }
            var packets = packets(to: addresses.flatMap(Candidate.candidates), from: local, options, detail)
            packets.reason = found.failure(of: name) ?? packets.reason
            return packets
        }
    }

    /// The resolution of a name.
    mutating func resolution(of name: NameQuery) throws(Interruption)
        -> ReachabilityTarget.Resolution
    {
        guard let resolution = resolution ?? unnotified.names.find(name) else { throw .missing }
        return try value(of: resolution)
    }

    private func packets(
        to candidates: [Candidate],
        from local: IPAddress?,
        _ options: ReachabilityOptions,
        _ detail: QueryDetail
    ) -> Packets {
        let admitted = candidates.filter { options.admits($0.destination, from: local) }
        return Packets(
            packets: admitted.map { Packet($0, from: local, options, detail) },
            reason: admitted.isEmpty ? options.nothingAdmitted(from: local) : nil)
    }

    // MARK: Several packets

    private mutating func judge(
        _ packets: Packets
    ) throws(Interruption) -> [Result<Judged, ReachabilityError>] {
        try all(Array(packets.packets.indices)) { (place, known) throws(Interruption) in
            let packet = packets.packets[place]
            let route = try packet.route(&known)
            return Judged(place: place, route: route, judgement: try packet.judgeAlone(route, &known))
        }
    }

    /// The packet that decides: the first packet of the highest rank, each judged on its own.
    ///
    /// A packet whose lookup fails does not hide a packet that can leave.
    ///
    /// - Returns: The packet; `nil` if the target has a reason of its own.
    /// - Throws: An error if a lookup failed and no other packet can leave.
    private func best(
        _ packets: Packets,
        _ all: [Result<Judged, ReachabilityError>]
    ) throws(Interruption) -> Judged? {
        var best: Judged?
        var failure: ReachabilityError?
        for result in all {
            switch result {
            case .failure(let error): failure = failure ?? error
            case .success(let next):
                if let best, !next.judgement.replaces(best.judgement) { continue }
                if next.judgement.flags.rank == 2 { return packets.reason == nil ? next : nil }
                best = next
            }
        }
        if let failure { throw .failed(failure) }
        // Rank 1: a connection has to be made first, and the name may resolve after that.
        return packets.reason == nil || best?.judgement.flags.rank == 1 ? best : nil
    }

    /// The evaluations of all packets except those whose lookup failed.
    private mutating func evaluations(
        _ packets: Packets,
        _ judged: [Result<Judged, ReachabilityError>]
    ) throws(Interruption) -> [Evaluation] {
        var all: [Evaluation] = []
        for next in try values(
            of: judged.compactMap(\.answer),
            { (next, known) throws(Interruption) in
                try packets.packets[next.place].evaluation(next.route, next.judgement, &known)
            }) where all.last?.isSameDefaultPath(as: next) != true
        { all.append(next) }
        return all
    }
}

extension ReachabilityOptions {
    /// Whether the options allow an address of this family, and the local address can be its source.
    ///
    /// The kernel does not reject the bytes of an IPv4 address as an IPv6 source.
    fileprivate func admits(_ destination: IPAddress, from local: IPAddress?) -> Bool {
        admits(destination.family) && (local?.family ?? destination.family) == destination.family
    }

    /// Why no candidate is left.
    fileprivate func nothingAdmitted(from local: IPAddress?) -> ReachabilityReason {
        if let local, admits(local.family) {
            return ReachabilityReason(.excludedFamily, local.family.description, other: local.description)
        }
        let wanted: IPAddress.Family = families == .v6 ? .v6 : .v4
        return ReachabilityReason(.excludedFamily, wanted.description)
    }
}

// MARK: - Reports

extension Known {
    /// The report on a target.
    mutating func report(
        on target: ReachabilityTarget,
        _ options: ReachabilityOptions,
        _ detail: QueryDetail
    ) throws(Interruption) -> ReachabilityReport {
        try report(on: target, options, try evaluation(of: target, options, detail))
    }

    /// The report for an evaluation of a target.
    mutating func report(
        on target: ReachabilityTarget,
        _ options: ReachabilityOptions,
        _ evaluation: Evaluation
    ) throws(Interruption) -> ReachabilityReport {
        let local = if case .pair(let own, _) = target.kind { own } else { options.localAddress }
        let carriers = attempt { (known) throws(Interruption) in try known.carriers(of: evaluation) }
        let connected = attempt { (known) throws(Interruption) in
            try known.connectResult(of: evaluation, from: local)
        }
        let returns = attempt { (known) throws(Interruption) in
            try known.answerArrival(of: evaluation, options)
        }
        let rules = attempt { (known) throws(Interruption) in try known.rules(of: evaluation) }
        guard let carriers, let connected, let returns, let rules else { throw .missing }
        // If the outcome of an answer is not known, the report still has everything else.
        let known: ReachabilityReport.Returns? =
            switch returns {
            case .success(let arrival): arrival.map { .init(.success($0)) }
            case .failure(let error): .init(.failure(error))
            }
        return ReachabilityReport(
            target, evaluation, try value(of: carriers), connectResult: try value(of: connected),
            returns: known, rules: try value(of: rules),
            name: { interfaces.knownFacts(aboutInterface: $0, .reason)?.name })
    }

    /// The carriers of the interface that decided.
    private mutating func carriers(of evaluation: Evaluation) throws(Interruption) -> [TunnelCarrier] {
        guard evaluation.query?.wantsEntry == true, let packets = evaluation.packets,
            let index = evaluation.facts?.index
        else { return [] }
        return try carriers(ofInterface: index, (packets, evaluation.enteredRoute))
    }

    /// The result of connect(2) for a socket that is bound to a local address or to none; `nil` if it is unknown, and
    /// below ``QueryDetail/full``.
    private mutating func connectResult(
        of evaluation: Evaluation,
        from local: IPAddress?
    ) throws(Interruption) -> ReachabilityReport.ConnectResult? {
        guard let query = evaluation.query, query.wantsEntry else { return nil }
        return try unnotified.connections.get(query.ofConnect(from: local))
            .map(ReachabilityReport.ConnectResult.init)
    }
}

extension RouteQuery {
    /// The query for a socket that sends these packets.
    ///
    /// The kernel selects its source address.
    fileprivate func ofConnect(from local: IPAddress?) -> RouteQuery {
        from(local?.withoutZone).with { $0.wantsEntry = false }
    }
}

extension ReachabilityReport {
    fileprivate init(
        _ target: ReachabilityTarget,
        _ evaluation: Evaluation,
        _ carriers: [TunnelCarrier],
        connectResult: ConnectResult?,
        returns: Returns?,
        rules: Rules?,
        name: (UInt32) -> String?
    ) {
        let others = evaluation.otherNexthops.map { NetworkRoute.Nexthop($0, name) }
        let dropped = returns?.arrival.flatMap { $0.outcome == .dropped ? $0.reason : nil }
        self.init(
            target: target,
            flags: evaluation.flags,
            reason: connectResult?.refusal(beside: evaluation.flags)
                ?? dropped.map { ReachabilityReason(answerDropped: $0, by: evaluation.facts?.name ?? "") }
                ?? evaluation.reason,
            // The example address of the default path is not the caller's.
            address: evaluation.candidate.flatMap { $0.isDefaultPath ? nil : $0.destination },
            route: (evaluation.answer?.entry).map { NetworkRoute($0, name: name) },
            interface: evaluation.facts.map(NetworkInterface.init),
            gateway: evaluation.gateway,
            sourceAddress: evaluation.sourceAddress,
            connectResult: connectResult,
            returns: returns,
            rules: rules,
            pathMTU: evaluation.query?.wantsEntry == true
                ? evaluation.answer?.match?.pathMTU.map {
                    PathMTU(mtu: $0.mtu, seconds: Int($0.expires) / 100)
                } : nil,
            findings: evaluation.all.map { Finding($0, name: name) },
            knownCarriers: carriers.isEmpty ? nil : carriers,
            knownOtherNexthops: others.isEmpty ? nil : others
        )
    }
}

extension ReachabilityReport.Detail {
    /// The detail that an evaluation needs for the report.
    var evaluation: QueryDetail { self == .full ? .full : .reason }
}

extension ReachabilityReport.Finding {
    fileprivate init(_ evaluation: Evaluation, name: (UInt32) -> String?) {
        self.init(
            address: evaluation.candidate?.destination ?? .anyV4,
            flags: evaluation.flags,
            reason: evaluation.reason,
            kernelError: evaluation.answer?.rejection?.rawValue,
            interface: evaluation.facts.map(NetworkInterface.init),
            interfaceState: evaluation.facts.map { NetworkInterface.State($0.link, over: $0.basis) },
            route: (evaluation.answer?.entry).map { NetworkRoute($0, name: name) }
        )
    }
}
