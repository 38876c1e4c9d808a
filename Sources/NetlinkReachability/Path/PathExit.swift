// SPDX-License-Identifier: Apache-2.0

/// One leg of the default path that packets can take, in one family.
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
    /// The order in which exits are preferred that packets do not take by themselves: those that need no
    /// connection first, then by metric, then by index.
    static func isPreferred(_ one: PathExit, _ other: PathExit) -> Bool {
        (-one.flags.rank, one.metric, one.interface.index)
            < (-other.flags.rank, other.metric, other.interface.index)
    }
}

extension Examination.Judgement {
    /// The legs that packets can take: those that are as good as the one that decided, which comes first.
    ///
    /// - Parameters:
    ///   - subject: What was asked about.
    ///   - facts: Tells what is known of an interface; `nil` when it is gone.
    /// - Returns: The legs; none where there is no way.
    /// - Throws: Whatever `facts` throws, and nothing else.
    func exits<Failure: Error>(
        _ subject: ReachabilityRules.Subject,
        facts: (UInt32) throws(Failure) -> InterfaceFacts?
    ) throws(Failure) -> [PathExit] {
        guard flags.rank > 0, case .route(let route) = answer, let nexthop, let own = self.facts else {
            return []
        }
        var exits = [PathExit(nexthop, own, route.priority, self)]
        for leg in route.nexthops where leg != nexthop {
            var single = route
            single.nexthops = [leg]
            let judgement = try ReachabilityRules.judge(
                RouteLookup(.route(single)), subject: subject, facts: facts)
            guard judgement.flags.rank == flags.rank, let facts = judgement.facts else { continue }
            exits.append(PathExit(leg, facts, route.priority, judgement))
        }
        let others = exits.dropFirst().sorted { $0.interface.index < $1.interface.index }
        return exits.prefix(1) + others
    }
}

extension PathExit {
    fileprivate init(
        _ leg: Nexthop,
        _ facts: InterfaceFacts,
        _ metric: UInt32,
        _ judgement: Examination.Judgement
    ) {
        interface = NetworkInterface(facts)
        gateway = leg.gateway
        if let address = leg.gateway, address.needsZone {
            let index = ZoneIdentifier(index: facts.link.index)
            gateway?.zone = ZoneIdentifier(name: facts.link.name) ?? index
        }
        self.metric = metric
        flags = judgement.flags
        reason = judgement.reason
    }
}
