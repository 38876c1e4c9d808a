// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import RoutingModel

/// An address that a target stands for, one of possibly several.
package struct Candidate: Hashable, Sendable {
    /// The address that the kernel is asked about.
    package var destination: IPAddress
    /// Whether the address only stands for the default path.
    package var isDefaultPath: Bool

    /// An address that is evaluated for its own sake.
    package static func address(_ address: IPAddress) -> Candidate {
        Candidate(destination: address, isDefaultPath: false)
    }

    /// The default path of one family, through the interface of a zone or any: public addresses stand for it.
    ///
    /// IPv4 has one in each half of the address space, because a host can send one half elsewhere. Filters of special
    /// addresses do not answer for them, as they would for 0.0.0.1 or `::`.
    package static func defaultPath(_ family: IPAddress.Family, zone: ZoneIdentifier? = nil) -> [Candidate] {
        let probes =
            switch family {
            case .v4: [IPAddress(12, 0, 0, 1), IPAddress(206, 0, 0, 1)]
            case .v6: [IPAddress(v6High: 0x2600 << 48, low: 1)]
            }
        return probes.map { probe in
            var probe = probe
            probe.zone = zone
            return Candidate(destination: probe, isDefaultPath: true)
        }
    }

    /// The candidates of an address, which are those of the default path for the zero addresses.
    package static func candidates(for address: IPAddress) -> [Candidate] {
        let address = address.unmapped
        guard address.isUnspecified else { return [.address(address)] }
        return IPAddress.Family.allCases.flatMap { defaultPath($0, zone: address.zone) }
    }
}

/// A packet to one address, as far as it is known without asking: that of a socket, or one that a tunnel sends.
struct Packet {
    /// The address that the packet goes to.
    let candidate: Candidate
    /// How much to find out.
    let detail: QueryDetail
    /// The packet, but for an interface that has to be found and a source address that the kernel selects.
    let query: RouteQuery
    /// The interface that the socket is bound to, if it has to be found.
    var interface: InterfaceReference?
    /// The name of the interface that the socket is bound to, if that is known.
    var boundInterface: String?
    /// The local address that the socket is bound to.
    var local: IPAddress?
    /// Whether the socket is connected: its packets take one nexthop of several, which the kernel chooses by a hash.
    var isConnected = false
    /// Whether the packet stands for others that can take each nexthop of several.
    var takesEachNexthop: Bool
    /// Whether these are the outer packets of a tunnel.
    ///
    /// The kernel looks up their route once, without a second lookup from the selected source address, and sends them
    /// out of an interface that is given even without a matching route.
    var isOuter = false
    /// Why nothing sends the packet, whatever its route; `nil` for nothing.
    var refusal: ReachabilityReason?
    /// The mark of the packets that a tunnel sends (``CarrierKey/packetMark``); `nil` if they have the one that they
    /// are routed by.
    var packetMark: UInt32?

    /// A packet that is known but for its route.
    init(_ candidate: Candidate, _ detail: QueryDetail, _ query: RouteQuery, boundTo interface: String? = nil)
    {
        self.candidate = candidate
        self.detail = detail
        self.query = query
        takesEachNexthop = candidate.isDefaultPath
        boundInterface = interface
    }

    /// A packet of a socket, or of a tunnel.
    ///
    /// - Parameters:
    ///   - candidate: The address.
    ///   - local: The local address that the socket is bound to; `nil` for none.
    ///   - options: The options of the socket.
    ///   - detail: How much to find out.
    ///   - index: The interface that the socket is bound to, 0 for none; `nil` where the options and zones say it.
    init(
        _ candidate: Candidate,
        from local: IPAddress?,
        _ options: ReachabilityOptions,
        _ detail: QueryDetail,
        boundTo index: UInt32? = nil
    ) {
        let destination = candidate.destination
        var query = RouteQuery(destination: destination.withoutZone, source: local?.withoutZone)
        options.apply(to: &query)
        query.wantsEntry = detail == .full
        self.init(candidate, detail, query)
        self.local = local
        interface =
            if let index { index == 0 ? nil : InterfaceReference(index: index) } else {
                InterfaceReference(of: destination, from: local, options)
            }
    }

    /// The packet inside of a tunnel.
    var inner: InnerPackets { InnerPackets(query, detail, mark: packetMark) }

    /// The packet that the route puts around this one, with the mark of this one (`seg6_output`).
    func outerQuery(_ destination: IPAddress) -> RouteQuery {
        var outer = RouteQuery(destination: destination)
        outer.mark = inner.mark
        outer.wantsEntry = query.wantsEntry
        return outer
    }
}

/// Packets that leave through an interface, as far as they decide what carries it if it is a tunnel.
struct InnerPackets: Hashable, Sendable {
    let destination: IPAddress
    let mark: UInt32
    /// How much of the interface is known.
    let detail: QueryDetail

    init(_ query: RouteQuery, _ detail: QueryDetail, mark: UInt32? = nil) {
        (destination, self.mark, self.detail) = (query.destination, mark ?? query.mark, detail)
    }
}

/// The route of a packet, or why it has none.
struct PacketRoute {
    enum Outcome {
        case answered(RouteAnswer)
        /// Nothing can be sent, and the kernel was not asked or its answer does not count.
        case unreachable(ReachabilityReason)
    }

    let outcome: Outcome
    /// The packet, with the interface that its socket is bound to and the source address that it has; `nil` where the
    /// kernel selects that.
    let query: RouteQuery
    /// The name of the interface that the socket is bound to, as the caller gave it, which can be an alternative one.
    let boundInterface: String?
    /// What the tables have for the local IPv4 address of the socket.
    var localEntry: RoutingResult?
    /// The destination and the route of the outer packet, where the route encapsulates the packet.
    var outer: Box<(destination: IPAddress, answer: RouteAnswer)>?

    static func unreachable(_ reason: ReachabilityReason, _ query: RouteQuery) -> PacketRoute {
        PacketRoute(outcome: .unreachable(reason), query: query, boundInterface: nil)
    }
}

// MARK: - The route of a packet

extension Packet {
    /// A route, and the source address of the packet; `nil` where the kernel selects it.
    private typealias Selection = (source: IPAddress?, answer: RouteAnswer)

    /// Finds the route of the packet.
    ///
    /// A socket gets other answers than a plain query: one without a source address selects one. IPv4 sockets look up
    /// again with it (`ip_route_connect`), IPv6 sockets only where the first lookup is rejected
    /// (`ip6_dst_lookup_tail`).
    func route(_ known: inout Known) throws(Interruption) -> PacketRoute {
        var query = query
        if let refusal { return .unreachable(refusal, query) }
        var end = local.map { LocalEnd(given: $0, interfaceIndex: nil) }
        if let end { known.note(address: end.address) }
        var boundInterface = boundInterface
        if let interface {
            guard let found = try known.interface(interface, of: candidate.destination) else {
                return .unreachable(interface.absence, query)
            }
            query.outputInterface = found.index
            boundInterface = found.name
            // The packets of a socket that is bound to another interface than the loopback never arrive, unless there
            // are such addresses behind it.
            if candidate.destination.isLoopback, !found.takesLoopback {
                return .unreachable(ReachabilityReason(.noRouteOutOfInterface, found.name), query)
            }
            end?.interfaceIndex = found.index
        } else if query.outputInterface == 0, candidate.destination.needsZone {
            return .unreachable(
                ReachabilityReason(.needsInterface, candidate.destination.description), query)
        }
        var localEntry: RoutingResult?
        let selected: Selection
        do throws(Interruption) {
            if let end, end.address.family == .v4 {
                // The local address is looked up together with the packet, and judged before its route.
                localEntry = known.findAnswer(to: RouteQuery(destination: end.address))
                _ = findAnswers(query, &known)
                guard let localEntry else { throw .missing }
                if let refusal = try known.refusal(of: end, localEntry, query, isConnected: isConnected) {
                    return .unreachable(refusal, query)
                }
            } else if let end, let refusal = try known.refusal(of: end, nil, query, isConnected: isConnected)
            {
                return .unreachable(refusal, query)
            }
            selected = try select(query, &known)
        } catch {
            // The interface that the socket is bound to was removed meanwhile: there is none then.
            guard case .failed(let failure) = error, failure.number == ENODEV, query.outputInterface != 0
            else { throw error }
            let name = boundInterface.map(InterfaceReference.init(name:))
            return .unreachable((name ?? InterfaceReference(index: query.outputInterface)).absence, query)
        }
        try fetchInterfaces(of: selected.answer, &known)
        let outer = try outerRoute(inside: selected.answer, &known)
        return PacketRoute(
            outcome: .answered(selected.answer), query: query.from(selected.source),
            boundInterface: boundInterface, localEntry: localEntry, outer: outer)
    }

    /// The answers about this packet, or another one like it; `nil` if they are missing.
    private func findAnswers(_ query: RouteQuery, _ known: inout Known) -> Known.PacketAnswers? {
        known.findAnswers(entry: entryQuery(query), packet: query.forPacket)
    }

    /// The query for the entry of the tables.
    private func entryQuery(_ query: RouteQuery) -> RouteQuery {
        // A tunnel whose packets have the source of its own local end is not as strict as a socket
        // (`ip6_dst_lookup_tail`).
        isOuter && self.query.source != nil ? query : query.ofSocket
    }

    /// The route that a packet takes, from the answers about it.
    private func route(
        _ answers: Known.PacketAnswers,
        of query: RouteQuery,
        _ known: inout Known
    ) throws(Interruption) -> RouteAnswer {
        let bound = try known.value(of: answers.entry).bound(toInterface: query.outputInterface)
        let choice = try known.value(of: answers.packet)
        // `ip_route_output_key_hash_rcu` takes the destination to be on the link.
        if isOuter, query.destination.family == .v4, bound.isRejected, query.outputInterface != 0,
            !choice.isRejected
        {
            return choice
        }
        let takesOne = try takesOneNexthop(of: bound, query, &known)
        return bound.taken(by: choice, of: entryQuery(query), takesOne: takesOne)
    }

    /// Whether all packets to the address take the nexthop of the kernel's answer.
    private func takesOneNexthop(
        of entry: RouteAnswer,
        _ query: RouteQuery,
        _ known: inout Known
    ) throws(Interruption) -> Bool {
        guard entry.hasSeveralNexthops, !takesEachNexthop else { return false }
        if isConnected { return true }
        let policy = try known.unnotified.multipathHashPolicies.get(query.destination.family)
        return policy?.choosesOneNexthop(for: query) == true
    }

    /// Finds the route that the packet takes after the kernel has selected its source address.
    private func select(_ query: RouteQuery, _ known: inout Known) throws(Interruption) -> Selection {
        guard let answers = findAnswers(query, &known) else { throw .missing }
        let answer = try route(answers, of: query, &known)
        known.note(lifetime: answer.lifetime)
        let isIPv6 = query.destination.family == .v6
        // No source address changes the route of a tunnel's IPv4 packets.
        if isOuter, !isIPv6 { return (query.source, answer) }
        if answer.isRejected, let source = sourceOnLink(query, answers.packet) {
            return try select(query, after: answer, from: [source], &known)
        }
        // The hash of the nexthops is of both addresses.
        let isChosen =
            !isIPv6 && answers.entry.answer?.hasSeveralNexthops == true && !answer.hasSeveralNexthops
        guard query.source == nil, isChosen || selectsSource(after: answer) else {
            return (query.source, answer)
        }
        // Each nexthop of an IPv4 route has a source of its own. The kernel's answer has that of the nexthop which its
        // hash chooses for this destination; a recording does not contain the hash.
        let isOpen = candidate.isDefaultPath && !isIPv6 && answer.hasSeveralNexthops
        var sources: [IPAddress]
        if !isOpen, let source = answer.source {
            sources = source.isUnspecified ? [] : [source]
        } else {
            sources = try known.host.sources.get(SourceQuery(query, after: answer))
        }
        // An IPv6 socket whose first lookup is accepted keeps that route, and only needs an address to send from.
        if isIPv6, !answer.isRejected {
            return (nil, sources.isEmpty ? .rejected(.noSourceAddress) : answer)
        }
        return sources.isEmpty ? (nil, answer) : try select(query, after: answer, from: sources, &known)
    }

    /// The address that the kernel selects for a bound IPv4 packet that no route matches; `nil` for none.
    ///
    /// The kernel takes the destination to be on the link and selects an address there
    /// (`ip_route_output_key_hash_rcu`). A route can match a packet from it, by a rule of a host with several uplinks
    /// (`ip rule add from`).
    private func sourceOnLink(_ query: RouteQuery, _ packet: RoutingResult) -> IPAddress? {
        guard query.outputInterface != 0, query.source == nil, query.destination.family == .v4,
            case .success(let answer) = packet, let source = answer.source
        else { return nil }
        return source.isUnspecified ? nil : source
    }

    /// Whether the source address that a socket without one selects can change the answer.
    private func selectsSource(after answer: RouteAnswer) -> Bool {
        // A rejection is the last word in IPv4 alone.
        guard case .taken(let match) = answer else { return query.destination.family == .v6 }
        return match.dependsOnSource
    }

    /// Finds the route from each of the source addresses that the kernel can select.
    private func select(
        _ query: RouteQuery,
        after first: RouteAnswer,
        from sources: [IPAddress],
        _ known: inout Known
    ) throws(Interruption) -> Selection {
        let isIPv6 = query.destination.family == .v6
        let answers = sources.map { findAnswers(query.from($0), &known) }
        var found: Selection?
        for (source, answers) in zip(sources, answers) {
            guard let answers else { throw .missing }
            let answer = try route(answers, of: query.from(source), &known)
            // The first rejection says more.
            let next: Selection = isIPv6 && answer.isRejected ? (nil, first) : (source, answer)
            known.note(lifetime: next.answer.lifetime)
            guard let earlier = found else {
                found = next
                continue
            }
            guard earlier.answer.path != next.answer.path else { continue }
            // Each nexthop of an IPv4 route has a source: the nexthops of all of them are evaluated.
            guard !isIPv6, let both = earlier.answer.merged(with: next.answer) else {
                throw .failed(.undecidedSource(query.from(source)))
            }
            found?.answer = both
        }
        guard let found else { return (nil, first) }
        // It is unknown which of several addresses the kernel selects.
        return sources.count > 1 ? (nil, found.answer.with { $0.source = nil }) : found
    }

    /// Makes sure that the facts about the interfaces of an answer are known.
    ///
    /// If none of the interfaces exists, they went away after the answer, and the route with them.
    private func fetchInterfaces(of answer: RouteAnswer, _ known: inout Known) throws(Interruption) {
        if packetMark != nil, answer.nexthops.count > CarrierKey.nexthopLimit {
            throw .failed(.undecidedCarrier)
        }
        guard case .taken(let match) = answer, match.type.leavesHost || detail != .flags else { return }
        let decides = match.type.leavesHost
        var isAnyFound = false
        if match.hasSeveralNexthops {
            isAnyFound = try known.values(of: match.nexthops) { (nexthop, known) throws(Interruption) in
                try known.interfaces.exists(nexthop.interfaceIndex, detail)
            }.contains(true)
        } else if let index = match.nexthop?.interfaceIndex {
            isAnyFound = try known.interfaces.exists(index, detail)
        }
        if decides, !isAnyFound, known.beginsAgain() { throw .missing }
        // A report names those of the other nexthops, too.
        if let others = match.entry?.nexthops, others.count > match.nexthops.count {
            _ = try known.all(others) { (nexthop, known) throws(Interruption) in
                try known.interfaces.exists(nexthop.interfaceIndex, detail)
            }
        }
    }
}

extension ReachabilityError {
    fileprivate static let undecidedCarrier = ReachabilityError(
        .undecided,
        operation: "find what carries a tunnel",
        message: "the route of the outer packets has more than \(CarrierKey.nexthopLimit) nexthops"
    )

    fileprivate static func undecidedEncapsulation(_ words: String) -> ReachabilityError {
        ReachabilityError(
            .undecided,
            operation: "follow an encapsulation",
            message: "routes with encap \(words) cannot be followed"
        )
    }

    /// The kernel can select several source addresses, and the answers differ in kind.
    static func undecidedSource(_ query: RouteQuery) -> ReachabilityError {
        ReachabilityError(
            .undecided,
            operation: "select a source address",
            message:
                "the kernel can select \(query.source.map { "\($0)" } ?? "one") or another source address for "
                + "\(query.destination), and they take different routes"
        )
    }
}

extension RouteQuery {
    /// The query with the strictness of a bound IPv6 socket that has a source address.
    var ofSocket: RouteQuery {
        var query = self
        query.isStrict = source != nil && outputInterface != 0 && destination.family == .v6
        return query
    }

    /// The query about a packet from a source address; `nil` where the kernel selects it.
    func from(_ source: IPAddress?) -> RouteQuery {
        var query = self
        query.source = source
        return query
    }
}

// MARK: - Encapsulation

extension Packet {
    /// Finds the route of the packet that a route puts around this one; `nil` if it puts none around it.
    ///
    /// It is not followed into a third packet. No answer shows which source address it has, unless that was selected
    /// before (seg6).
    private func outerRoute(
        inside answer: RouteAnswer,
        _ known: inout Known
    ) throws(Interruption) -> Box<(destination: IPAddress, answer: RouteAnswer)>? {
        guard answer.isEncapsulated else { return nil }
        let kinds = Set(answer.nexthops.map { $0.encapsulation?.value })
        let inner = kinds.compactMap { $0?.description }.sorted()
        guard kinds.count == 1, let encapsulation = kinds.first ?? nil, encapsulation.isShown else {
            throw .failed(.undecidedEncapsulation(inner.joined(separator: ", ")))
        }
        guard let destination = encapsulation.destination else { return nil }
        let query = outerQuery(destination)
        // The other kinds have the source of the tunnel, or select it after the lookup.
        var sources: [IPAddress?] = [nil]
        if encapsulation.kind == .seg6 {
            let found = try known.outerSources(for: destination, through: answer)
            if !found.isEmpty { sources = found }
        }
        let answers = sources.map { findAnswers(query.from($0), &known) }
        // The flow label of the packet inside counts in the hash of the nexthops.
        var packet = self
        packet.takesEachNexthop = true
        var outer: RouteAnswer?
        for (source, answers) in zip(sources, answers) {
            guard let answers else { throw .missing }
            let route = try packet.route(answers, of: query.from(source), &known)
            guard let first = outer else {
                outer = route
                continue
            }
            if route.path != first.path { throw .failed(.undecidedSource(query.from(sources[0]))) }
        }
        guard let outer else { return nil }
        known.note(lifetime: outer.lifetime)
        try fetchInterfaces(of: outer, &known)
        let words = outer.nexthops.compactMap { $0.encapsulation?.value.description }
        guard words.isEmpty, outer.match?.dependsOnSource != true else {
            throw .failed(.undecidedEncapsulation((inner + words).joined(separator: ", ")))
        }
        return Box((destination, outer))
    }

    /// The packets that the route puts around this one.
    func outerPackets(_ route: PacketRoute) -> InnerPackets? {
        route.outer.map { InnerPackets(outerQuery($0.value.destination), detail) }
    }

    /// The packet whose route decided: this one, or the one around it.
    func deciding(_ judgement: Judgement, _ route: PacketRoute) -> InnerPackets {
        judgement.isOfOuter ? outerPackets(route) ?? inner : inner
    }
}
