// SPDX-License-Identifier: Apache-2.0

/// A query to the routing tables: the route of one packet that this host sends, or that arrives.
///
/// The flow fields (protocol, ports, type of service) have an effect only if a policy rule or a route matches on
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
    /// For such a packet, RTM_GETROUTE only prefers the interface, and has no strict mode.
    @usableFromInline package var isStrict = false
    /// Whether to answer with the nexthop and the source address of this packet, instead of the table's entry with
    /// all its nexthops.
    ///
    /// The kernel's counterpart is a request without RTM_F_FIB_MATCH.
    @usableFromInline package var selectsNexthop = false
    /// Whether to answer with the whole entry (``RouteMatch/entry``).
    @usableFromInline package var wantsEntry = false
    /// The index of the interface that the packet arrives on, 0 for a packet of this host.
    ///
    /// The kernel's counterpart is RTA_IIF. The answer is the route of the arriving packet: a `local` route delivers
    /// it.
    @usableFromInline package var inputInterface: UInt32 = 0
    /// The local address that the socket is bound to, which must be an address of this host.
    ///
    /// For a packet that arrives, the sender's address.
    @usableFromInline package var source: IPAddress?
    /// The socket's mark (SO_MARK).
    @usableFromInline package var mark: UInt32
    /// The user that owns the socket; `nil` for the user of the calling process.
    @usableFromInline package var user: UInt32?
    /// The IP protocol (IPPROTO_UDP, IPPROTO_TCP, ...); `nil` for UDP.
    @usableFromInline package var ipProtocol: UInt8?
    /// The source port in host order; `nil` for an unspecified port.
    @usableFromInline package var sourcePort: UInt16?
    /// The destination port in host order; `nil` for an unspecified port.
    @usableFromInline package var destinationPort: UInt16?
    /// The type of service (IP_TOS) of IPv4 or the traffic class (IPV6_TCLASS) of IPv6.
    @usableFromInline package var typeOfService: UInt8 = 0

    /// Creates a query about the packets of a socket, which is bound only if an argument says so.
    ///
    /// It has the user of the calling process and no flow. Set those afterwards.
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
    /// The query about a packet back to the sender of an arriving packet, as the kernel validates the source address:
    /// without a mark (`__fib_validate_source`).
    package var back: RouteQuery {
        var query = RouteQuery(destination: source ?? destination, source: destination)
        (query.user, query.ipProtocol, query.typeOfService) = (0, ipProtocol, typeOfService)
        (query.sourcePort, query.destinationPort) = (destinationPort, sourcePort)
        return query.forPacket
    }

    /// The query for the nexthop and the source address of this packet.
    package var forPacket: RouteQuery { with { ($0.selectsNexthop, $0.wantsEntry) = (true, false) } }

    /// The query for the whole entry.
    package var forEntry: RouteQuery { with { ($0.selectsNexthop, $0.wantsEntry) = (false, true) } }

    /// A copy of the query with a change.
    @inlinable
    package func with(_ change: (inout RouteQuery) -> Void) -> RouteQuery {
        var query = self
        change(&query)
        return query
    }

    /// Whether the source address that the kernel selects for a socket can change an answer, apart from policy rules.
    ///
    /// An IPv4 socket sends to a multicast or broadcast address through the interface of its source address. It sends
    /// to a local destination from that same address, which then has to belong to this host. An IPv6 socket fails if
    /// the outgoing interface has no address of the scope that the destination needs.
    ///
    /// - Parameters:
    ///   - type: The type of the answer's entry.
    ///   - origin: The entry's protocol: entries for addresses of this host have RTPROT_KERNEL.
    /// - Returns: `false` if the source makes no difference, or if the query has a source.
    package func dependsOnSource(_ type: RouteType, origin: UInt8) -> Bool {
        guard source == nil else { return false }
        return switch destination.family {
        case .v4: destination.isIPv4Group || (type == .local && origin != Route.kernelOrigin)
        case .v6: outputInterface != 0 || destination.isLinkScoped
        }
    }

    /// The type of an entry for this packet.
    ///
    /// The kernel delivers packets of this host only by the anycast routes that it creates (`RTF_ANYCAST`). Through one
    /// that a program added they leave, as by a unicast route. IPv6 packets that arrive are delivered by both.
    ///
    /// - Parameters:
    ///   - type: The type of the entry.
    ///   - origin: The entry's protocol: those that the kernel creates have RTPROT_KERNEL.
    /// - Returns: The type for this packet.
    package func type(of type: RouteType, origin: UInt8) -> RouteType {
        let leaves = type == .anycast && inputInterface == 0 && origin != Route.kernelOrigin
        return leaves ? .unicast : type
    }
}

// MARK: - Answers

/// The answer of a routing table to a ``RouteQuery``.
package enum RouteAnswer: Hashable, Sendable {
    /// An entry matches the packet.
    indirect case taken(RouteMatch)
    /// No entry matches the packet, or an entry or a rule refuses it.
    case rejected(RouteRejection)

    /// The answer with a whole entry.
    package static func route(_ entry: Route) -> RouteAnswer {
        .taken(RouteMatch(entry))
    }

    /// The matching entry; `nil` for a rejection.
    package var match: RouteMatch? {
        if case .taken(let match) = self { match } else { nil }
    }

    /// The type of the entry; `nil` for a rejection.
    package var type: RouteType? { match?.type }

    /// The first nexthop; `nil` for a rejection, and if the entry names no interface.
    package var nexthop: Nexthop? { match?.nexthop }

    /// Whether the entry is a multipath entry; `false` for a rejection.
    package var hasSeveralNexthops: Bool { match?.hasSeveralNexthops ?? false }

    /// The nexthops of the entry; empty for a rejection.
    package var nexthops: [Nexthop] { match?.nexthops ?? [] }

    /// The table's entry; `nil` for a rejection, and if the query does not request it.
    package var entry: Route? { match?.entry }

    /// The remaining lifetime of the route, in 1/100 s; `nil` for a route without a lifetime, and for a rejection.
    package var lifetime: Int32? { match?.lifetime }

    /// The source address of the packet, as ``RouteMatch/source``; `nil` for a rejection.
    package var source: IPAddress? { match?.source }

    /// Whether a nexthop encapsulates its packets.
    package var isEncapsulated: Bool {
        guard case .taken(let match) = self else { return false }
        return match.nexthop?.encapsulation != nil
            || match.hasSeveralNexthops && match.nexthops.contains { $0.encapsulation != nil }
    }

    /// Whether it is unknown which nexthop all packets use: ``RouteMatch/isNexthopUndecided``.
    package var isNexthopUndecided: Bool { match?.isNexthopUndecided ?? false }

    /// Whether no entry matches the packet, or the packet is refused.
    package var isRejected: Bool { rejection != nil }

    /// Why no entry matches the packet, or the packet is refused; `nil` for an entry.
    package var rejection: RouteRejection? {
        if case .rejected(let rejection) = self { rejection } else { nil }
    }

    /// Only the type and the nexthops, or the rejection: the part that the rules read.
    package var path: RouteAnswer {
        guard case .taken(let match) = self else { return self }
        return .taken(RouteMatch(match.type, match.nexthops))
    }

    /// A copy of the answer with a changed entry.
    package func with(_ change: (inout RouteMatch) -> Void) -> RouteAnswer {
        guard case .taken(var match) = self else { return self }
        change(&match)
        return .taken(match)
    }
}

/// The entry that matches a packet, with the parts that a ``RouteQuery`` requests.
package struct RouteMatch: Hashable, Sendable {
    /// The type of the entry for the packet: ``RouteQuery/type(of:origin:)``.
    package var type: RouteType
    /// The first nexthop; `nil` if the entry names no interface.
    ///
    /// `Optional` is written out, because with `Nexthop?` an initializer would first write `nil` and then the value.
    package internal(set) var nexthop: Optional<Nexthop>
    /// Whether the source address that the kernel selects for a socket can change the answer.
    package var dependsOnSource = false
    /// Whether it is unknown which nexthop all packets to the destination use: the kernel selects a source address by
    /// a hash, and rules or routes that match on the source select another nexthop for each.
    package var isNexthopUndecided = false
    /// Whether packets that are bound to the interface of one nexthop can use all nexthops: the kernel chooses among
    /// the nexthops of an IPv6 nexthop object only by its hash (`fib6_select_path`).
    package var ignoresBinding = false
    /// The remaining lifetime of an IPv6 route, in 1/100 s; `nil` for a route without a lifetime.
    package var lifetime: Int32?
    /// The source address of the packet; the unspecified address if no address of the host can be the source; `nil`
    /// if it is unknown, or if the query does not select a nexthop.
    package var source: IPAddress?
    private var more: Box<More>?

    /// Properties of few answers, boxed so that a copy of other answers needs only one reference count.
    private struct More: Hashable {
        /// The other nexthops of a multipath entry.
        var others: [Nexthop] = []
        var entry: Route?
        var pathMTU: PathMTU?
        var refusal: SourceRefusal?
    }

    /// A path MTU that the kernel has learned.
    package struct PathMTU: Hashable, Sendable {
        /// The MTU in bytes.
        package let mtu: UInt32
        /// How long it is kept, in 1/100 s.
        package let expires: Int32

        /// Describes a path MTU.
        package init(mtu: UInt32, expires: Int32) {
            (self.mtu, self.expires) = (mtu, expires)
        }
    }

    /// Creates an entry from the properties that the rules read.
    package init(_ type: RouteType, _ nexthops: [Nexthop]) {
        self.init(type, nexthops.first)
        if nexthops.count > 1 { self.nexthops = nexthops }
    }

    /// Creates an entry with one nexthop, or none.
    package init(_ type: RouteType, _ nexthop: Nexthop?) {
        self.type = type
        self.nexthop = nexthop
    }

    /// Creates a match from a complete entry.
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
            store {
                $0.others = Array(newValue.dropFirst())
                $0.entry?.nexthops = newValue
            }
        }
    }

    /// The table's entry; `nil` if the query does not request it.
    package var entry: Route? {
        get { more?.value.entry }
        set { store { $0.entry = newValue } }
    }

    /// What refuses packets from another source address that the kernel can select.
    ///
    /// `nil` where the entry takes those from each address.
    package var refusal: SourceRefusal? {
        get { more?.value.refusal }
        set { store { $0.refusal = newValue } }
    }

    /// The path MTU that the kernel has learned for the packet; `nil` for none.
    package var pathMTU: PathMTU? {
        get { more?.value.pathMTU }
        set { store { $0.pathMTU = newValue } }
    }

    private mutating func store(_ change: (inout More) -> Void) {
        var contents = more?.value ?? More()
        change(&contents)
        more = contents == More() ? nil : Box(contents)
    }
}

/// A source address that the kernel can select, and how it refuses packets from there.
package struct SourceRefusal: Hashable, Sendable {
    /// The address; `nil` where it is unknown.
    package let source: IPAddress?
    /// Why nothing takes the packets.
    package let rejection: RouteRejection

    /// Describes a refusal.
    package init(_ source: IPAddress?, _ rejection: RouteRejection) {
        (self.source, self.rejection) = (source, rejection)
    }
}

extension RouteAnswer {
    /// An answer with the nexthops of both answers, of which a packet uses one.
    ///
    /// `nil` unless both answers have entries of the same type.
    package func merged(with other: RouteAnswer) -> RouteAnswer? {
        guard let type, other.type == type else { return nil }
        return with {
            $0.nexthops += other.nexthops.filter { !nexthops.contains($0) }
            $0.refusal = $0.refusal ?? other.match?.refusal
            $0.isNexthopUndecided = true
        }
    }

    /// The entry for packets of which those from another source address are refused.
    package func refusing(_ refusal: SourceRefusal) -> RouteAnswer {
        with {
            $0.refusal = $0.refusal ?? refusal
            $0.isNexthopUndecided = true
        }
    }

    /// Whether a packet that is bound to an interface can use the route: one of its nexthops that are not dead uses the
    /// interface.
    package func leaves(through index: UInt32) -> Bool {
        nexthops.contains { $0.interfaceIndex == index && !$0.flags.contains(.dead) }
    }

    /// The answer for a packet that is bound to an interface.
    ///
    /// The kernel answers with all nexthops of a multipath entry, but such a packet uses none through another
    /// interface, except with an IPv6 nexthop object. If no nexthop uses the interface, as with a VRF, the answer is
    /// unchanged.
    ///
    /// - Parameter index: The interface; 0 for none.
    /// - Returns: The answer without the nexthops that the packet does not use.
    package func bound(toInterface index: UInt32) -> RouteAnswer {
        guard index != 0, case .taken(let match) = self, match.hasSeveralNexthops, !match.ignoresBinding
        else { return self }
        let nexthops = match.nexthops.filter { $0.interfaceIndex == index }
        return nexthops.isEmpty ? self : with { $0.nexthops = nexthops }
    }
}

// MARK: - Equivalence

extension RouteAnswer {
    /// Whether two answers give a packet the same type of route through the same interfaces, or both give no route.
    ///
    /// Different gateways on the same link make no difference to reachability.
    package func isEquivalent(to other: RouteAnswer) -> Bool {
        switch (self, other) {
        case (.taken(let one), .taken(let two)) where one.isEquivalent(to: two): true
        default: path == other.path || (leadsNowhere && other.leadsNowhere)
        }
    }

    /// Whether no packet can leave: there is no route, or none of its nexthops has a carrier.
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
    /// The nexthops reduced to the properties that affect flags: gateways have one address, and weights are equal.
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
/// The kernel returns an errno, which is the same for a route and for a rule.
package struct RouteRejection: RawRepresentable, Hashable, Sendable {
    /// The errno.
    package let rawValue: Int32

    /// Creates a rejection from an errno.
    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// No route, or a rule of type unreachable (ENETUNREACH).
    package static let noRoute = RouteRejection(rawValue: 101)
    /// A route of type unreachable, or no route through the requested interface (EHOSTUNREACH).
    package static let unreachable = RouteRejection(rawValue: 113)
    /// A route or a rule of type prohibit (EACCES).
    package static let prohibited = RouteRejection(rawValue: 13)
    /// A route or a rule of type blackhole (EINVAL).
    package static let blackhole = RouteRejection(rawValue: 22)
    /// No IPv6 address of this host can be the source (EADDRNOTAVAIL).
    package static let noSourceAddress = RouteRejection(rawValue: 99)
    /// The kernel does not support the address family (EAFNOSUPPORT).
    package static let noFamily = RouteRejection(rawValue: 97)
    /// The reverse path filter drops an arriving packet (EXDEV).
    ///
    /// Since a version between 6.13 and 6.18, the kernel returns EINVAL.
    package static let reversePathFilter = RouteRejection(rawValue: 18)
}

extension RouteType {
    /// The errno of an entry that refuses packets; `nil` for other entries.
    package var rejection: RouteRejection? {
        switch self {
        case .blackhole: .blackhole
        case .unreachable: .unreachable
        case .prohibit: .prohibited
        case .unicast, .local, .broadcast, .anycast, .multicast, .throw: nil
        default: .blackhole
        }
    }
}

/// How the kernel chooses one of several nexthops: the sysctl `fib_multipath_hash_policy` of a family.
package struct MultipathHashPolicy: RawRepresentable, Hashable, Sendable {
    /// The value of the sysctl.
    package let rawValue: Int

    /// Creates a policy from a value of the sysctl.
    package init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// By a hash of the addresses, and in IPv6 of the protocol: the default.
    package static let addresses = MultipathHashPolicy(rawValue: 0)
    /// By a hash of the addresses inside of a forwarded tunnel; for packets of this host, as ``addresses``.
    package static let innerAddresses = MultipathHashPolicy(rawValue: 2)

    /// Whether all packets of this host that a query describes use the same nexthop: the nexthop in the kernel's
    /// answer.
    package func choosesOneNexthop(for query: RouteQuery) -> Bool {
        self == .addresses || self == .innerAddresses
            || (query.sourcePort != nil && query.destinationPort != nil)
    }
}

/// The result of connect(2) for a UDP socket that a ``RouteQuery`` describes.
package enum ConnectOutcome: Hashable, Sendable {
    /// The kernel has a route, and packets have this source address.
    case connects(from: IPAddress)
    /// The kernel refuses the destination, or the source address.
    case refused(RouteRejection)
}

/// The answer to one query, or its error.
package typealias RoutingResult = Result<RouteAnswer, ReachabilityError>

/// A query and its answer.
package struct RouteLookup: Sendable {
    /// The query.
    package let query: RouteQuery
    /// The answer.
    ///
    /// It is meaningless until the source has set it.
    package var result: RoutingResult = .success(.rejected(.noRoute))

    /// Creates a query without an answer.
    package init(_ query: RouteQuery) {
        self.query = query
    }
}

// MARK: - The route of a packet

extension RouteAnswer {
    /// The route of a packet, from the table's entry and from the kernel's answer about the packet itself.
    ///
    /// The two answers differ. For the packet, the kernel ignores a gateway that is its own address, and an exception
    /// of the route, such as a redirect, has another gateway. Broadcasts do not use the gateway of the entry, and IPv4
    /// groups only that of a prefix of at least 4 bits (`__mkroute_output`). Only the entry shows the other nexthops of
    /// a multipath route, and their state.
    ///
    /// - Parameters:
    ///   - packet: The answer to ``RouteQuery/forPacket``.
    ///   - query: The packet.
    ///   - takesOne: Whether all packets use the nexthop that the kernel chose by a hash; otherwise each nexthop
    ///     counts.
    /// - Returns: The entry as it applies to the packet, or the rejection.
    package func taken(by packet: RouteAnswer, of query: RouteQuery, takesOne: Bool) -> RouteAnswer {
        guard !packet.isRejected else {
            // A strict entry has no answer about the packet. Otherwise the tables changed in between, and this answer
            // is newer.
            return isRejected || query.isStrict ? self : packet
        }
        guard case .taken(var match) = self else { return isMissing(for: query) ? packet : self }
        // The packet's match is not copied, because it is large.
        match.source = packet.source
        match.lifetime.shorten(to: packet.lifetime)
        if let pathMTU = packet.match?.pathMTU { match.pathMTU = pathMTU }
        if match.type != .local, match.type != .anycast {
            match.take(packet, to: query.destination.withoutZone, takesOne: takesOne)
        }
        return .taken(match)
    }
}

extension RouteMatch {
    /// Replaces the gateways by those that the kernel chose.
    ///
    /// The entry keeps its own.
    fileprivate mutating func take(_ choice: RouteAnswer, to destination: IPAddress, takesOne: Bool) {
        guard hasSeveralNexthops || choice.hasSeveralNexthops else {
            // Nearly all routes have one nexthop. This case needs no array on the heap.
            if let chosen = choice.nexthop, chosen.interfaceIndex == nexthop?.interfaceIndex {
                nexthop?.take(chosen.gateway, to: destination)
            }
            return
        }
        let entry = entry
        nexthops = nexthops.taken(by: choice.nexthops, to: destination, takesOne: takesOne)
        if type != .unicast, destination.family == .v4, choice.nexthops.allSatisfy({ $0.gateway == nil }) {
            for index in nexthops.indices { nexthops[index].gateway = nil }
        }
        self.entry = entry
    }
}

extension Nexthop {
    /// Replaces the gateway by that of a packet.
    ///
    /// After a redirect to the destination itself, an IPv4 exception has the destination as its gateway: the
    /// destination is on the link.
    fileprivate mutating func take(_ chosen: IPAddress?, to destination: IPAddress) {
        gateway = chosen == destination && gateway != destination ? nil : chosen
    }
}

extension [Nexthop] {
    /// The nexthops of an entry, in which the nexthops that the kernel chose replace the entry's own.
    ///
    /// Strict lookups have no answer about the packet: a choice through an interface that the entry does not use
    /// belongs to another packet.
    fileprivate func taken(by choices: [Nexthop], to destination: IPAddress, takesOne: Bool) -> [Nexthop] {
        var nexthops = self
        let paths = Set(choices.map(\.path))
        // The index of the first nexthop with each chosen path, or else of the first other nexthop of each interface.
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
    /// Whether a packet without a matching entry gets an interface from the kernel itself: a packet to an IPv4
    /// multicast or limited broadcast address, from a socket that is bound to an interface or an address
    /// (`ip_route_output_key_hash_rcu`).
    private func isMissing(for query: RouteQuery) -> Bool {
        guard query.destination.isIPv4Group, query.outputInterface != 0 || query.source != nil else {
            return false
        }
        return self == .rejected(.noRoute) || self == .rejected(.unreachable)
    }
}

extension Int32? {
    /// Replaces the lifetime by another one if that is shorter.
    ///
    /// `nil` means no lifetime.
    package mutating func shorten(to other: Int32?) {
        if let other { self = min(self ?? other, other) }
    }
}
