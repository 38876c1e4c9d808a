// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import RoutingModel

/// A path with the reason of its flags.
package struct PathVerdict: Hashable, Sendable {
    /// The path, with costs that the kernel knows only.
    package var path: NetworkPath
    /// The reason of the default path's flags.
    package var reason: ReachabilityReason
}

/// Finds the default path, with the questions and rules that its flags come from.
///
/// Besides the question for the default path there is one for each interface that is up, for a socket that is bound to
/// it. No table is read: a host can have a million routes, and the kernel alone decides by its tables, rules and
/// metrics.
struct PathFinder: Sendable {
    let source: NetworkFacts
    let question: PathQuestion

    /// The default path in one family.
    private struct Way {
        /// The kernel's choice.
        var evaluation: Evaluation
        /// The nexthops that packets take, the deciding one first.
        var exits: [PathExit]

        /// The rank of the best exit; 0 if a restriction excludes all.
        var rank: Int { exits.first?.flags.rank ?? 0 }
    }

    private var evaluator: TargetEvaluator {
        TargetEvaluator(facts: source, options: ReachabilityOptions())
    }

    /// Finds the path.
    ///
    /// - Returns: The path and the reason.
    /// - Throws: ``ReachabilityError`` if a question could not be answered, which is not the same as no.
    func find() throws(ReachabilityError) -> PathVerdict {
        let bound = try boundExits()
        var ways: [Way] = []
        for (family, bound) in zip(IPAddress.Family.allCases, bound) { ways.append(try way(family, bound)) }
        let rank = ways.map(\.rank).max() ?? 0
        // The first of the highest rank decides.
        let used = rank == 0 ? [] : ways.filter { $0.rank == rank }.flatMap(\.exits)
        let flags = used.first?.flags ?? []
        let others = bound.flatMap(\.self).filter { question.admits($0.interface) }
        let exits = used + others.sorted(by: PathExit.isPreferred)
        let excluded = question == .unrestricted ? nil : ReachabilityReason(.noAdmittedInterface)
        let path = NetworkPath(
            status: NetworkPath.Status(flags),
            unsatisfiedReason: .notAvailable,
            availableInterfaces: exits.map(\.interface).withoutRepeats(),
            usedInterfaces: used.map(\.interface).withoutRepeats(),
            gateways: exits.compactMap(\.gateway).withoutRepeats(),
            supportsIPv4: rank > 0 && ways[0].rank == rank,
            supportsIPv6: rank > 0 && ways[1].rank == rank,
            reachesNameserver: try reachesNameserver(isUsable: rank > 0),
            isExpensive: used.contains { $0.interface.type == .cellular },
            isConstrained: false,
            flags: flags
        )
        return PathVerdict(path: path, reason: used.first?.reason ?? excluded ?? unsatisfied(ways))
    }

    /// The reason of the family that has a default route, else of the first.
    private func unsatisfied(_ ways: [Way]) -> ReachabilityReason {
        let (first, second) = (ways[0].evaluation, ways[1].evaluation)
        return second.replaces(first) ? second.reason : first.reason
    }

    // MARK: Questions

    /// The way that packets of one family take: the kernel's choice, or if the question excludes that, the best exit
    /// that it admits.
    private func way(_ family: IPAddress.Family, _ bound: [PathExit]) throws(ReachabilityError) -> Way {
        let evaluation = try evaluator.evaluateDefaultPath(family, detail: .full)
        let chosen = try evaluator.exits(evaluation).filter { question.admits($0.interface) }
        guard question != .unrestricted else { return Way(evaluation: evaluation, exits: chosen) }
        let best = bound.filter { question.admits($0.interface) }.min(by: PathExit.isPreferred)
        guard let best, best.flags.rank > chosen.first?.flags.rank ?? 0 else {
            return Way(evaluation: evaluation, exits: chosen)
        }
        return Way(evaluation: evaluation, exits: [best])
    }

    /// The exits of each interface for a socket that is bound to it, by family.
    private func boundExits() throws(ReachabilityError) -> [[PathExit]] {
        let links = try evaluator.ask { () throws(RoutingFault) in try source.routing.links() }
        let candidates = links.filter(\.canLeadOut).sorted { $0.index < $1.index }
        var exits: [[PathExit]] = []
        for family in IPAddress.Family.allCases {
            var ofFamily: [PathExit] = []
            for link in candidates { ofFamily += try boundExits(link, family) }
            exits.append(ofFamily)
        }
        return exits
    }

    private func boundExits(
        _ link: Link,
        _ family: IPAddress.Family
    ) throws(ReachabilityError) -> [PathExit] {
        let candidate = Candidate.defaultPath(family)
        let query = RouteQuery(destination: candidate.destination, outputInterface: link.index)
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

    /// Whether an unbound socket, as the resolver's are, can send to a name server; `nil` if no name servers are known.
    private func reachesNameserver(isUsable: Bool) throws(ReachabilityError) -> Bool? {
        guard let nameservers = source.nameservers() else { return nil }
        guard isUsable else { return false }
        for address in nameservers {
            if try evaluator.evaluateMonitored(.address(address), detail: .flags).rank > 0 { return true }
        }
        return false
    }
}

extension Link {
    /// Whether the default path of this host can lead out through the interface.
    fileprivate var canLeadOut: Bool {
        flags.contains(.up) && !flags.contains(.loopback) && kind != "vrf" && portKind != "vrf"
    }
}

extension Array where Element: Hashable {
    /// The elements in their order, without repetitions.
    fileprivate func withoutRepeats() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
