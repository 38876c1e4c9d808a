// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import RoutingModel

/// A path with the reason of its flags.
package struct PathVerdict: Hashable, Sendable {
    /// The path; from a ``PathFinder``, with costs that the kernel knows only.
    package var path: NetworkPath
    /// The reason of the default path's flags.
    package var reason: ReachabilityReason

    /// The verdict if the monitor cannot run, or the interface of a socket does not exist.
    static let unknown = PathVerdict(path: .unknown, reason: ReachabilityReason(.interfaceGone))
}

/// Finds the default path, with the questions and rules that its flags come from.
///
/// The questions for the default path are asked once, and once more for each interface that is up, for a socket that is
/// bound to it. No table is read: a host can have a million routes, and the kernel alone decides by its tables, rules
/// and metrics.
struct PathFinder: Sendable {
    let source: NetworkFacts
    let question: PathQuestion

    /// The default path in one family.
    private struct Way {
        /// The kernel's choice.
        var evaluation: Evaluation
        /// The exits of each interface for a socket that is bound to it.
        var bound: [PathExit]
        /// The nexthops that packets take, the deciding one first.
        var exits: [PathExit]

        /// The rank of the best exit; 0 if a restriction excludes all.
        var rank: Int { exits.first?.flags.rank ?? 0 }
    }

    private var evaluator: TargetEvaluator {
        TargetEvaluator(facts: source, options: question.options)
    }

    /// Finds the path.
    ///
    /// - Returns: The path and the reason.
    /// - Throws: ``ReachabilityError`` if a question could not be answered, which is not the same as no.
    func find() throws(ReachabilityError) -> PathVerdict {
        let links = try links()
        var ways: [Way] = []
        for family in IPAddress.Family.allCases { ways.append(try way(family, links)) }
        let rank = ways.map(\.rank).max() ?? 0
        // The first of the highest rank decides.
        let used = rank == 0 ? [] : ways.filter { $0.rank == rank }.flatMap(\.exits)
        let flags = used.first?.flags ?? []
        let others = ways.flatMap(\.bound).filter { question.admits($0.interface) }
        let exits = used + others.sorted(by: PathExit.isPreferred)
        let excluded = question.restrictsTypes ? ReachabilityReason(.noAdmittedInterface) : nil
        let path = NetworkPath(
            status: NetworkPath.Status(flags),
            availableInterfaces: exits.map(\.interface).withoutRepeats(),
            usedInterfaces: used.map(\.interface).withoutRepeats(),
            gateways: exits.compactMap(\.gateway).withoutRepeats(),
            supportsIPv4: rank > 0 && ways[0].rank == rank,
            supportsIPv6: rank > 0 && ways[1].rank == rank,
            reachesNameserver: try reachesNameserver(isUsable: rank > 0),
            isExpensive: used.contains { $0.interface.type == .cellular },
            flags: flags
        )
        return PathVerdict(path: path, reason: used.first?.reason ?? excluded ?? unsatisfied(ways))
    }

    /// The reason of the family that has a default route, else of the first that the socket uses.
    private func unsatisfied(_ ways: [Way]) -> ReachabilityReason {
        let evaluations = ways.map(\.evaluation)
        let asked = evaluations.filter { $0.kind != .excludedFamily }
        let best = asked.dropFirst().reduce(asked.first ?? evaluations[0]) { $1.replaces($0) ? $1 : $0 }
        return best.reason
    }

    // MARK: Questions

    /// The way that packets of one family take: the kernel's choice, or if the question excludes that, the best exit
    /// that it admits.
    private func way(_ family: IPAddress.Family, _ links: [Link]) throws(ReachabilityError) -> Way {
        let evaluation = try evaluator.evaluateDefaultPath(family, detail: .full)
        let bound = try boundExits(family, evaluation, links)
        var chosen: [PathExit] = []
        // A host that sends one half of the address space elsewhere uses the exits of both halves.
        for half in evaluation.all where half.rank == evaluation.rank { chosen += try evaluator.exits(half) }
        chosen = chosen.filter { question.admits($0.interface) }
        let best = bound.filter { question.admits($0.interface) }.min(by: PathExit.isPreferred)
        var way = Way(evaluation: evaluation, bound: bound, exits: chosen)
        if question.restrictsTypes, let best, best.flags.rank > way.rank { way.exits = [best] }
        return way
    }

    /// The interfaces that the default path can lead out through, by index.
    private func links() throws(ReachabilityError) -> [Link] {
        let links = try evaluator.ask { () throws(RoutingFault) in try source.routing.links() }
        return links.filter(\.canLeadOut).sorted { $0.index < $1.index }
    }

    /// The exits of each interface for a socket that is bound to it, in the family of an evaluation.
    private func boundExits(
        _ family: IPAddress.Family,
        _ evaluation: Evaluation,
        _ links: [Link]
    ) throws(ReachabilityError) -> [PathExit] {
        // Without a question, the socket uses another family, or its source address is not one of this host.
        guard evaluation.query != nil else { return [] }
        var exits: [PathExit] = []
        // A socket that is bound to an interface has no other.
        for link in links where link.name == evaluation.boundInterface ?? link.name {
            for candidate in Candidate.defaultPath(family) { exits += try boundExits(link, candidate) }
        }
        return exits
    }

    private func boundExits(_ link: Link, _ candidate: Candidate) throws(ReachabilityError) -> [PathExit] {
        var query = RouteQuery(destination: candidate.destination, outputInterface: link.index)
        question.options.apply(to: &query)
        query.source = question.options.localAddress?.withoutZone
        do {
            let evaluation = try evaluator.evaluate(
                candidate,
                query,
                boundInterface: link.name,
                detail: .full
            )
            // Packets of a socket that is bound to a VRF leave through one of its ports.
            return try evaluator.exits(evaluation).filter { $0.interface.index == Int(link.index) }
        } catch  where error.number == ENODEV {
            // The interface was removed between the two questions.
            return []
        }
    }

    // MARK: Names

    /// Whether an unbound socket of the same user, as the resolver's are, can send to a name server; `nil` if no name
    /// servers are known.
    private func reachesNameserver(isUsable: Bool) throws(ReachabilityError) -> Bool? {
        guard let nameservers = source.nameservers() else { return nil }
        guard isUsable else { return false }
        var options = ReachabilityOptions()
        options.user = question.options.user
        let evaluator = TargetEvaluator(facts: source, options: options)
        for address in nameservers {
            if try evaluator.evaluateMonitored(.address(address), detail: .flags).rank > 0 { return true }
        }
        return false
    }
}

extension Link {
    /// Whether the default path of this host can lead out through the interface.
    fileprivate var canLeadOut: Bool {
        flags.contains(.up) && !flags.contains(.loopback) && !isVRF && !isVRFPort
    }
}

extension Array where Element: Hashable {
    /// The elements in their order, without repetitions.
    fileprivate func withoutRepeats() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}

// MARK: - Exits

/// A nexthop of the default path that packets of one family can take.
struct PathExit: Hashable, Sendable {
    var interface: NetworkInterface
    /// The gateway; a link-local one has the interface as its zone.
    var gateway: IPAddress?
    /// The metric of the default route.
    var metric: UInt32
    var flags: ReachabilityFlags
    var reason: ReachabilityReason
}

extension PathExit {
    /// Orders exits that only bound sockets take: those that need no connection first, then by metric, then by index.
    static func isPreferred(_ one: PathExit, _ other: PathExit) -> Bool {
        (-one.flags.rank, one.metric, one.interface.index)
            < (-other.flags.rank, other.metric, other.interface.index)
    }
}

extension TargetEvaluator {
    /// The nexthops that packets can take: those of the highest rank, the one that decided first.
    func exits(_ evaluation: Evaluation) throws(ReachabilityError) -> [PathExit] {
        guard evaluation.rank > 0, let candidate = evaluation.candidate, let route = evaluation.lookup?.route,
            evaluation.facts != nil
        else { return [] }
        var others: [Evaluation] = []
        for nexthop in route.nexthops where nexthop != evaluation.nexthop {
            var single = route
            single.nexthops = [nexthop]
            let other = try ask { () throws(RoutingFault) in
                try ReachabilityRules.evaluate(RouteLookup(.route(single)), of: candidate, isBound: false) {
                    (index) throws(RoutingFault) in
                    try facts.routing.facts(aboutInterface: index, detail: .report)
                }
            }
            if other.rank == evaluation.rank { others.append(other) }
        }
        others.sort { ($0.facts?.index ?? 0) < ($1.facts?.index ?? 0) }
        return ([evaluation] + others).compactMap { PathExit($0, route.priority) }
    }
}

extension PathExit {
    fileprivate init?(_ evaluation: Evaluation, _ metric: UInt32) {
        guard let facts = evaluation.facts, let nexthop = evaluation.nexthop else { return nil }
        interface = NetworkInterface(facts)
        gateway = nexthop.gateway
        if let address = nexthop.gateway, address.needsZone {
            let index = ZoneIdentifier(index: facts.link.index)
            gateway?.zone = ZoneIdentifier(name: facts.link.name) ?? index
        }
        self.metric = metric
        flags = evaluation.flags
        reason = evaluation.reason
    }
}
