// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// The rules that turn the kernel's answer and the facts about interfaces into flags and a reason.
///
/// Pure functions. The live kernel, a recording and a simulated network all use them.
enum ReachabilityRules {
    /// The flags, and the fact that decided.
    private typealias Decision = (flags: ReachabilityFlags, kind: ReachabilityReason.Code)

    /// Judges the kernel's answer about one candidate.
    ///
    /// - Parameters:
    ///   - answer: The kernel's answer.
    ///   - candidate: The address that was looked up.
    ///   - packet: The packet of the answer.
    ///   - traits: Returns the traits of an interface; `nil` if it was removed.
    /// - Returns: The judgement, with the nexthop that decided.
    static func judge(
        _ answer: RouteAnswer,
        of candidate: Candidate,
        _ packet: RouteQuery,
        traits: (UInt32) -> InterfaceTraits?
    ) -> Judgement {
        guard case .taken(let match) = answer else {
            guard case .rejected(let rejection) = answer else { return Judgement([], .noRoute) }
            return Judgement([], kind(of: rejection, of: candidate, packet))
        }
        if packet.ipProtocol == ReachabilityOptions.IPProtocol.tcp.rawValue,
            isGroup(packet.destination, match.type)
        {
            return Judgement([], .groupOverTCP)
        }
        var judgement =
            match.hasSeveralNexthops
            ? judge(match.type, match.nexthops, of: candidate, traits: traits)
            : judge(match.type, match.nexthop, of: candidate, traits: traits)
        if match.type == .unicast, !judgement.flags.isEmpty,
            isUnusable(packet.source ?? match.source, judgement, of: candidate, packet)
        {
            (judgement.flags, judgement.kind) = ([], .unusableSource)
        }
        if match.refusal != nil, judgement.flags.rank == 2 { judgement.kind = .someConnections }
        return judgement
    }

    /// Judges a packet that its route encapsulates: in another packet, or behind labels (MPLS).
    ///
    /// - Parameters:
    ///   - inner: The judgement on the packet by the interface of its route.
    ///   - outer: The evaluation of the outer packet; `nil` for labels.
    ///   - encapsulation: The encapsulation of the route.
    /// - Returns: The judgement, with the nexthop that decided.
    static func judge(_ inner: Judgement, inside outer: Evaluation?, _ encapsulation: Encapsulation)
        -> Judgement
    {
        var judgement = inner
        // seg6 looks up the outer packet in any state of the route's interface (`seg6_output`).
        let isBlocked = [
            .interfaceDown, .noCarrier, .lowerInterfaceDown, .lowerNoCarrier, .payloadNotCarried, .noPeer,
        ].contains(inner.kind)
        let isRoutedAgain =
            encapsulation.kind == .seg6 && inner.nexthop?.flags.contains(.dead) == false
            && (isBlocked || !inner.flags.isEmpty)
        if judgement.flags.isEmpty, !isRoutedAgain { return judgement }
        if let outer {
            judgement.isOfOuter = isRoutedAgain || outer.rank == 0 || outer.rank == 1 && inner.flags.rank == 2
            if judgement.isOfOuter { (judgement.kind, judgement.nexthop) = (outer.kind, outer.nexthop) }
            guard !outer.flags.isEmpty else {
                (judgement.flags, judgement.kind) = ([], .outerUnreachable)
                return judgement
            }
            judgement.flags = isRoutedAgain ? outer.flags : judgement.flags.union(outer.flags)
        }
        judgement.flags.subtract([.isDirect, .isLocalAddress])
        if judgement.flags.rank == 2 { judgement.kind = .encapsulated }
        return judgement
    }

    /// Whether connect(2) of a TCP socket treats an address as a group or broadcast address, which it refuses
    /// (ENETUNREACH).
    ///
    /// For IPv4, the type of the route decides (`tcp_v4_connect`). For IPv6, only the address does
    /// (`tcp_v6_connect`).
    private static func isGroup(_ address: IPAddress, _ type: RouteType) -> Bool {
        address.isMulticast || address.family == .v4 && type.isOfGroup
    }

    /// Whether answers cannot arrive at the source address of a packet.
    ///
    /// Routers forward no packets from a link-local or loopback address (RFC 4291, sections 2.5.3 and 2.5.6). For
    /// IPv4 packets from 0.0.0.0, there is no route back. Container hosts translate packets from 169.254.0.0/16, so
    /// those are usable. A default route from 169.254.0.0/16 without a gateway belongs to a host without DHCP, which
    /// looks for all addresses on the link by ARP.
    private static func isUnusable(
        _ source: IPAddress?,
        _ judgement: Judgement,
        of candidate: Candidate,
        _ packet: RouteQuery
    ) -> Bool {
        guard let source else { return false }
        switch packet.destination.family {
        case .v4:
            return source.isUnspecified
                || candidate.isDefaultPath && source.isLinkLocal && judgement.flags.contains(.isDirect)
        case .v6:
            guard judgement.nexthop?.gateway != nil, !packet.destination.isLinkLocal else { return false }
            return source.isLinkLocal || source.isLoopback
        }
    }

    /// Judges each nexthop on its own.
    ///
    /// The best rank counts. Among equal ranks, the lowest interface index counts, so that the flags do not depend on
    /// the kernel's choice by hash. If some nexthops have a lower rank, only some connections can leave.
    private static func judge(
        _ type: RouteType,
        _ nexthops: [Nexthop],
        of candidate: Candidate,
        traits: (UInt32) -> InterfaceTraits?
    ) -> Judgement {
        var best: Judgement?
        var lowestRank = 2
        var paths: [Nexthop.Path: Int] = [:]
        // The kernel does not choose a dead nexthop. If all are dead, they give the reason.
        let usable = nexthops.filter { !$0.flags.contains(.dead) }
        for nexthop in (usable.isEmpty ? nexthops : usable).sorted(by: Nexthop.isOrdered) {
            let next = judge(type, nexthop, of: candidate, traits: traits)
            lowestRank = min(lowestRank, next.flags.rank)
            paths[nexthop.path] = next.flags.rank
            if best.map(next.replaces) ?? true { best = next }
        }
        guard var best else { return Judgement([], .interfaceGone) }
        if best.flags.rank == 2, lowestRank < 2 { best.kind = .someConnections }
        let rank = best.flags.rank
        best.choices = UInt16(clamping: max(1, paths.values.count { $0 == rank }))
        return best
    }

    private static func judge(
        _ type: RouteType,
        _ nexthop: Nexthop?,
        of candidate: Candidate,
        traits: (UInt32) -> InterfaceTraits?
    ) -> Judgement {
        if type != .unicast, candidate.isDefaultPath { return Judgement([], .noDefaultRoute) }
        if let (flags, kind) = decide(type) { return Judgement(flags, kind, flags.isEmpty ? nil : nexthop) }
        guard let nexthop else { return Judgement([], .interfaceGone) }
        guard let traits = traits(nexthop.interfaceIndex) else {
            return Judgement([], .interfaceGone, nexthop)
        }
        let (flags, kind) = decide(nexthop, type, candidate.destination, traits)
        return Judgement(flags, kind, nexthop)
    }

    // MARK: Answers without a nexthop

    private static func kind(
        of rejection: RouteRejection,
        of candidate: Candidate,
        _ packet: RouteQuery
    ) -> ReachabilityReason.Code {
        switch rejection {
        case .noFamily: return .noFamily
        case .noSourceAddress: return .noSourceAddress
        case .prohibited: return .prohibited
        // `__mkroute_output` lets packets from 127.0.0.1 leave only through the loopback interface (EINVAL).
        case .blackhole: return packet.leavesFromLoopback ? .loopbackSource : .blackhole
        default: break
        }
        // A bound IPv4 query fails with EHOSTUNREACH if an unbound one fails with ENETUNREACH.
        if packet.outputInterface != 0 { return .noRouteOutOfInterface }
        if rejection == .unreachable { return .unreachable }
        return candidate.isDefaultPath ? .noDefaultRoute : .noRoute
    }

    /// Judges route types that do not depend on the interface; `nil` for other types.
    private static func decide(_ type: RouteType) -> Decision? {
        if type.leavesHost { return nil }
        return switch type {
        // The kernel delivers packets to itself in any state of the interface.
        case .local: ([.reachable, .isLocalAddress, .isDirect], .localAddress)
        case .anycast: ([.reachable, .isLocalAddress, .isDirect], .anycastAddress)
        case .blackhole: ([], .blackhole)
        case .unreachable: ([], .unreachable)
        case .prohibit: ([], .prohibited)
        case .throw: ([], .noRoute)
        default: ([], .unusableRoute)
        }
    }

    // MARK: Nexthops

    private static func decide(
        _ nexthop: Nexthop,
        _ type: RouteType,
        _ destination: IPAddress,
        _ traits: InterfaceTraits
    ) -> Decision {
        if let blocker = blocker(of: nexthop, traits) { return ([], blocker) }
        // `fib6_is_reject`. An IPv4 packet re-enters through the loopback interface, where no socket receives it.
        if traits.contains(.isLoopback),
            destination.family == .v4 ? type == .unicast : !destination.isLoopback
        {
            return ([], .unreachable)
        }
        if traits.contains(nexthop.dropper(of: destination)) { return ([], .payloadNotCarried) }
        if traits.contains(.hasNoPeer) { return ([], .noPeer) }
        let takesGateway = nexthop.gateway != nil
        var flags: ReachabilityFlags = [.reachable]
        let isPointToPoint = traits.contains(.isPointToPoint)
        // Apple's way to ask for a local Wi-Fi: the address of the link-local network itself, with any route.
        let isLocalNetworkIdiom = destination == linkLocalNetwork && traits.contains(.isLocalNetwork)
        if (!takesGateway && !isPointToPoint) || isLocalNetworkIdiom { flags.insert(.isDirect) }
        let connection = connectionFlags(traits)
        flags.formUnion(connection)
        if connection.contains(.connectionRequired) {
            let waits: ReachabilityReason.Code = traits.contains(.isDormant) ? .dormant : .tunnelWaits
            return (flags, traits.contains(.isNotDialled) ? .notDialled : waits)
        }
        return (flags, exitKind(type, takesGateway: takesGateway, isPointToPoint: isPointToPoint))
    }

    private static let linkLocalNetwork = IPAddress(169, 254, 0, 0)

    /// Why packets cannot leave through a nexthop.
    ///
    /// The kernel can mark a nexthop before the state of its interface changes. Newer kernels mark IPv6 nexthops over
    /// a dormant interface with a carrier as `linkdown`, although the carrier is not lost.
    private static func blocker(of nexthop: Nexthop, _ traits: InterfaceTraits) -> ReachabilityReason.Code? {
        if let blocker = blocker(traits) { return blocker }
        let isLinkDown = nexthop.flags.contains(.linkDown)
        if nexthop.flags.contains(.dead) { return isLinkDown ? .noCarrier : .interfaceDown }
        return isLinkDown && !traits.contains(.isDormant) ? .noCarrier : nil
    }

    /// Why an interface cannot send and receive.
    static func blocker(_ traits: InterfaceTraits) -> ReachabilityReason.Code? {
        if traits.contains(.isDown) { return .interfaceDown }
        if traits.contains(.hasNoCarrier) { return .noCarrier }
        if traits.contains(.lowerIsDown) { return .lowerInterfaceDown }
        return traits.contains(.lowerHasNoCarrier) ? .lowerNoCarrier : nil
    }

    /// The flags that an interface adds to all packets through it.
    private static func connectionFlags(_ traits: InterfaceTraits) -> ReachabilityFlags {
        var flags: ReachabilityFlags = []
        if traits.contains(.isPointToPoint) { flags.insert(.transientConnection) }
        if traits.contains(.isCellular) { flags.formUnion([.isWWAN, .transientConnection]) }
        if traits.contains(.isDormant) {
            flags.insert(.connectionRequired)
            if !traits.isDisjoint(with: [.isPointToPoint, .isCellular]) {
                flags.insert(.connectionOnTraffic)
            }
        }
        if traits.contains(.isNotDialled) { flags.formUnion([.connectionRequired, .connectionOnTraffic]) }
        if traits.contains(.isNotCarried) { flags.insert(.connectionRequired) }
        if traits.contains(.isCarriedOnTraffic) {
            flags.formUnion([.connectionRequired, .connectionOnTraffic])
        }
        return flags
    }

    private static func exitKind(
        _ type: RouteType,
        takesGateway: Bool,
        isPointToPoint: Bool
    ) -> ReachabilityReason.Code {
        switch type {
        case _ where takesGateway: .gateway
        case .broadcast: .broadcast
        case .multicast: .multicast
        default: isPointToPoint ? .pointToPoint : .onLink
        }
    }
}

extension RouteQuery {
    /// Whether the packet has an IPv4 loopback source and another destination.
    fileprivate var leavesFromLoopback: Bool {
        guard destination.family == .v4, let source else { return false }
        return source.isLoopback && !destination.isLoopback
    }
}

extension RouteType {
    /// Whether the interface of the route decides about its packets.
    ///
    /// The flags of an address of this host, and of a refusal, follow from the route's type alone.
    var leavesHost: Bool { self == .unicast || isOfGroup }

    /// Whether packets go to several hosts of a link.
    var isOfGroup: Bool { self == .broadcast || self == .multicast }
}

extension Nexthop {
    /// The trait of an interface that drops packets to a destination.
    ///
    /// If the nexthop pushes labels, the protocol is MPLS. Otherwise the protocol is the destination's, even with a
    /// gateway of the other family.
    fileprivate func dropper(of destination: IPAddress) -> InterfaceTraits {
        if encapsulation?.value.kind == .mpls { return .dropsLabels }
        return destination.family == .v4 ? .dropsIPv4 : .dropsIPv6
    }

    /// An order that does not depend on the kernel's order of nexthops: by interface index; on the same interface,
    /// nexthops without a gateway first, then the lowest gateway.
    fileprivate static func isOrdered(_ one: Nexthop, before other: Nexthop) -> Bool {
        guard one.interfaceIndex == other.interfaceIndex else {
            return one.interfaceIndex < other.interfaceIndex
        }
        guard let gateway = one.gateway, let next = other.gateway else {
            return one.gateway == nil && other.gateway != nil
        }
        return gateway < next
    }
}
