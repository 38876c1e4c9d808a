// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// Evaluates a connection: whether its packets can leave, and whether a new connection would take another path.
///
/// About an MPTCP connection there are these two for each subflow.
final class ConnectionQuery: Query {
    private let connection: NetworkConnection

    init(connection: NetworkConnection) {
        self.connection = connection
    }

    var description: String { "status of \(connection)" }

    func reason(_ status: ConnectionStatus) -> ReachabilityReason? { status.reason }

    func areSame(_ one: ConnectionStatus, _ other: ConnectionStatus) -> Bool { one == other }

    /// The packet of a new connection to the same peer, as if it could take each of several nexthops: an equal one is
    /// no better path.
    private var newPacket: Packet {
        var options = connection.options
        options.sourcePort = nil
        var packet = Packet(
            .address(connection.remote), from: nil, options, .source, boundTo: connection.interfaceIndex)
        packet.takesEachNexthop = true
        return packet
    }

    /// The connection's own packet, with the traffic class that connect(2) used, or without one.
    private func ownPacket(withTrafficClass hasClass: Bool) -> Packet {
        var options = connection.options
        if !hasClass { options.typeOfService = 0 }
        // A UDP socket that was connected while the host had no address selects one for each packet. No query has an
        // address that is none of the host's.
        let local = connection.local.isUnspecified || connection.isTransparent ? nil : connection.local
        var packet = Packet(
            .address(connection.remote), from: local, options, .reason, boundTo: connection.interfaceIndex)
        packet.isConnected = true
        return packet
    }

    func value(_ known: inout Known) throws(Interruption) -> ConnectionStatus {
        guard connection.subflows.isEmpty else {
            return ConnectionStatus(
                ofSubflows: try known.values(of: connection.subflows) {
                    (subflow, known) throws(Interruption) in
                    try ConnectionQuery(connection: subflow).value(&known)
                })
        }
        // All are asked about together.
        let own = known.attempt { (known) throws(Interruption) in
            try known.evaluation(of: ownPacket(withTrafficClass: !losesTrafficClass))
        }
        let new = known.attempt { (known) throws(Interruption) in try known.evaluation(of: newPacket) }
        let connected =
            losesTrafficClass
            ? known.attempt { (known) throws(Interruption) in
                try known.evaluation(of: ownPacket(withTrafficClass: true))
            } : own
        guard let own, let new, let connected else { throw .missing }
        let present = try known.value(of: own)
        var details = present.details
        // The kernel looks for the other end by ARP (`ip_route_output_key_hash_rcu`).
        if present.kind == .noRouteOutOfInterface, connection.remote.family == .v4 {
            details.reason = ReachabilityReason(
                .noRouteOutOfInterface, details.reason.name,
                other: "it goes on while the other end answers ARP")
        }
        if details.state == .local {
            if let blocked = try blockedLoopback(&known, boundTo: present.query?.outputInterface ?? 0) {
                (details.state, details.reason) = (.waiting, blocked.reason)
            }
            return ConnectionStatus(details)
        }
        let next = new.answer.flatMap { $0.rank == 2 ? $0 : nil }
        var isSamePath = next?.takesSamePath(as: present, from: connection.local) == true
        if !isSamePath, losesTrafficClass, let first = connected.answer {
            isSamePath = next?.takesSamePath(as: first, from: connection.local) == true
        }
        if details.state == .viable {
            if try isRemoteLocal(&known) {
                details.state = .waiting
                details.reason = ReachabilityReason(.remoteIsLocalAddress, connection.remote.description)
            } else if let blocked = try blockedOwner(&known, present) {
                details.reason = try returnPath(blocked, details.interface?.name ?? "", &known)
                if isSamePath { return ConnectionStatus(details) }
            } else if isSamePath || connection.isTransparent || next?.isWorse(than: present) == true {
                return ConnectionStatus(details)
            }
        }
        if !isSamePath, let next, try receivesAnswers(next, &known) {
            details.betterPath = Box(next.path)
        }
        return ConnectionStatus(details)
    }

    /// What is known of answers while the interface that has the local address cannot receive.
    ///
    /// The kernel takes answers to its addresses on any interface, unless its reverse path filter or a rule drops them.
    /// Those of a conversation that it knows it does not look at again until a route changes.
    private func returnPath(
        _ blocked: Evaluation,
        _ exit: String,
        _ known: inout Known
    ) throws(Interruption) -> ReachabilityReason {
        var names: [String] = []
        var queries: [RouteQuery] = []
        // Packets of a port are those of its master.
        for link in try known.host.links.get()
        where link.flags.contains(.up) && link.hasCarrier && !link.flags.contains(.loopback) && !link.isVRF
            && (link.master == nil || link.isVRFPort)
        {
            names.append(link.name)
            queries.append(
                .answer(from: connection.remote, to: connection.local, on: link.index, connection.options))
        }
        let arrivals = try known.all(queries) { (query, known) throws(Interruption) in
            try known.arrival(of: query)
        }.map(\.answer)
        let dropped = zip(names, arrivals).filter { $0.1?.outcome == .dropped }
        if let first = dropped.first(where: { $0.0 == exit }) ?? dropped.first, let arrival = first.1,
            dropped.count == arrivals.count
        {
            return ReachabilityReason(answerDropped: arrival.reason, by: exit, isKnown: true)
        }
        let words =
            dropped.isEmpty ? "" : ", and \(dropped.map(\.0).joined(separator: ", ")) would drop new ones"
        return ReachabilityReason(.unknownReturnPath, exit, other: blocked.reason.description + words)
    }

    /// Whether answers to a new connection can arrive: an interface with its address can receive, and is the one that
    /// the socket is bound to.
    ///
    /// The kernel can select an address of another interface for a bound socket that has none on its own; the network
    /// sends the answers there.
    private func receivesAnswers(_ new: Evaluation, _ known: inout Known) throws(Interruption) -> Bool {
        guard let source = new.sourceAddress?.withoutZone else { return true }
        let bound = new.query?.outputInterface ?? 0
        var isOwned = false
        for address in try known.host.addresses.get() where address.address.withoutZone == source {
            isOwned = true
            let index = address.interfaceIndex
            guard let facts = try known.interfaces.facts(aboutInterface: index, .flags),
                ReachabilityRules.blocker(facts.traits) == nil
            else { continue }
            // Addresses of the host itself stand on its loopback, on a dummy, or on the VRF of the interface.
            if bound == 0 || index == bound || facts.link.flags.contains(.loopback)
                || facts.link.kind == "dummy"
            {
                return true
            }
            if try known.vrf(ofInterface: index) == bound { return true }
            if try known.vrf(ofInterface: bound) == index { return true }
        }
        return !isOwned
    }

    /// Whether the kernel routes the socket's packets without its traffic class, although connect(2) used it.
    ///
    /// A TCP socket over IPv6 has the route of connect(2) until that changes, and then one without the class
    /// (`inet6_csk_route_socket`).
    private var losesTrafficClass: Bool {
        connection.transport == .tcp && connection.remote.family == .v6
            && connection.options.typeOfService != 0
    }

    /// The loopback interface, if it is down: packets of this host to itself pass through it, but for those of a VRF.
    private func blockedLoopback(
        _ known: inout Known,
        boundTo interface: UInt32
    ) throws(Interruption) -> Evaluation? {
        if interface != 0, try known.vrf(ofInterface: interface) != nil { return nil }
        // LOOPBACK_IFINDEX: the loopback interface of each network namespace has this index.
        guard let facts = try known.interfaces.facts(aboutInterface: 1, .flags),
            facts.link.flags.contains(.loopback),
            let blocker = ReachabilityRules.blocker(facts.traits)
        else { return nil }
        return Evaluation(Judgement([], blocker), facts)
    }

    /// Whether this host also takes packets to the remote IPv4 address of a bound socket.
    ///
    /// Packets still leave through the interface, and the kernel drops those that come from an own address
    /// (`fib_validate_source`), unless the setting `accept_local` of the interface is on. IPv6 has no such check.
    private func isRemoteLocal(_ known: inout Known) throws(Interruption) -> Bool {
        guard let index = connection.interfaceIndex, index != 0, connection.remote.family == .v4 else {
            return false
        }
        let domain = try known.vrf(ofInterface: index)
        return try known.isDelivered(RouteQuery(destination: connection.remote, outputInterface: domain ?? 0))
    }

    /// The first interface that has the local address, if none of those that have it can receive.
    ///
    /// The addresses of the host are listed only if the interface that the local table names cannot, or it names none.
    private func blockedOwner(
        _ known: inout Known,
        _ present: Evaluation
    ) throws(Interruption) -> Evaluation? {
        if let index = present.localInterface,
            let facts = try known.interfaces.facts(aboutInterface: index, .flags),
            ReachabilityRules.blocker(facts.traits) == nil
        {
            return nil
        }
        var blocked: Evaluation?
        for address in try known.host.addresses.get()
        where address.address.withoutZone == connection.local.withoutZone {
            guard let facts = try known.interfaces.facts(aboutInterface: address.interfaceIndex, .flags)
            else { continue }
            guard let blocker = ReachabilityRules.blocker(facts.traits) else { return nil }
            blocked = blocked ?? Evaluation(Judgement([], blocker), facts)
        }
        return blocked
    }
}

extension ConnectionStatus {
    /// The status of an MPTCP connection: that of the subflow that fares best, the first of several.
    fileprivate init(ofSubflows subflows: [ConnectionStatus]) {
        guard var details = subflows.min(by: { $0.misfortune < $1.misfortune })?.details.value else {
            preconditionFailure("an MPTCP connection has subflows")
        }
        if details.state == .waiting || details.state == .lost {
            details.betterPath = subflows.lazy.compactMap(\.details.value.betterPath).first
        }
        details.subflows = subflows
        self.init(details)
    }

    /// How badly a subflow fares: the one with the lowest number decides.
    private var misfortune: Int {
        switch state {
        case .viable, .local:
            [.unknownReturnPath, .answerDropped].contains(reason.code) ? 2 : hasBetterPath ? 1 : 0
        case .waiting: 3
        case .lost: 4
        }
    }
}

extension Evaluation {
    /// What becomes of a connection whose packets have this evaluation, as far as that alone decides.
    fileprivate var details: ConnectionStatus.Details {
        ConnectionStatus.Details(
            state: state,
            reason: reason,
            interface: facts.map(NetworkInterface.init),
            gateway: gateway
        )
    }

    private var state: ConnectionStatus.State {
        if flags.contains(.isLocalAddress) { return .local }
        if rank == 2 { return .viable }
        // A socket that is bound to an interface which is gone sends nothing any more.
        return [.notOwnAddress, .noInterface, .interfaceGone].contains(kind) ? .lost : .waiting
    }

    /// The path of a new connection that has this evaluation.
    fileprivate var path: ConnectionStatus.Path {
        ConnectionStatus.Path(
            interface: facts.map(NetworkInterface.init),
            gateway: gateway,
            sourceAddress: sourceAddress
        )
    }

    /// Whether a new connection would have the interface and the source address of one that can send.
    fileprivate func takesSamePath(as present: Evaluation, from local: IPAddress) -> Bool {
        let nexthops = answer?.nexthops ?? []
        guard nexthops.contains(where: { $0.interfaceIndex == present.nexthop?.interfaceIndex }) else {
            return false
        }
        // Each of several nexthops has a source address, and the answer has one of them.
        return nexthops.count > 1 || sourceAddress == nil || local.isUnspecified
            || sourceAddress?.withoutZone == local.withoutZone
    }

    /// Whether the flags have a cost that those of the present path lack.
    fileprivate func isWorse(than present: Evaluation) -> Bool {
        let costs: ReachabilityFlags = [.transientConnection, .isWWAN, .connectionRequired]
        return !flags.intersection(costs).isSubset(of: present.flags)
    }
}

extension NetworkQuery<ConnectionStatus> {
    /// What becomes of a connection, which need not exist any more.
    ///
    /// There is no name to wait for.
    ///
    /// Apple's counterparts are the `viabilityUpdateHandler` and `betterPathUpdateHandler` of `NWConnection`.
    ///
    /// - Parameter connection: The connection; end the observation when its socket is closed.
    /// - Returns: The query.
    public static func status(of connection: NetworkConnection) -> Self {
        Self(ConnectionQuery(connection: connection))
    }
}
