// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// Evaluates a connection: whether its packets can leave, and whether a new connection would use another path.
///
/// For an MPTCP connection, both are evaluated for each subflow.
final class ConnectionQuery: Query {
    private let connection: NetworkConnection

    init(connection: NetworkConnection) {
        self.connection = connection
    }

    var description: String { "status of \(connection)" }

    func reason(_ status: ConnectionStatus) -> ReachabilityReason? { status.reason }

    /// The packet of a new connection to the same peer.
    ///
    /// It counts as using each of several nexthops, because another equal nexthop is not a better path.
    private var newPacket: Packet {
        var options = connection.options
        options.sourcePort = nil
        var packet = Packet(
            .address(connection.remote), from: nil, options, .source, boundTo: connection.interfaceIndex)
        packet.takesEachNexthop = true
        return packet
    }

    /// The connection's own packet, with or without the traffic class that connect(2) used.
    private func ownPacket(withTrafficClass hasClass: Bool) -> Packet {
        var options = connection.options
        if !hasClass { options.typeOfService = 0 }
        // A UDP socket that was connected while the host had no address selects a source address for each packet. A
        // query must not name a source address that does not belong to this host.
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
        // Asked before any answer is read, so that the queries go to the kernel together.
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
        // Without a route, the kernel looks for the other end by ARP (`ip_route_output_key_hash_rcu`).
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

    /// Whether answers arrive while the interface with the local address cannot receive.
    ///
    /// The kernel accepts answers to its addresses on any interface, unless its reverse path filter or a rule drops
    /// them. For a known conversation, the kernel checks this again only after a route changes.
    private func returnPath(
        _ blocked: Evaluation,
        _ exit: String,
        _ known: inout Known
    ) throws(Interruption) -> ReachabilityReason {
        var names: [String] = []
        var queries: [RouteQuery] = []
        // Packets of a port are received by its master.
        for link in try known.host.links.get()
        where link.canSend && !link.flags.contains(.loopback) && !link.isVRF
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

    /// Whether answers to a new connection can arrive: an interface with the source address can receive, and for a
    /// bound socket it is the interface that the socket is bound to.
    ///
    /// If that interface has no address, the kernel can select an address of another interface, and the network sends
    /// the answers to the other one.
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
            // The host's own addresses are on its loopback interface, on a dummy interface, or on the VRF of the
            // interface.
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

    /// Whether the kernel routes later packets without the traffic class that connect(2) used.
    ///
    /// A TCP socket over IPv6 keeps the route of connect(2) until routes change. The kernel then looks up a route
    /// without the traffic class (`inet6_csk_route_socket`).
    private var losesTrafficClass: Bool {
        connection.transport == .tcp && connection.remote.family == .v6
            && connection.options.typeOfService != 0
    }

    /// The loopback interface, if it is down.
    ///
    /// Packets of this host to itself use it, except in a VRF.
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

    /// Whether the remote IPv4 address of a bound socket is also delivered to this host.
    ///
    /// Packets still leave through the interface, but the kernel drops answers that come from one of its own
    /// addresses (`fib_validate_source`), unless `accept_local` of the interface is on. IPv6 has no such check.
    private func isRemoteLocal(_ known: inout Known) throws(Interruption) -> Bool {
        guard let index = connection.interfaceIndex, index != 0, connection.remote.family == .v4 else {
            return false
        }
        let domain = try known.vrf(ofInterface: index)
        return try known.isDelivered(RouteQuery(destination: connection.remote, outputInterface: domain ?? 0))
    }

    /// The first interface that has the local address, if no interface with that address can receive.
    ///
    /// The addresses of the host are listed only if the interface in the local table cannot receive, or if the table
    /// names none.
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
    /// The status of an MPTCP connection: the status of its best subflow, and of the first one if several are equal.
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

    /// The severity of the status of a subflow; the subflow with the lowest severity decides.
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
    /// The status of a connection whose packets have this evaluation, before the other checks.
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
        // A socket that is bound to an interface that was removed cannot send any more.
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

    /// Whether a new connection would have the same interface and source address as a connection that can send.
    fileprivate func takesSamePath(as present: Evaluation, from local: IPAddress) -> Bool {
        let nexthops = answer?.nexthops ?? []
        guard nexthops.contains(where: { $0.interfaceIndex == present.nexthop?.interfaceIndex }) else {
            return false
        }
        // Each of several nexthops has its own source address, and the answer contains only one of them.
        return nexthops.count > 1 || sourceAddress == nil || local.isUnspecified
            || sourceAddress?.withoutZone == local.withoutZone
    }

    /// Whether the flags have a cost that the present path does not have.
    fileprivate func isWorse(than present: Evaluation) -> Bool {
        let costs: ReachabilityFlags = [.transientConnection, .isWWAN, .connectionRequired]
        return !flags.intersection(costs).isSubset(of: present.flags)
    }
}

extension NetworkQuery<ConnectionStatus> {
    /// The status of a connection, which need not exist any more.
    ///
    /// The query never waits for a name.
    ///
    /// Apple's counterparts are the `viabilityUpdateHandler` and `betterPathUpdateHandler` of `NWConnection`.
    ///
    /// - Parameter connection: The connection. End the observation when its socket is closed.
    /// - Returns: The query.
    public static func status(of connection: NetworkConnection) -> Self {
        Self(ConnectionQuery(connection: connection))
    }
}
