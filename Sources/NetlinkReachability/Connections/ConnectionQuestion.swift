// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// The question what becomes of a connection: one about its packets, and one about those of a new connection.
struct ConnectionQuestion: MonitorQuestion, Hashable {
    let connection: NetworkConnection

    func areSame(_ one: ConnectionStatus, _ other: ConnectionStatus) -> Bool { one == other }

    func plan(_ round: inout EvaluationRound) {
        let pair = ReachabilityTarget.Kind.pair(local: connection.local, remote: connection.remote)
        round.add(ReachabilityTarget(kind: pair), connection.options, .reason)
        var options = connection.options
        options.sourcePort = nil
        round.add(.address(connection.remote), options, .source)
    }

    func answer(
        from round: inout EvaluationRound,
        _ entries: Range<Int>
    ) throws(ReachabilityError) -> ConnectionStatus {
        let present: Evaluation
        do {
            present = try round.evaluation(entries.lowerBound)
        } catch  where error.code == .unknownInterface {
            // A socket that is bound to an interface which is gone sends nothing.
            return ConnectionStatus(state: .lost, Evaluation(Verdict([], .interfaceGone)))
        }
        var status = ConnectionStatus(state: .init(present), present)
        guard status.state != .local else { return status }
        let new = try? round.evaluation(entries.lowerBound + 1)
        let next = new?.rank == 2 ? new : nil
        let isSamePath = next?.takesSamePath(as: present, from: connection.local) == true
        if status.state == .viable {
            if let blocked = try blockedOwner(&round) {
                // Packets leave through another interface, and the answers to their source address do not arrive.
                (status.state, status.reason) = (.waiting, blocked.reason)
            } else if isSamePath || next?.isWorse(than: present) == true {
                return status
            }
        }
        if !isSamePath { status.betterPath = next.map(ConnectionStatus.Path.init) }
        return status
    }

    /// The first interface that has the local address, if none of those that have it can receive.
    ///
    /// The addresses of the host are listed only if the interface that the local table names cannot, or it names none.
    private func blockedOwner(_ round: inout EvaluationRound) throws(ReachabilityError) -> Evaluation? {
        if let index = round.host.localInterface(of: connection.local.withoutZone),
            let facts = try round.facts(aboutInterface: index, .flags),
            ReachabilityRules.blocker(facts.traits) == nil
        {
            return nil
        }
        var blocked: Evaluation?
        for address in try round.host.addresses()
        where address.address.withoutZone == connection.local.withoutZone {
            guard let facts = try round.facts(aboutInterface: address.interfaceIndex, .flags) else {
                continue
            }
            guard let blocker = ReachabilityRules.blocker(facts.traits) else { return nil }
            blocked = blocked ?? Evaluation(Verdict([], blocker), facts)
        }
        return blocked
    }
}

extension ConnectionStatus.State {
    /// What becomes of packets with this evaluation.
    fileprivate init(_ evaluation: Evaluation) {
        if evaluation.flags.contains(.isLocalAddress) {
            self = .local
        } else if evaluation.rank == 2 {
            self = .viable
        } else {
            self = [.notOwnAddress, .interfaceGone].contains(evaluation.reason.kind) ? .lost : .waiting
        }
    }
}

extension ConnectionStatus {
    fileprivate init(state: State, _ present: Evaluation) {
        self.state = state
        reason = present.reason
        interface = present.facts.map(NetworkInterface.init)
        gateway = present.gateway
    }
}

extension ConnectionStatus.Path {
    fileprivate init(_ evaluation: Evaluation) {
        interface = evaluation.facts.map(NetworkInterface.init)
        gateway = evaluation.gateway
        sourceAddress = evaluation.sourceAddress
    }
}

extension Evaluation {
    /// Whether a new connection would have the interface and the source address of one that can send.
    fileprivate func takesSamePath(as present: Evaluation, from local: IPAddress) -> Bool {
        let nexthops = answer?.nexthops ?? []
        guard nexthops.contains(where: { $0.interfaceIndex == present.nexthop?.interfaceIndex }) else {
            return false
        }
        // Each of several nexthops has a source address, and the answer has one of them.
        return nexthops.count > 1 || sourceAddress == nil
            || sourceAddress?.withoutZone == local.withoutZone
    }

    /// Whether the flags have a cost that those of the present path lack.
    fileprivate func isWorse(than present: Evaluation) -> Bool {
        let costs: ReachabilityFlags = [.transientConnection, .isWWAN, .connectionRequired]
        return !flags.intersection(costs).isSubset(of: present.flags)
    }
}
