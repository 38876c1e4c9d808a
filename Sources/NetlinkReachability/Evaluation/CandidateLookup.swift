// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import RoutingModel

/// A local address, and the interface that its socket is bound to.
struct LocalEnd {
    /// The address as it was given, with its zone.
    let given: IPAddress
    let interfaceIndex: UInt32?

    var address: IPAddress { given.withoutZone }
}

/// An interface that a socket is bound to.
struct BoundInterface {
    let index: UInt32
    /// The name as the caller gave it, which can be an alternative one.
    let name: String
    let isLoopback: Bool
}

/// What the socket of a lookup is bound to.
struct SocketBinding {
    /// The name of the interface; `nil` for none.
    var interface: String?
    /// The local address; `nil` for none.
    var local: LocalEnd?
    /// What the tables have for a local IPv4 address, once they were asked.
    var localEntry: RoutingResult?
}

/// The lookup of one candidate of a target, from its plan to its answer.
///
/// It does no I/O. ``LookupBatch`` asks for what the step waits for, and passes on what came of it. A socket gets other
/// answers than a plain query: one without a source address selects one. IPv4 sockets look up again with it
/// (`ip_route_connect`), IPv6 sockets only where the first lookup is rejected (`ip6_dst_lookup_tail`).
struct CandidateLookup {
    /// What the lookup waits for, or what came of it.
    enum Step {
        /// Waits for the interface that the socket is bound to.
        case findingInterface(InterfaceReference)
        /// Waits for whether a socket can have the local address. The entry of the tables is `nil` for IPv6.
        indirect case checkingSource(RoutingResult?, then: Step)
        /// Waits for the route of the packet.
        case routing
        /// Waits for the source addresses that the kernel can select, after the answer without one.
        case selectingSource(after: RouteAnswer)
        /// Waits for the routes from each of these source addresses.
        case routingFrom([IPAddress], after: RouteAnswer)
        /// Waits for the facts about the interfaces of an answer.
        case fetchingInterfaces(from: IPAddress?, RouteAnswer)
        /// Waits for the route of the packet that the route puts around this one.
        case routingOuter(IPAddress, fromEach: [IPAddress?], from: IPAddress?, RouteAnswer)
        /// Waits for the source addresses that the kernel can select for that packet, if it does so before it looks up.
        case selectingOuterSource(IPAddress, from: IPAddress?, RouteAnswer)
        /// Waits for the facts about the interfaces of the outer packet.
        indirect case fetchingOuterInterfaces(RouteAnswer, then: Step)
        /// The kernel has answered about a packet with this source address; `nil` where the kernel selects it.
        case answered(from: IPAddress?, RouteAnswer)
        /// Nothing can be sent, and the kernel was not asked or its answer does not count.
        case unreachable(ReachabilityReason)
        /// There is no answer.
        case failed(ReachabilityError)
    }

    /// The address that the lookup is about.
    let candidate: Candidate
    /// How much to find out.
    let detail: QueryDetail
    /// Whether the socket is connected: its packets take one nexthop of several, which the kernel chooses by a hash.
    let isConnected: Bool
    /// Whether a tunnel sends the packets: it looks up once where a socket looks up again with the source address, and
    /// sends where no entry of the tables matches but an interface is given.
    let isOuter: Bool
    /// The mark of the packets that a tunnel sends, ``CarrierLookup/Key/packetMark``; `nil` if they have the one that
    /// they are routed by.
    var packetMark: UInt32?
    /// Whether what carries a tunnel is inferred, if the kernel does not show it.
    var infersCarriers: Bool
    /// The packet, as far as it is known without asking.
    private(set) var query: RouteQuery
    /// What the socket is bound to; `nil` for nothing.
    ///
    /// `Optional` is written out, as in ``RouteMatch``.
    private(set) var binding: Optional<Box<SocketBinding>>
    private(set) var step: Step
    /// The destination and the route of the outer packet, where the route of the packet encapsulates it.
    private(set) var outer: Box<(destination: IPAddress, answer: RouteAnswer)>?
    /// The shortest lifetime of a route among the answers.
    private(set) var lifetime: Int32?
    /// Whether a route was queried.
    private(set) var isAsked = false
    /// Whether the lookup began again after an interface of the answer was gone.
    private(set) var isRepeated = false

    /// A lookup that begins with a step.
    init(
        _ candidate: Candidate,
        _ detail: QueryDetail,
        _ query: RouteQuery,
        bindingTo binding: SocketBinding? = nil,
        isConnected: Bool = false,
        isOuter: Bool = false,
        _ step: Step = .routing
    ) {
        self.candidate = candidate
        self.detail = detail
        self.isConnected = isConnected
        self.isOuter = isOuter
        infersCarriers = detail == .full
        self.query = query
        self.binding = binding.map(Box.init)
        self.step = step
    }

    /// The name of the interface that the socket is bound to.
    var boundInterface: String? { binding?.value.interface }

    /// Notes that the answer can change without a notification, so that it is looked up again after five seconds.
    mutating func noteSilence() {
        lifetime.shorten(to: 500)
    }

    /// Adds what the answer depends on.
    func note(in dependencies: inout RouteDependencies) {
        if let local = binding?.value.local { dependencies.addresses.insert(local.address) }
        if isAsked { dependencies.addresses.insert(candidate.destination.withoutZone) }
        if let outer = outer?.value { dependencies.addresses.insert(outer.destination) }
        dependencies.lifetime.shorten(to: lifetime)
    }
}

// MARK: - What a step waits for

extension CandidateLookup {
    /// The local IPv4 address of the socket, which is looked up together with its packet; `nil` for none.
    private var localIPv4: IPAddress? {
        guard let local = binding?.value.local?.address, local.family == .v4 else { return nil }
        return local
    }

    /// Adds the queries that the step waits for, those of a packet together: the entry, and the packet's own route.
    mutating func appendQueries(to lookups: inout [RouteLookup]) {
        switch step {
        case .routing:
            if let localIPv4 { lookups.append(RouteLookup(RouteQuery(destination: localIPv4))) }
            append(query, to: &lookups)
        case .routingFrom(let sources, _):
            for source in sources { append(query.from(source), to: &lookups) }
        case .routingOuter(let destination, let sources, _, _):
            for source in sources { append(outerQuery(destination).from(source), to: &lookups) }
        default: return
        }
        isAsked = true
    }

    /// The packet that the route puts around this one, with the mark of this one (`seg6_output`).
    func outerQuery(_ destination: IPAddress) -> RouteQuery {
        var outer = RouteQuery(destination: destination)
        outer.mark = packets.mark
        return outer
    }

    private func append(_ query: RouteQuery, to lookups: inout [RouteLookup]) {
        // A tunnel whose packets have the source of its own local end is not as strict as a socket
        // (`ip6_dst_lookup_tail`).
        let hasOwnSource = isOuter && self.query.source != nil
        lookups.append(RouteLookup(hasOwnSource ? query : query.ofSocket))
        lookups.append(RouteLookup(query.forPacket))
    }

    /// Takes the results of its queries.
    ///
    /// - Parameters:
    ///   - lookups: The queries of all lookups of a batch.
    ///   - next: The index of the first one of this lookup; becomes that of the next lookup.
    mutating func takeResults(_ lookups: [RouteLookup], at next: inout Int) {
        switch step {
        case .routing:
            let entry = localIPv4 == nil ? nil : lookups[next].result
            if entry != nil { next += 1 }
            let source = sourceOnLink(lookups, at: next + 1)
            let route = route(lookups, at: &next)
            proceed(
                to: isOuter && query.destination.family == .v4
                    ? Self.step(query, afterOnly: route, &lifetime)
                    : Self.step(
                        query, after: route, onLinkFrom: source, isDefaultPath: candidate.isDefaultPath,
                        &lifetime))
            guard var binding = binding?.value, let entry else { return }
            binding.localEntry = entry
            self.binding = Box(binding)
            step = .checkingSource(entry, then: step)
        case .routingFrom(let sources, let first):
            let results = sources.map { ($0, route(lookups, at: &next)) }
            proceed(to: Self.step(query, after: first, results, &lifetime))
        case .routingOuter(let destination, let sources, let source, let answer):
            let results = sources.map { _ in self.route(lookups, at: &next) }
            do throws(ReachabilityError) {
                let route = try results[0].get()
                for other in results where try other.get().path != route.path {
                    throw .undecidedSource(outerQuery(destination).from(sources[0]))
                }
                lifetime.shorten(to: route.lifetime)
                outer = Box((destination, route))
                step = .fetchingOuterInterfaces(
                    route, then: Self.step(after: answer, from: source, inside: route))
            } catch {
                step = .failed(error)
            }
        default: return
        }
    }

    /// Takes the next step, but for one that failed because the interface that the socket is bound to was removed
    /// meanwhile: there is no such interface then.
    private mutating func proceed(to next: Step) {
        step = next
        guard case .failed(let error) = next, error.number == ENODEV, query.outputInterface != 0 else {
            return
        }
        let name = boundInterface.map(InterfaceReference.init(name:))
        step = .unreachable((name ?? InterfaceReference(index: query.outputInterface)).absence)
    }

    /// The source address of a bound IPv4 packet that no route matches; `nil` for none.
    ///
    /// The kernel takes the destination to be on the link and selects an address there
    /// (`ip_route_output_key_hash_rcu`).
    private func sourceOnLink(_ lookups: [RouteLookup], at packet: Int) -> IPAddress? {
        guard query.outputInterface != 0, query.source == nil, query.destination.family == .v4,
            case .success(let answer) = lookups[packet].result, let source = answer.source
        else { return nil }
        return source.isUnspecified ? nil : source
    }

    /// The route of a packet, from the results of its two queries.
    private func route(_ lookups: [RouteLookup], at next: inout Int) -> RoutingResult {
        // The lookups are not copied: their queries are large.
        let (query, entry, packet) = (lookups[next].query, lookups[next].result, lookups[next + 1].result)
        next += 2
        return Result { () throws(ReachabilityError) in
            let bound = try entry.get().bound(toInterface: query.outputInterface)
            let choice = try packet.get()
            // `ip_route_output_key_hash_rcu` takes the destination to be on the link.
            if isOuter, query.destination.family == .v4, bound.isRejected, query.outputInterface != 0,
                !choice.isRejected
            {
                return choice
            }
            return bound.taken(by: choice, of: query, isConnected: isConnected)
        }
    }

    /// Takes the interface that the socket is bound to; `nil` if it does not exist.
    mutating func take(_ interface: Result<BoundInterface?, ReachabilityError>) {
        guard case .findingInterface(let reference) = step else { return }
        do throws(ReachabilityError) {
            guard let interface = try interface.get() else {
                step = .unreachable(reference.absence)
                return
            }
            query.outputInterface = interface.index
            var binding = SocketBinding(interface: interface.name)
            // The packets of a socket that is bound to another interface than the loopback never arrive.
            if candidate.destination.isLoopback, !interface.isLoopback {
                step = .unreachable(ReachabilityReason(.noRouteOutOfInterface, interface.name))
            } else {
                binding.local = self.binding?.value.local.map {
                    LocalEnd(given: $0.given, interfaceIndex: interface.index)
                }
                step = Self.firstStep(from: binding.local)
            }
            self.binding = Box(binding)
        } catch {
            step = .failed(error)
        }
    }

    /// The first step of a socket whose interface is known.
    static func firstStep(from local: LocalEnd?) -> Step {
        local?.address.family == .v6 ? .checkingSource(nil, then: .routing) : .routing
    }

    /// Takes whether a socket can have the local address: `nil` if it can.
    mutating func take(_ refusal: Result<ReachabilityReason?, ReachabilityError>) {
        guard case .checkingSource(_, let next) = step else { return }
        switch refusal {
        case .success(nil): step = next
        case .success(let reason?): step = .unreachable(reason)
        case .failure(let error): proceed(to: .failed(error))
        }
    }

    /// Takes the source addresses that the kernel can select.
    mutating func take(_ sources: Result<[IPAddress], ReachabilityError>) {
        guard case .selectingSource(let first) = step else { return }
        do throws(ReachabilityError) {
            step = Self.step(query, after: first, from: try sources.get())
        } catch {
            proceed(to: .failed(error))
        }
    }

    /// Takes the source addresses that the kernel can select for the outer packet.
    mutating func takeOuter(_ sources: Result<[IPAddress], ReachabilityError>) {
        guard case .selectingOuterSource(let destination, let source, let answer) = step else { return }
        do throws(ReachabilityError) {
            let sources: [IPAddress?] = try sources.get()
            step = .routingOuter(
                destination, fromEach: sources.isEmpty ? [nil] : sources, from: source, answer)
        } catch {
            step = .failed(error)
        }
    }

    /// Takes whether an interface of the answer exists.
    ///
    /// If none does, they went away after the answer, and the route with them: the lookup begins again, once.
    mutating func take(_ isAnyFound: Result<Bool, ReachabilityError>) {
        let next: Step
        switch step {
        case .fetchingInterfaces(let source, let answer): next = Self.step(after: answer, from: source)
        case .fetchingOuterInterfaces(_, let then): next = then
        default: return
        }
        switch isAnyFound {
        case .success(false) where !isRepeated: (isRepeated, outer, step) = (true, nil, .routing)
        case .success: step = next
        case .failure(let error): step = .failed(error)
        }
    }
}

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
    ///
    /// A resolver can return a zero address too: many hosts files map names to 0.0.0.0.
    package static func candidates(for address: IPAddress) -> [Candidate] {
        let address = address.unmapped
        guard address.isUnspecified else { return [.address(address)] }
        return IPAddress.Family.allCases.flatMap { defaultPath($0, zone: address.zone) }
    }
}

// Candidates and options become lookups: the first step of an evaluation. It asks nothing.
extension CandidateLookup {
    /// Plans the lookup of a candidate for a socket.
    ///
    /// - Parameters:
    ///   - candidate: The candidate.
    ///   - local: The local address that the socket is bound to; `nil` for none.
    ///   - options: The options of the socket.
    ///   - detail: How much to find out.
    ///   - isConnected: Whether the socket is connected.
    ///   - index: The interface that the socket is bound to, 0 for none; `nil` where the options and zones say it.
    ///   - isOuter: Whether a tunnel sends the packets, and no socket.
    init(
        _ candidate: Candidate,
        from local: IPAddress?,
        _ options: ReachabilityOptions,
        _ detail: QueryDetail,
        isConnected: Bool = false,
        boundTo index: UInt32? = nil,
        isOuter: Bool = false
    ) {
        let destination = candidate.destination
        var query = RouteQuery(destination: destination.withoutZone, source: local?.withoutZone)
        options.apply(to: &query)
        query.wantsEntry = detail == .full
        let interface: InterfaceReference? =
            if let index { index == 0 ? nil : InterfaceReference(index: index) } else {
                InterfaceReference(of: destination, from: local, options)
            }
        let end = local.map { LocalEnd(given: $0, interfaceIndex: nil) }
        let step: Step =
            if let interface {
                .findingInterface(interface)
            } else if destination.needsZone {
                .unreachable(ReachabilityReason(.needsInterface, destination.description))
            } else {
                Self.firstStep(from: end)
            }
        self.init(
            candidate, detail, query, bindingTo: end.map { SocketBinding(local: $0) },
            isConnected: isConnected, isOuter: isOuter, step)
    }
}

// MARK: - Packets inside of tunnels

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

extension CandidateLookup {
    /// Its packets, as those inside of tunnels.
    var packets: InnerPackets { InnerPackets(query, detail, mark: packetMark) }

    /// The packets that the route puts around its own; `nil` if it puts none around them.
    var outerPackets: InnerPackets? {
        outer.map { InnerPackets(outerQuery($0.value.destination), detail) }
    }

    /// Its packets with their route, and the packets around them with theirs.
    var routes: [(packets: InnerPackets, answer: RouteAnswer)] {
        guard case .answered(_, let answer) = step else { return [] }
        guard let outerPackets, let outer else { return [(packets, answer)] }
        return [(packets, answer), (outerPackets, outer.value.answer)]
    }
}
