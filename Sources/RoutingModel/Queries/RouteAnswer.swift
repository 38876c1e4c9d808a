// SPDX-License-Identifier: Apache-2.0

/// A query to a routing table: the route of one packet that this host sends, or that arrives.
///
/// The flow fields (protocol, ports, type of service) matter only where a policy rule or a route matches on
/// them. The kernel's counterpart is the request RTM_GETROUTE.
@usableFromInline
package struct RouteQuery: Hashable, Sendable {
    /// The destination of the packet.
    ///
    /// The zone is ignored: set ``outputInterface``.
    @usableFromInline package var destination: IPAddress
    /// The index of the interface that the socket is bound to, 0 for none.
    @usableFromInline package var outputInterface: UInt32
    /// Whether an IPv6 packet with a source address must leave through ``outputInterface``, as the packets of a
    /// bound socket must (`RT6_LOOKUP_F_IFACE`).
    ///
    /// RTM_GETROUTE only prefers the interface for such a packet, and cannot be asked otherwise.
    @usableFromInline package var isStrict = false
    /// Whether to answer with the nexthop that this packet takes and the source address that it gets, instead of the
    /// table's entry with all its nexthops.
    ///
    /// The kernel's counterpart is a request without RTM_F_FIB_MATCH.
    @usableFromInline package var selectsNexthop = false
    /// Whether to answer with the whole entry (``RouteMatch/entry``).
    @usableFromInline package var wantsEntry = false
    /// The index of the interface that the packet arrives on, 0 for a packet of this host.
    ///
    /// The kernel's counterpart is RTA_IIF. The answer is what becomes of the packet: a `local` route delivers it.
    @usableFromInline package var inputInterface: UInt32 = 0
    /// The local address that the socket is bound to; it must be an address of this host.
    ///
    /// Of a packet that arrives, it is the sender.
    @usableFromInline package var source: IPAddress?
    /// The socket's mark (SO_MARK).
    @usableFromInline package var mark: UInt32
    /// The user that owns the socket; `nil` for the calling process's.
    @usableFromInline package var user: UInt32?
    /// The IP protocol (IPPROTO_UDP, IPPROTO_TCP, ...); `nil` for UDP.
    @usableFromInline package var ipProtocol: UInt8?
    /// The source port in host order; `nil` for an unspecified port.
    @usableFromInline package var sourcePort: UInt16?
    /// The destination port in host order; `nil` for an unspecified port.
    @usableFromInline package var destinationPort: UInt16?
    /// The type of service (IP_TOS) of IPv4 or the traffic class (IPV6_TCLASS) of IPv6.
    @usableFromInline package var typeOfService: UInt8 = 0

    /// Creates a query about the packets of a socket that is bound only where an argument says so.
    ///
    /// It asks for the calling process and without a flow: set those afterwards.
    @inlinable
    package init(
        destination: IPAddress,
        outputInterface: UInt32 = 0,
        source: IPAddress? = nil,
        mark: UInt32 = 0
    ) {
        self.destination = destination
        self.outputInterface = outputInterface
        self.source = source
        self.mark = mark
    }
}

extension RouteQuery {
    /// The query about a packet that arrives.
    ///
    /// The kernel judges it as one of the user 0: without a user IPv6 misses rules that look at it.
    package static func arriving(
        on interface: UInt32, from source: IPAddress, to destination: IPAddress
    ) -> RouteQuery {
        var query = RouteQuery(destination: destination.withoutZone, source: source.withoutZone)
        (query.inputInterface, query.user, query.selectsNexthop) = (interface, 0, true)
        return query
    }

    /// The query about a packet back to the sender of one that arrives, as the kernel validates the source address:
    /// without a mark (`__fib_validate_source`).
    package var back: RouteQuery {
        var query = RouteQuery(destination: source ?? destination, source: destination)
        (query.user, query.ipProtocol, query.typeOfService) = (0, ipProtocol, typeOfService)
        (query.sourcePort, query.destinationPort) = (destinationPort, sourcePort)
        return query.forPacket
    }

    /// The query about the nexthop and the source address of this packet.
    package var forPacket: RouteQuery {
        var query = self
        (query.selectsNexthop, query.wantsEntry) = (true, false)
        return query
    }

    /// The query about the whole entry.
    package var forEntry: RouteQuery {
        var query = self
        (query.selectsNexthop, query.wantsEntry) = (false, true)
        return query
    }

    /// Whether the source address that a socket without one gets can change an answer, apart from policy rules.
    ///
    /// An IPv4 socket sends to a group through the interface of its source address, and to a local destination
    /// from that same address, which then has to be an address of this host. An IPv6 socket fails if the outgoing
    /// interface has no address that the destination's scope needs.
    ///
    /// - Parameters:
    ///   - type: The type of the answer's entry.
    ///   - origin: The entry's protocol: addresses of this host have RTPROT_KERNEL.
    /// - Returns: `false` where the source makes no difference, or the query has one.
    package func dependsOnSource(_ type: RouteType, origin: UInt8) -> Bool {
        guard source == nil else { return false }
        return switch destination.family {
        case .v4: destination.isIPv4Group || (type == .local && origin != Route.kernelOrigin)
        case .v6: outputInterface != 0 || destination.isLinkScoped
        }
    }
}

// MARK: - Answers

/// The answer of a routing table to a ``RouteQuery``.
package enum RouteAnswer: Hashable, Sendable {
    /// An entry takes the packet.
    indirect case taken(RouteMatch)
    /// Nothing takes the packet, or an entry or a rule refuses it.
    case rejected(RouteRejection)

    /// The answer with a whole entry.
    package static func route(_ entry: Route) -> RouteAnswer {
        .taken(RouteMatch(entry))
    }

    /// What takes the packet; `nil` for a rejection.
    package var match: RouteMatch? {
        if case .taken(let match) = self { match } else { nil }
    }

    /// The type of the entry; `nil` for a rejection.
    package var type: RouteType? { match?.type }

    /// The first nexthop; `nil` for a rejection, and where the entry names no interface.
    package var nexthop: Nexthop? {
        if case .taken(let match) = self { match.nexthop } else { nil }
    }

    /// Whether the entry is a multipath entry; `false` for a rejection.
    package var hasSeveralNexthops: Bool {
        if case .taken(let match) = self { match.hasSeveralNexthops } else { false }
    }

    /// The nexthops of the entry; empty for a rejection.
    package var nexthops: [Nexthop] { match?.nexthops ?? [] }

    /// The table's entry; `nil` for a rejection, and where the query does not want it.
    package var entry: Route? { match?.entry }

    /// How long the route still lives, in 1/100 s; `nil` for one without a lifetime, and for a rejection.
    package var lifetime: Int32? {
        if case .taken(let match) = self { match.lifetime } else { nil }
    }

    /// The source address that the packet gets, as ``RouteMatch/source``; `nil` for a rejection.
    package var source: IPAddress? {
        if case .taken(let match) = self { match.source } else { nil }
    }

    /// Whether a nexthop puts something around its packets.
    package var isEncapsulated: Bool {
        guard case .taken(let match) = self else { return false }
        return match.nexthop?.encapsulation != nil
            || match.hasSeveralNexthops && match.nexthops.contains { $0.encapsulation != nil }
    }

    /// Whether it is unknown which nexthop all packets take: ``RouteMatch/isNexthopUndecided``.
    package var isNexthopUndecided: Bool {
        if case .taken(let match) = self { match.isNexthopUndecided } else { false }
    }

    /// Whether nothing takes the packet.
    package var isRejected: Bool {
        if case .rejected = self { true } else { false }
    }

    /// The type and the nexthops alone, or the rejection: what the rules read.
    package var path: RouteAnswer {
        guard case .taken(let match) = self else { return self }
        return .taken(RouteMatch(match.type, match.nexthops))
    }

    /// The answer with a change of what takes the packet.
    package func with(_ change: (inout RouteMatch) -> Void) -> RouteAnswer {
        guard case .taken(var match) = self else { return self }
        change(&match)
        return .taken(match)
    }
}

/// The entry that takes a packet, as far as a ``RouteQuery`` asks for it.
package struct RouteMatch: Hashable, Sendable {
    /// The type of the entry.
    package let type: RouteType
    /// The first nexthop; `nil` where the entry names no interface.
    ///
    /// `Optional` is written out: an initializer would write the `nil` of the short form first and then replace it.
    package internal(set) var nexthop: Optional<Nexthop>
    /// Whether the source address that a socket without one gets can change the answer.
    package var dependsOnSource = false
    /// Whether it is unknown which nexthop all packets to the destination take: the kernel selects a source address by
    /// a hash, and rules or routes that compare the source lead each to another nexthop.
    package var isNexthopUndecided = false
    /// Whether a packet that is bound to the interface of one nexthop can take each: the kernel chooses among those of
    /// an IPv6 nexthop object by its hash alone (`fib6_select_path`).
    package var ignoresBinding = false
    /// How long an IPv6 route still lives, in 1/100 s; `nil` for one without a lifetime.
    package var lifetime: Int32?
    /// The source address that the packet gets: the unspecified address if no address of the host can be, `nil` where
    /// the query does not select a nexthop, and where it is unknown.
    package var source: IPAddress?
    private var more: Box<More>?

    /// What few answers have: on the heap, so that a copy of the others needs one reference count.
    private struct More: Hashable {
        /// The other nexthops of a multipath entry.
        let others: [Nexthop]
        let entry: Route?
    }

    /// Describes an entry by what the rules read of it.
    package init(_ type: RouteType, _ nexthops: [Nexthop]) {
        self.init(type, nexthops.first)
        if nexthops.count > 1 { self.nexthops = nexthops }
    }

    /// Describes an entry with one nexthop, or none.
    package init(_ type: RouteType, _ nexthop: Nexthop?) {
        self.type = type
        self.nexthop = nexthop
    }

    /// Wraps a whole entry.
    package init(_ entry: Route) {
        self.init(entry.type, entry.nexthops)
        lifetime = entry.expires
        ignoresBinding = entry.ignoresBinding
        self.entry = entry
    }

    /// Whether this is a multipath entry.
    package var hasSeveralNexthops: Bool { more?.value.others.isEmpty == false }

    /// All nexthops.
    package var nexthops: [Nexthop] {
        get { (nexthop.map { [$0] } ?? []) + (more?.value.others ?? []) }
        set {
            nexthop = newValue.first
            var entry = entry
            entry?.nexthops = newValue
            store(Array(newValue.dropFirst()), entry)
        }
    }

    /// The table's entry; `nil` where the query does not want it.
    package var entry: Route? {
        get { more?.value.entry }
        set { store(more?.value.others ?? [], newValue) }
    }

    private mutating func store(_ others: [Nexthop], _ entry: Route?) {
        more = others.isEmpty && entry == nil ? nil : Box(More(others: others, entry: entry))
    }
}

extension RouteAnswer {
    /// The entry with the nexthops of both answers; a packet takes one of them.
    ///
    /// `nil` unless both have entries of one type.
    package func merged(with other: RouteAnswer) -> RouteAnswer? {
        guard let type, other.type == type else { return nil }
        return with {
            $0.nexthops += other.nexthops.filter { !nexthops.contains($0) }
            $0.isNexthopUndecided = true
        }
    }

    /// Whether a route takes a packet that is bound to an interface: one of its nexthops uses it.
    package func leaves(through index: UInt32) -> Bool {
        nexthops.contains { $0.interfaceIndex == index }
    }

    /// The answer as a packet sees it that is bound to an interface.
    ///
    /// A multipath entry comes with all its nexthops, but such a packet takes none through another interface, unless
    /// they are those of an IPv6 nexthop object. Where no nexthop uses the interface, as with a VRF, the answer stays
    /// as it is.
    ///
    /// - Parameter index: The interface; 0 for none.
    /// - Returns: The answer without the nexthops that the packet does not take.
    package func bound(toInterface index: UInt32) -> RouteAnswer {
        guard index != 0, case .taken(let match) = self, match.hasSeveralNexthops, !match.ignoresBinding
        else { return self }
        let nexthops = match.nexthops.filter { $0.interfaceIndex == index }
        return nexthops.isEmpty ? self : with { $0.nexthops = nexthops }
    }
}

// MARK: - Equivalence

extension RouteAnswer {
    /// Whether two answers give a packet the same type of route through the same interfaces, or both none.
    ///
    /// Which of several gateways on one link it is makes no difference to reachability.
    package func isEquivalent(to other: RouteAnswer) -> Bool {
        switch (self, other) {
        case (.taken(let one), .taken(let two)) where one.isEquivalent(to: two): true
        default: path == other.path || (leadsNowhere && other.leadsNowhere)
        }
    }

    /// Whether nothing gets out: there is no route, or none of its nexthops has a carrier.
    private var leadsNowhere: Bool {
        guard case .taken(let match) = self else { return true }
        switch match.type {
        case .unicast, .broadcast, .multicast:
            return match.nexthops.allSatisfy(\.isDown)
        default:
            return false
        }
    }
}

extension RouteMatch {
    /// The nexthops reduced to what decides flags: one address replaces every gateway, and all weights are equal.
    private var exits: Set<Nexthop> {
        let exits = nexthops.map { nexthop in
            let flags = nexthop.flags.intersection([.dead, .linkDown])
            let gateway = nexthop.gateway.map { _ in IPAddress.anyV4 }
            return Nexthop(
                interfaceIndex: nexthop.interfaceIndex, gateway: gateway, flags: flags,
                encapsulation: nexthop.encapsulation?.value)
        }
        return Set(exits)
    }

    /// Whether both give a packet the same type of route through the same interfaces.
    package func isEquivalent(to other: RouteMatch) -> Bool {
        type == other.type && exits == other.exits
    }
}

extension Route {
    /// Whether two entries give a packet the same type of route through the same interfaces.
    package func isEquivalent(to other: Route) -> Bool {
        self == other || RouteMatch(type, nexthops).isEquivalent(to: RouteMatch(other.type, other.nexthops))
    }
}

/// The reason why a packet has no route.
///
/// The kernel returns an errno, the same one for a route and for a rule.
package struct RouteRejection: RawRepresentable, Hashable, Sendable {
    /// The errno.
    package let rawValue: Int32

    /// Wraps an errno.
    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// No route, or a rule that says unreachable (ENETUNREACH).
    package static let noRoute = RouteRejection(rawValue: 101)
    /// A route that says unreachable, or none out of the interface asked for (EHOSTUNREACH).
    package static let unreachable = RouteRejection(rawValue: 113)
    /// A route or a rule that says prohibited (EACCES).
    package static let prohibited = RouteRejection(rawValue: 13)
    /// A route or a rule that drops silently (EINVAL).
    package static let blackhole = RouteRejection(rawValue: 22)
    /// No IPv6 address of this host can be the source (EADDRNOTAVAIL).
    package static let noSourceAddress = RouteRejection(rawValue: 99)
    /// The kernel has no such address family (EAFNOSUPPORT).
    package static let noFamily = RouteRejection(rawValue: 97)
    /// The reverse path filter drops a packet that arrives (EXDEV); the kernel says EINVAL since a version between
    /// 6.13 and 6.18.
    package static let reversePathFilter = RouteRejection(rawValue: 18)
}

/// How the kernel chooses one nexthop of several: the sysctl `fib_multipath_hash_policy` of a family.
package struct MultipathHashPolicy: RawRepresentable, Hashable, Sendable {
    /// The value of the sysctl.
    package let rawValue: Int

    /// Wraps a value of the sysctl.
    package init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// By a hash of the addresses, and in IPv6 of the protocol: the default.
    package static let addresses = MultipathHashPolicy(rawValue: 0)

    /// Whether all packets that a query describes take the same nexthop: that of the kernel's answer.
    package func choosesOneNexthop(for query: RouteQuery) -> Bool {
        self == .addresses || (query.sourcePort != nil && query.destinationPort != nil)
    }
}

/// What connect(2) gives a UDP socket that a ``RouteQuery`` describes.
package enum ConnectOutcome: Hashable, Sendable {
    /// The kernel has a route, and packets have this source address.
    case connects(from: IPAddress)
    /// The kernel refuses the destination, or the source address.
    case refused(RouteRejection)
}

/// The answer to one query, or why it has none.
package typealias RoutingResult = Result<RouteAnswer, ReachabilityError>

/// A query, and the answer to it.
package struct RouteLookup: Sendable {
    /// The query.
    package let query: RouteQuery
    /// The answer; meaningless until the source has set it.
    package var result: RoutingResult = .success(.rejected(.noRoute))

    /// Describes a query that has no answer yet.
    package init(_ query: RouteQuery) {
        self.query = query
    }
}

// MARK: - The route of a packet

extension RouteAnswer {
    /// The route that a packet takes, from the table's entry and from the kernel's answer about the packet itself.
    ///
    /// The two differ. The kernel ignores a gateway that is its own address, and an exception of the route, such as a
    /// redirect, has another gateway. The entry alone shows the other nexthops of a multipath route, and their state.
    ///
    /// - Parameters:
    ///   - packet: The answer to ``RouteQuery/forPacket``.
    ///   - query: The packet.
    ///   - takesOne: Whether all packets take the nexthop that the kernel chose by a hash; else each nexthop counts.
    /// - Returns: The entry as the packet sees it, or why nothing takes the packet.
    package func taken(by packet: RouteAnswer, of query: RouteQuery, takesOne: Bool) -> RouteAnswer {
        guard !packet.isRejected else {
            // A strict entry has no answer about the packet. Else the tables changed in between, and this one is newer.
            return isRejected || query.isStrict ? self : packet
        }
        guard case .taken(var match) = self else { return isMissing(for: query) ? packet : self }
        // No copy of the packet's match is made: it is large.
        match.source = packet.source
        match.lifetime.shorten(to: packet.lifetime)
        if match.type != .local, match.type != .anycast {
            match.take(packet, to: query.destination.withoutZone, takesOne: takesOne)
        }
        return .taken(match)
    }
}

extension RouteMatch {
    /// Takes the gateways that the kernel chose; the entry keeps its own.
    fileprivate mutating func take(_ choice: RouteAnswer, to destination: IPAddress, takesOne: Bool) {
        guard hasSeveralNexthops || choice.hasSeveralNexthops else {
            // Nearly all routes have one nexthop, and lists are on the heap.
            if let chosen = choice.nexthop, chosen.interfaceIndex == nexthop?.interfaceIndex {
                nexthop?.take(chosen.gateway, to: destination)
            }
            return
        }
        let entry = entry
        nexthops = nexthops.taken(by: choice.nexthops, to: destination, takesOne: takesOne)
        self.entry = entry
    }
}

extension Nexthop {
    /// Takes the gateway of a packet.
    ///
    /// After a redirect to the destination itself, an IPv4 exception has the destination for a gateway: it is on the
    /// link.
    fileprivate mutating func take(_ chosen: IPAddress?, to destination: IPAddress) {
        gateway = chosen == destination && gateway != destination ? nil : chosen
    }
}

extension [Nexthop] {
    /// The nexthops of an entry with those that the kernel chose in the places of their own.
    ///
    /// Strict lookups have no answer about the packet: a choice through an interface that the entry does not use is
    /// that of another packet.
    fileprivate func taken(by choices: [Nexthop], to destination: IPAddress, takesOne: Bool) -> [Nexthop] {
        var nexthops = self
        let paths = Set(choices.map(\.path))
        // The index of the first nexthop with each chosen path, and else of the first other one of each interface.
        var same: [Nexthop.Path: Int] = [:]
        var others: [UInt32: Int] = [:]
        for place in indices.reversed() {
            let path = self[place].path
            if paths.contains(path) { same[path] = place } else { others[self[place].interfaceIndex] = place }
        }
        var chosen: Int?
        for choice in choices {
            guard let place = same[choice.path] ?? others[choice.interfaceIndex] else { continue }
            nexthops[place].take(choice.gateway, to: destination)
            chosen = place
        }
        if takesOne, choices.count == 1, let chosen { return [nexthops[chosen]] }
        return nexthops
    }
}

extension RouteAnswer {
    /// Whether no entry matches a packet whose device the kernel picks by itself: one to an IPv4 group or the limited
    /// broadcast address, of a socket that is bound to an interface or an address (`ip_route_output_key_hash_rcu`).
    private func isMissing(for query: RouteQuery) -> Bool {
        guard query.destination.isIPv4Group, query.outputInterface != 0 || query.source != nil else {
            return false
        }
        return self == .rejected(.noRoute) || self == .rejected(.unreachable)
    }
}

extension Int32? {
    /// Takes another lifetime if it is shorter; `nil` stands for none.
    package mutating func shorten(to other: Int32?) {
        if let other { self = min(self ?? other, other) }
    }
}
