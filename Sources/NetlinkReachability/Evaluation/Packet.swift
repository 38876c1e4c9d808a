// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import RoutingModel

/// One of the addresses that a target stands for.
package struct Candidate: Hashable, Sendable {
    /// The address in queries to the kernel.
    package var destination: IPAddress
    /// Whether the address is an example for the default path.
    var isDefaultPath: Bool

    /// Creates a candidate for an address that is itself the target.
    package static func address(_ address: IPAddress) -> Candidate {
        Candidate(destination: address, isDefaultPath: false)
    }

    /// The candidates for the default path of one family, through the interface of a zone or any interface: public
    /// addresses.
    ///
    /// IPv4 has one candidate in each half of the address space, because a host can route one half elsewhere. These
    /// addresses do not match routes that filter special addresses, as 0.0.0.1 or `::` would.
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

    /// The candidates for an address.
    ///
    /// The zero addresses have the candidates of the default path.
    package static func candidates(for address: IPAddress) -> [Candidate] {
        let address = address.unmapped
        guard address.isUnspecified else { return [.address(address)] }
        return IPAddress.Family.allCases.flatMap { defaultPath($0, zone: address.zone) }
    }
}

/// A packet to one address, as far as it is known without queries: a packet of a socket or of a tunnel.
struct Packet {
    /// The destination of the packet.
    let candidate: Candidate
    /// The detail that is needed.
    let detail: QueryDetail
    /// The packet, without an interface that has to be found and without a source address that the kernel selects.
    let query: RouteQuery
    /// The interface that the socket is bound to, if its index has to be found.
    var interface: InterfaceReference?
    /// The interface of a link-local source or of the options, where the zone of a link-local destination names the
    /// interface.
    var otherInterface: InterfaceReference?
    /// The name of the interface that the socket is bound to, if that is known.
    var boundInterface: String?
    /// The local address that the socket is bound to.
    var local: IPAddress?
    /// Whether the socket is connected: its packets use one of several nexthops, which the kernel chooses by a hash.
    var isConnected = false
    /// Whether the packet stands for others that together use all of several nexthops.
    var takesEachNexthop: Bool
    /// Whether these are the outer packets of a tunnel.
    ///
    /// The kernel looks up their route once, without a second lookup from the selected source address, and sends them
    /// out of an interface that is given even without a matching route.
    var isOuter = false
    /// Why the packet is never sent, whatever its route; `nil` if it can be sent.
    var refusal: ReachabilityReason?
    /// The mark of a tunnel's outer packets (``CarrierKey/packetMark``); `nil` if it is the mark that they are routed
    /// by.
    var packetMark: UInt32?

    /// Creates a packet whose interface is known.
    init(_ candidate: Candidate, _ detail: QueryDetail, _ query: RouteQuery, boundTo interface: String? = nil)
    {
        self.candidate = candidate
        self.detail = detail
        self.query = query
        takesEachNexthop = candidate.isDefaultPath
        boundInterface = interface
    }

    /// Creates a packet of a socket or of a tunnel.
    ///
    /// - Parameters:
    ///   - candidate: The address.
    ///   - local: The local address that the socket is bound to; `nil` for none.
    ///   - options: The options of the socket.
    ///   - detail: How much to find out.
    ///   - index: The interface that the socket is bound to, 0 for none; `nil` if the options and zones name the
    ///     interface.
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
        if index == nil, destination.needsZone, destination.zone != nil {
            let zone = local.flatMap { $0.needsZone ? $0.zone : nil }
            otherInterface = zone.map { InterfaceReference(nameOrIndex: $0.description) } ?? options.interface
        }
    }

    /// This packet as the inner packet of a tunnel.
    var inner: InnerPackets { InnerPackets(query, detail, mark: packetMark) }

    /// The query for the outer packet, which has the mark of this one (`seg6_output`).
    func outerQuery(_ destination: IPAddress) -> RouteQuery {
        var outer = RouteQuery(destination: destination)
        outer.mark = inner.mark
        outer.wantsEntry = query.wantsEntry
        return outer
    }
}

/// The properties of packets that affect the carrier of the tunnel through which they leave.
struct InnerPackets: Hashable, Sendable {
    let destination: IPAddress
    let mark: UInt32
    /// The detail that is known about the interface.
    let detail: QueryDetail

    init(_ query: RouteQuery, _ detail: QueryDetail, mark: UInt32? = nil) {
        (destination, self.mark, self.detail) = (query.destination, mark ?? query.mark, detail)
    }
}

/// The route of a packet, or why it has none.
struct PacketRoute {
    enum Outcome {
        case answered(RouteAnswer)
        /// The packet cannot be sent. The kernel was not queried, or its answer does not apply.
        case unreachable(ReachabilityReason)
    }

    let outcome: Outcome
    /// The packet, with the interface that its socket is bound to and its source address; `nil` if the kernel selects
    /// the source address.
    let query: RouteQuery
    /// The name of the interface that the socket is bound to, as the caller gave it.
    ///
    /// It can be an alternative name.
    let boundInterface: String?
    /// The routing result for the local IPv4 address of the socket.
    var localEntry: RoutingResult?
    /// The destination and the route of the outer packet, if the route encapsulates the packet.
    var outer: Box<(destination: IPAddress, answer: RouteAnswer)>?

    static func unreachable(_ reason: ReachabilityReason, _ query: RouteQuery) -> PacketRoute {
        PacketRoute(outcome: .unreachable(reason), query: query, boundInterface: nil)
    }
}

// MARK: - The route of a packet

extension Packet {
    /// A route, and the source address of the packet; `nil` if the kernel selects the source address.
    private typealias Selection = (source: IPAddress?, answer: RouteAnswer)

    /// Finds the route of the packet.
    ///
    /// A socket's answers differ from those of a plain query, because a socket without a source address selects one.
    /// An IPv4 socket then looks up the route again (`ip_route_connect`). An IPv6 socket does so only if the first
    /// lookup is rejected (`ip6_dst_lookup_tail`).
    func route(_ known: inout Known) throws(Interruption) -> PacketRoute {
        var query = query
        if let refusal { return .unreachable(refusal, query) }
        var end = local.map {
            LocalEnd(given: $0, interfaceIndex: nil, isBinding: !isOuter && !isConnected)
        }
        if let end { known.note(address: end.address) }
        var boundInterface = boundInterface
        if let interface {
            guard let found = try known.interface(interface) else {
                return .unreachable(interface.absence, query)
            }
            query.outputInterface = found.index
            boundInterface = found.name
            if let refusal = try refusal(ofZone: found, &known) { return .unreachable(refusal, query) }
            // Packets to a loopback address do not arrive if the socket is bound to another interface, unless that
            // interface has such addresses behind it (`route_localnet`).
            if candidate.destination.isLoopback, try !known.takesLoopback(found) {
                return .unreachable(ReachabilityReason(.noRouteOutOfInterface, found.name), query)
            }
            end?.interfaceIndex = found.index
            // To a group, a socket that is bound to a VRF sends as an unbound one does (`udp_sendmsg`).
            if candidate.destination.family == .v4, candidate.destination.isMulticast,
                try known.link(found.index)?.isVRF == true
            {
                query.outputInterface = 0
            }
        } else if query.outputInterface == 0, let address = addressWithoutZone {
            return .unreachable(ReachabilityReason(.needsInterface, address.description), query)
        }
        var localEntry: RoutingResult?
        let selected: Selection
        do throws(Interruption) {
            if let end, end.address.family == .v4 {
                // The local address is looked up together with the packet, and checked before the packet's route.
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
            // The interface that the socket is bound to was removed meanwhile: it no longer exists.
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

    /// Why connect(2) refuses the zone of a link-local destination; `nil` if it takes the zone.
    ///
    /// A socket that is bound to another interface sends to none of this link, unless that is the link's VRF.
    private func refusal(
        ofZone zone: BoundInterface, _ known: inout Known
    ) throws(Interruption) -> ReachabilityReason? {
        guard let otherInterface else { return nil }
        guard let bound = try known.interface(otherInterface) else { return otherInterface.absence }
        if bound.index == zone.index { return nil }
        return try known.vrf(ofInterface: zone.index) == bound.index
            ? nil : ReachabilityReason(.noRouteOutOfInterface, bound.name)
    }

    /// An address that needs a zone; `nil` for none: connect(2) refuses such a destination, and bind(2) such a source,
    /// which a connected socket has already.
    private var addressWithoutZone: IPAddress? {
        let destination = candidate.destination
        if destination.needsZone { return destination }
        guard !isOuter, !isConnected, let local, local.needsZone else { return nil }
        return local
    }

    /// The answers about this packet, or about a variant of it; `nil` if they are not known yet.
    private func findAnswers(_ query: RouteQuery, _ known: inout Known) -> Known.PacketAnswers? {
        known.findAnswers(entry: entryQuery(query), packet: query.forPacket)
    }

    /// The query for the routing table entry.
    private func entryQuery(_ query: RouteQuery) -> RouteQuery {
        // Packets of a tunnel with a local end do not have the strict source check of a bound socket
        // (`ip6_dst_lookup_tail`).
        isOuter && self.query.source != nil ? query : query.ofSocket
    }

    /// The route of a packet, from the answers about it.
    private func route(
        _ answers: Known.PacketAnswers,
        of query: RouteQuery,
        _ known: inout Known
    ) throws(Interruption) -> RouteAnswer {
        let bound = try known.value(of: answers.entry).bound(toInterface: query.outputInterface)
        let choice = try known.value(of: answers.packet)
        // `ip_route_output_key_hash_rcu` treats the destination as on the link.
        if isOuter, query.destination.family == .v4, bound.isRejected, query.outputInterface != 0,
            !choice.isRejected
        {
            return choice
        }
        let takesOne = try usesOneNexthop(of: bound, query, &known)
        if !takesOne { try requireOneAnswer(of: bound, query, &known) }
        return bound.taken(by: choice, of: entryQuery(query), takesOne: takesOne)
    }

    /// Refuses to decide where some of several nexthops do not let a loopback source leave (`route_localnet`), and a
    /// hash that is not known chooses the nexthop.
    private func requireOneAnswer(
        of entry: RouteAnswer,
        _ query: RouteQuery,
        _ known: inout Known
    ) throws(Interruption) {
        guard query.source?.isLoopback == true, query.outputInterface == 0, query.destination.family == .v4,
            try known.unnotified.multipathHashPolicies.get(.v4)?.choosesOneNexthop(for: query) != true
        else { return }
        var entry = entry
        if entry == .rejected(.blackhole) {
            // The kernel refuses the source, and shows no entry.
            guard let found = known.findAnswer(to: entryQuery(query.from(nil))) else { throw .missing }
            entry = try known.value(of: found)
        }
        guard entry.hasSeveralNexthops else { return }
        var leaves: Set<Bool> = []
        for nexthop in entry.nexthops {
            // The hash covers no nexthop of an interface that is down.
            if nexthop.flags.contains(.dead),
                try known.link(nexthop.interfaceIndex)?.flags.contains(.up) != true
            {
                continue
            }
            let bound = query.forPacket.with { $0.outputInterface = nexthop.interfaceIndex }
            guard let answer = known.findAnswer(to: bound) else { throw .missing }
            leaves.insert(try !known.value(of: answer).isRejected)
        }
        guard leaves.count > 1 else { return }
        throw .undecided(
            "find the route of \(query)",
            "the kernel chooses a nexthop by a hash, and only some of the interfaces have route_localnet")
    }

    /// Whether all packets to the address use the nexthop of the kernel's answer.
    private func usesOneNexthop(
        of entry: RouteAnswer,
        _ query: RouteQuery,
        _ known: inout Known
    ) throws(Interruption) -> Bool {
        guard entry.hasSeveralNexthops, !takesEachNexthop else { return false }
        if isConnected { return true }
        let policy = try known.unnotified.multipathHashPolicies.get(query.destination.family)
        return policy?.choosesOneNexthop(for: query) == true
    }

    /// Finds the packet's route after the kernel has selected its source address.
    private func select(_ query: RouteQuery, _ known: inout Known) throws(Interruption) -> Selection {
        guard let answers = findAnswers(query, &known) else { throw .missing }
        let answer = try route(answers, of: query, &known)
        known.note(lifetime: answer.lifetime)
        let isIPv6 = query.destination.family == .v6
        // The source address does not change the route of a tunnel's IPv4 packets.
        if isOuter, !isIPv6 { return (query.source, answer) }
        if answer.isRejected, let source = sourceOnLink(query, answers.packet) {
            return try select(query, after: answer, from: [source], &known)
        }
        // The hash for the nexthops covers both addresses.
        let isChosen =
            !isIPv6 && answers.entry.answer?.hasSeveralNexthops == true && !answer.hasSeveralNexthops
        guard query.source == nil, isChosen || selectsSource(after: answer) else {
            return (query.source, answer)
        }
        let leavesVRF = try leavesVRF(query, answer, &known)
        // Each nexthop of an IPv4 route has its own source address. The kernel's answer has the source of the nexthop
        // that its hash chooses for this destination. A recording does not contain the hash. A hash of ports that are
        // not given chooses again for each connection.
        let haveSeveral = !isIPv6 && answer.hasSeveralNexthops
        let policy = haveSeveral ? try known.unnotified.multipathHashPolicies.get(.v4) : nil
        let isChosenAgain = policy != nil
        var sources: [IPAddress]
        if !isChosenAgain, !leavesVRF, !haveSeveral || !candidate.isDefaultPath, let source = answer.source {
            sources = source.isUnspecified ? [] : [source]
        } else {
            sources = try known.host.sources.get(SourceQuery(query, after: answer))
        }
        // An IPv6 socket keeps the route of a first lookup that is accepted. It only needs a source address.
        if isIPv6, !answer.isRejected {
            guard let source = sources.first else { return (nil, .rejected(.noSourceAddress)) }
            return (nil, leavesVRF ? answer.with { $0.source = sources.count == 1 ? source : nil } : answer)
        }
        if sources.isEmpty { return (nil, answer) }
        var selection = try select(query, after: answer, from: sources, &known)
        if isChosenAgain { selection.answer = selection.answer.with { $0.isNexthopUndecided = false } }
        return selection
    }

    /// The source address that the kernel selects for a bound IPv4 packet without a matching route; `nil` for none.
    ///
    /// The kernel treats the destination as on the link, and selects an address of that link
    /// (`ip_route_output_key_hash_rcu`). A packet from that address can match a route, by a rule of a host with
    /// several uplinks (`ip rule add from`).
    private func sourceOnLink(_ query: RouteQuery, _ packet: RoutingResult) -> IPAddress? {
        guard query.outputInterface != 0, query.source == nil, query.destination.family == .v4,
            case .success(let answer) = packet, let source = answer.source
        else { return nil }
        return source.isUnspecified ? nil : source
    }

    /// Whether the source address that the kernel selects can change the answer.
    private func selectsSource(after answer: RouteAnswer) -> Bool {
        // Only in IPv4 is a rejection final.
        guard case .taken(let match) = answer else { return query.destination.family == .v6 }
        return match.dependsOnSource
    }

    /// Whether the packet of a socket that is bound to a VRF leaves the VRF.
    ///
    /// The socket then has an address of the VRF, and RTM_GETROUTE shows one of the other interface
    /// (`ip6_route_get_saddr`).
    private func leavesVRF(
        _ query: RouteQuery, _ answer: RouteAnswer, _ known: inout Known
    ) throws(Interruption) -> Bool {
        guard query.destination.family == .v6, query.outputInterface != 0, !isOuter,
            let next = answer.nexthops.first?.interfaceIndex,
            try known.link(query.outputInterface)?.isVRF == true
        else { return false }
        return try known.vrf(ofInterface: next) != query.outputInterface
    }

    /// Finds the route for each of the source addresses that the kernel can select.
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
            // The first rejection is more specific.
            let next: Selection = isIPv6 && answer.isRejected ? (nil, first) : (source, answer)
            known.note(lifetime: next.answer.lifetime)
            guard let earlier = found else {
                found = next
                continue
            }
            guard earlier.answer.path != next.answer.path else { continue }
            // Each nexthop of an IPv4 route has a source: the nexthops of all of them are evaluated. A tunnel that
            // sends in any case is not undecided.
            guard !isIPv6 || isOuter, let both = Self.merged(earlier, next) else {
                throw .failed(.undecidedSource(query.from(source)))
            }
            found?.answer = both
        }
        guard let found else { return (nil, first) }
        // With several addresses, it is unknown which one the kernel selects.
        return sources.count > 1 ? (nil, found.answer.with { $0.source = nil }) : found
    }

    /// What becomes of packets that have one source address or another one; `nil` if their routes differ in type.
    private static func merged(_ one: Selection, _ other: Selection) -> RouteAnswer? {
        switch (one.answer, other.answer) {
        case (.rejected, .rejected): one.answer
        case (.taken, .taken): one.answer.merged(with: other.answer)
        case (.taken, .rejected(let rejection)): one.answer.refusing(SourceRefusal(other.source, rejection))
        case (.rejected(let rejection), .taken): other.answer.refusing(SourceRefusal(one.source, rejection))
        }
    }

    /// Ensures that the facts about the interfaces of an answer are known.
    ///
    /// If none of the interfaces exists, they were removed after the answer, and the route with them.
    private func fetchInterfaces(of answer: RouteAnswer, _ known: inout Known) throws(Interruption) {
        if packetMark != nil, answer.nexthops.count > CarrierKey.nexthopLimit {
            throw .failed(.undecidedCarrier)
        }
        guard case .taken(let match) = answer, match.type.leavesHost || detail != .flags else { return }
        let decides = match.type.leavesHost
        var isAnyFound = false
        if match.hasSeveralNexthops {
            isAnyFound = try known.values(of: match.nexthops) { (nexthop, known) throws(Interruption) in
                try known.interfaces.facts(aboutInterface: nexthop.interfaceIndex, detail) != nil
            }.contains(true)
        } else if let index = match.nexthop?.interfaceIndex {
            isAnyFound = try known.interfaces.facts(aboutInterface: index, detail) != nil
        }
        if decides, !isAnyFound, known.beginsAgain() { throw .missing }
        // A report also names the interfaces of the other nexthops.
        if let others = match.entry?.nexthops, others.count > match.nexthops.count {
            _ = try known.all(others) { (nexthop, known) throws(Interruption) in
                try known.interfaces.facts(aboutInterface: nexthop.interfaceIndex, detail)
            }
        }
    }
}

extension ReachabilityError {
    static let undecidedCarrier = undecided(
        "find what carries a tunnel",
        "the route of the outer packets has more than \(CarrierKey.nexthopLimit) nexthops")

    fileprivate static func undecidedEncapsulation(_ words: String) -> ReachabilityError {
        undecided("follow an encapsulation", "routes with encap \(words) cannot be followed")
    }

    /// The error if the kernel can select several source addresses whose answers differ in kind.
    static func undecidedSource(_ query: RouteQuery) -> ReachabilityError {
        undecided(
            "select a source address",
            "the kernel can select \(query.source.map { "\($0)" } ?? "one") or another source address for "
                + "\(query.destination), and they take different routes")
    }
}

extension RouteQuery {
    /// The query with the strict check of a bound IPv6 socket that has a source address.
    var ofSocket: RouteQuery {
        with { $0.isStrict = source != nil && outputInterface != 0 && destination.family == .v6 }
    }

    /// The query with a source address; `nil` if the kernel selects the source address.
    func from(_ source: IPAddress?) -> RouteQuery { with { $0.source = source } }
}

// MARK: - Encapsulation

extension Packet {
    /// Finds the route of the outer packet; `nil` if the route does not encapsulate.
    ///
    /// A second encapsulation is not followed. No answer shows the source address of the outer packet, unless it was
    /// selected before (seg6).
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
        // Other kinds use the source of the tunnel, or select it after the lookup.
        var sources: [IPAddress?] = [nil]
        if encapsulation.kind == .seg6 {
            let found = try known.outerSources(for: destination, through: answer)
            if !found.isEmpty { sources = found }
        }
        let answers = sources.map { findAnswers(query.from($0), &known) }
        // The hash for the nexthops covers the flow label of the inner packet, so all nexthops are possible.
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

    /// The outer packets of the route.
    func outerPackets(_ route: PacketRoute) -> InnerPackets? {
        route.outer.map { InnerPackets(outerQuery($0.value.destination), detail) }
    }

    /// The packets whose route decided: the inner packets or the outer packets.
    func deciding(_ judgement: Judgement, _ route: PacketRoute) -> InnerPackets {
        judgement.isOfOuter ? outerPackets(route) ?? inner : inner
    }
}
