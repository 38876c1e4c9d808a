// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// Evaluates targets: finds their candidates, asks about each, and takes the best.
struct TargetEvaluator: Sendable {
    let facts: NetworkFacts
    let options: ReachabilityOptions

    /// Evaluates a target.
    func evaluate(
        _ target: ReachabilityTarget,
        detail: EvaluationDetail
    ) throws(ReachabilityError) -> Evaluation {
        let local = options.localAddress
        switch target.kind {
        // The common case needs no array of one.
        case .address(let address) where detail != .full && !address.unmapped.isUnspecified:
            return try evaluate(.address(address.unmapped), from: local, detail: detail)
        case .address(let address):
            return try evaluate(Candidate.candidates(for: address), from: local, detail: detail)
        case .defaultPath:
            return try evaluate(Candidate.candidates(for: .anyV4), from: local, detail: detail)
        case .pair(let own, let remote):
            return try evaluate(Candidate.candidates(for: remote), from: own, detail: detail)
        case .host(let name):
            switch try resolve(name) {
            case .addresses(let addresses):
                return try evaluate(addresses.flatMap(Candidate.candidates), from: local, detail: detail)
            case .notFound:
                return try evaluateUnresolved(ReachabilityReason(.nameNotFound, name), detail)
            case .failed(let message):
                return try evaluateUnresolved(
                    ReachabilityReason(.nameNotResolved, name, other: message), detail)
            case .timedOut:
                return try evaluateUnresolved(ReachabilityReason(.nameTimedOut, name), detail)
            }
        }
    }

    private func resolve(_ name: String) throws(ReachabilityError) -> HostResolution {
        do {
            return try facts.resolver.resolve(
                name,
                families: options.families,
                timeout: options.resolutionTimeout
            )
        } catch {
            throw ReachabilityError(resolver: error)
        }
    }

    /// Evaluates a name without addresses: where a connection has to be made first, that is not a result yet.
    private func evaluateUnresolved(
        _ reason: ReachabilityReason,
        _ detail: EvaluationDetail
    ) throws(ReachabilityError) -> Evaluation {
        let path = try evaluate(.defaultPath, detail: detail)
        return path.flags.contains(.connectionRequired) ? path : Evaluation(settled: reason)
    }

    /// Evaluates a monitored target: one whose interface does not exist is not reachable until that appears.
    func evaluateMonitored(
        _ target: ReachabilityTarget,
        detail: EvaluationDetail
    ) throws(ReachabilityError) -> Evaluation {
        do {
            return try evaluate(target, detail: detail)
        } catch  where error.code == .unknownInterface {
            return Evaluation([], .interfaceGone)
        }
    }

    /// Evaluates the default path of one family for a socket with these options.
    func evaluateDefaultPath(
        _ family: IPAddress.Family,
        detail: EvaluationDetail
    ) throws(ReachabilityError) -> Evaluation {
        try evaluate(Candidate.defaultPath(family), from: options.localAddress, detail: detail)
    }

    /// Evaluates each candidate alone; the first of the highest rank gives the flags whole.
    ///
    /// A candidate whose question fails does not hide one that is reachable, and is not among
    /// ``Evaluation/all`` then.
    private func evaluate(
        _ candidates: [Candidate],
        from local: IPAddress?,
        detail: EvaluationDetail
    ) throws(ReachabilityError) -> Evaluation {
        var best: Evaluation?
        var all: [Evaluation] = []
        var failure: ReachabilityError?
        for candidate in candidates where admits(candidate.destination, from: local) {
            do {
                let next = try evaluate(candidate, from: local, detail: detail)
                if best.map(next.replaces) ?? true { best = next }
                if detail != .full {
                    if next.rank == 2 { return next }
                } else if all.last?.isSameDefaultPath(as: next) != true {
                    all.append(next)
                }
            } catch {
                failure = failure ?? error
            }
        }
        if let failure, best?.rank != 2 { throw failure }
        guard var best else { return Evaluation(settled: nothingAdmitted(from: local)) }
        best.all = all
        return best
    }

    /// Asks one question about a candidate, and evaluates the answer.
    func evaluate(
        _ candidate: Candidate,
        _ query: RouteQuery,
        boundInterface: String?,
        detail: EvaluationDetail
    ) throws(ReachabilityError) -> Evaluation {
        try ask { () throws(RoutingFault) in
            let evaluation = try evaluateOnce(candidate, query, boundInterface, detail)
            // The interface went away between the two questions, and the route with it: ask again, once.
            guard evaluation.kind == .interfaceGone else { return evaluation }
            return try evaluateOnce(candidate, query, boundInterface, detail)
        }
    }

    private func evaluateOnce(
        _ candidate: Candidate,
        _ query: RouteQuery,
        _ boundInterface: String?,
        _ detail: EvaluationDetail
    ) throws(RoutingFault) -> Evaluation {
        let found = try SocketLookup(routing: facts.routing)
            .lookUp(query, detail: detail == .full ? .entryAndSource : .summary)
        func interfaceFacts(_ index: UInt32) throws(RoutingFault) -> InterfaceFacts? {
            let isEnough = detail.interface == .flags || found.lookup.factsDetail == .report
            if isEnough, let known = found.lookup.facts, known.value.index == index { return known.value }
            return try facts.routing.facts(aboutInterface: index, detail: detail.interface)
        }
        var evaluation = try ReachabilityRules.evaluate(
            found.lookup.bound(toInterface: query.outputInterface),
            of: candidate,
            isBound: boundInterface != nil,
            facts: interfaceFacts
        )
        if detail != .flags, evaluation.facts == nil, let nexthop = evaluation.nexthop {
            // The flags of an own address do not depend on its interface, but a report names it.
            evaluation.facts = try interfaceFacts(nexthop.interfaceIndex)
        }
        // `__mkroute_output` lets packets from 127.0.0.1 leave through the loopback interface alone (EINVAL).
        if evaluation.kind == .blackhole, query.leavesFromLoopback { evaluation.kind = .loopbackSource }
        evaluation.query = found.query
        evaluation.boundInterface = boundInterface
        return evaluation
    }

    /// Runs a question, and names its failure as the API does.
    func ask<Answer>(_ question: () throws(RoutingFault) -> Answer) throws(ReachabilityError) -> Answer {
        do {
            return try question()
        } catch {
            throw ReachabilityError(error)
        }
    }
}

// MARK: - Reports

extension TargetEvaluator {
    /// Evaluates a target, and makes a report of the evaluation.
    func report(
        on target: ReachabilityTarget,
        _ detail: EvaluationDetail
    ) throws(ReachabilityError) -> ReachabilityReport {
        let evaluation = try evaluate(target, detail: detail)
        guard detail == .full else { return ReachabilityReport(target, evaluation) }
        let local = if case .pair(let own, _) = target.kind { own } else { options.localAddress }
        return ReachabilityReport(
            target,
            evaluation,
            sourceAddress: try sourceAddress(of: evaluation),
            connectResult: try connectResult(of: evaluation, from: local)
        )
    }

    /// Returns what connect(2) gives a socket that is bound to a local address or to none; `nil` when it is unknown.
    private func connectResult(
        of evaluation: Evaluation,
        from local: IPAddress?
    ) throws(ReachabilityError) -> ReachabilityReport.ConnectResult? {
        guard var query = evaluation.query else { return nil }
        // The kernel's choice of a source is left to the socket.
        query.source = local?.withoutZone
        return try ask { () throws(RoutingFault) in
            try facts.routing.connect(query).map(ReachabilityReport.ConnectResult.init)
        }
    }

    /// Returns the source address that the packets of an evaluation get; `nil` when it is unknown.
    func sourceAddress(of evaluation: Evaluation) throws(ReachabilityError) -> IPAddress? {
        guard !evaluation.flags.isEmpty, let query = evaluation.query else { return nil }
        if let source = query.source ?? evaluation.lookup?.selectedSource { return source }
        return try ask { () throws(RoutingFault) in
            try facts.routing.lookUp(query, detail: .choice).route?.preferredSource
        }
    }
}

// MARK: - Candidates

extension TargetEvaluator {
    /// Whether the options want an address of this family, and the local address can be its source.
    ///
    /// The kernel takes the bytes of an IPv4 address as an IPv6 source silently.
    func admits(_ destination: IPAddress, from local: IPAddress?) -> Bool {
        options.admits(destination.family) && (local?.family ?? destination.family) == destination.family
    }

    /// Why no candidate is left to ask about.
    func nothingAdmitted(from local: IPAddress?) -> ReachabilityReason {
        if let local, options.admits(local.family) {
            return ReachabilityReason(.excludedFamily, local.family.description, other: local.description)
        }
        let wanted: IPAddress.Family = options.families == .v6 ? .v6 : .v4
        return ReachabilityReason(.excludedFamily, wanted.description)
    }
}

extension IPAddress {
    /// The address that a plain question is about; `nil` where the address needs another question.
    var plainDestination: IPAddress? {
        let destination = unmapped
        return zone != nil || needsZone || destination.isUnspecified ? nil : destination
    }
}

extension RouteQuery {
    /// Whether the packet has an IPv4 loopback source and another destination.
    fileprivate var leavesFromLoopback: Bool {
        destination.family == .v4 && !destination.isLoopback && source?.isLoopback == true
    }
}
