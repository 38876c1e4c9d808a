// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

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
        try nexthops(of: evaluation).compactMap { PathExit($0, evaluation.lookup?.route?.priority ?? 0) }
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
