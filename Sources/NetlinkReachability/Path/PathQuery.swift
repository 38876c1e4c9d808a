// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// The query for the default path of a socket, through interfaces of some types.
final class PathQuery: Query {
    /// The only type of interface that the path can use; `nil` for any.
    private let required: NetworkInterface.InterfaceType?
    /// The types that the path must not use.
    private let prohibited: Set<NetworkInterface.InterfaceType>
    /// The socket.
    private let options: ReachabilityOptions
    /// The cost of interfaces.
    private let metering: NetworkMetering
    /// Whether to find the identity of the network, too.
    private let identifies: Bool

    init(
        required: NetworkInterface.InterfaceType? = nil,
        prohibited: Set<NetworkInterface.InterfaceType> = [],
        options: ReachabilityOptions = ReachabilityOptions(),
        metering: NetworkMetering = .unmetered,
        identifies: Bool = false
    ) {
        (self.required, self.prohibited) = (required, prohibited)
        (self.options, self.metering, self.identifies) = (options, metering, identifies)
    }

    var description: String { "default path" }

    var inputs: QueryInputs { identifies ? [.nameservers, .neighbours] : .nameservers }

    /// Whether the path can use only some types of interfaces.
    var restrictsTypes: Bool {
        required != nil || !prohibited.isEmpty
    }

    /// Whether the path can use an interface.
    func admits(_ interface: NetworkInterface) -> Bool {
        guard required ?? interface.type == interface.type else { return false }
        return !prohibited.contains(interface.type)
    }

    /// Whether the paths are equal.
    ///
    /// Another reason for the same path is not a change.
    func areSame(_ one: NetworkPath, _ other: NetworkPath) -> Bool {
        one.withoutReason == other.withoutReason
    }
}

/// The query for the identity of the default path's network.
final class IdentityQuery: Query {
    private let query: PathQuery

    init(query: PathQuery) {
        self.query = query
    }

    var description: String { "identity of the network" }

    var inputs: QueryInputs { query.inputs }

    /// Without the identity itself, because traces and debug descriptions are logged.
    func words(_ answer: NetworkIdentity?) -> String { answer == nil ? "unknown" : "known" }

    func value(_ known: inout Known) throws(Interruption) -> NetworkIdentity? {
        try query.value(&known).identity
    }
}

// The default path is found with the same queries and rules as its flags.
//
// The queries for the default path are sent for an unbound socket, and for a socket that is bound to each interface
// that is up, all in one batch. No routing table is read: a host can have a million routes, and only the kernel
// decides by its tables, rules and metrics.
extension PathQuery {
    /// The default path in one family.
    private struct FamilyPath {
        /// The kernel's choice.
        var evaluation: Evaluation
        /// The exits of each interface, for a socket that is bound to that interface.
        var bound: [PathExit]
        /// The nexthops that packets use, the deciding one first.
        var exits: [PathExit]

        /// The rank of the best exit; 0 if a restriction excludes all exits.
        var rank: Int { exits.first?.flags.rank ?? 0 }
    }

    /// A packet of the default path from a socket that is bound to one interface.
    private typealias BoundPacket = (link: Link, packet: Packet)

    /// Finds the default path of each family, the default path of each interface in each family, and the name
    /// servers.
    func value(_ known: inout Known) throws(Interruption) -> NetworkPath {
        let links = try known.host.links.get()
        let interfaces = candidates(links)
        let found: Result<[FamilyPath], ReachabilityError>? = known.attempt { (known) throws(Interruption) in
            try known.values(of: IPAddress.Family.allCases) { (family, known) throws(Interruption) in
                try path(family, through: interfaces, &known)
            }
        }
        let hasInterface = boundInterface == nil || !interfaces.isEmpty
        let nameservers = known.attempt { (known) throws(Interruption) in
            try findNameservers(hasInterface: hasInterface, &known)
        }
        guard let found, let nameservers else { throw .missing }
        let paths = try known.value(of: found)
        let rank = paths.map(\.rank).max() ?? 0
        // The first path of the highest rank decides.
        let used = rank == 0 ? [] : paths.filter { $0.rank == rank }.flatMap(\.exits)
        let flags = used.first?.flags ?? []
        let others = paths.flatMap(\.bound).filter { admits($0.interface) }
        let exits = used + others.sorted(by: PathExit.isPreferred)
        let excluded = restrictsTypes ? ReachabilityReason(.noAdmittedInterface) : nil
        let carriers: [TunnelCarrier] = try known.values(of: used) { (exit, known) throws(Interruption) in
            try known.carriers(ofInterface: exit.interface.index, (exit.packets, exit.route))
        }.flatMap(\.self)
        let usedInterfaces = used.map(\.interface).withoutRepeats()
        let cost = metering.cost(of: usedInterfaces + carriers.compactMap(\.interface))
        let servers = try known.value(of: nameservers)
        var reachesNameserver: Bool?
        if servers.addresses != nil { reachesNameserver = rank > 0 ? try servers.isReached.get() : false }
        var result = NetworkPath(
            status: flags.rank == 2 ? .satisfied : flags.rank == 1 ? .requiresConnection : .unsatisfied,
            availableInterfaces: exits.map(\.interface).withoutRepeats(),
            usedInterfaces: usedInterfaces,
            usedGateways: used.compactMap { exit in
                exit.gateway.map {
                    Neighbour.Key(interfaceIndex: exit.interface.index, address: $0)
                }
            },
            gateways: exits.compactMap(\.gateway).withoutRepeats(),
            nameservers: servers.addresses ?? [],
            supportsIPv4: rank > 0 && paths[0].rank == rank,
            supportsIPv6: rank > 0 && paths[1].rank == rank,
            reachesNameserver: reachesNameserver,
            isExpensive: cost.contains(.expensive),
            isConstrained: cost.contains(.constrained),
            carriers: carriers.withoutRepeats(),
            flags: flags,
            reason: used.first?.reason ?? excluded ?? unsatisfied(paths)
        )
        if identifies {
            for gateway in result.usedGateways { known.note(address: gateway.address) }
            result.identity = try NetworkIdentity(of: result, &known)
        }
        return result
    }

    private var boundInterface: InterfaceReference? {
        InterfaceReference(of: .anyV4, from: options.localAddress, options)
    }

    /// The interfaces that the socket can use: if it is bound to one, only that one.
    private func candidates(_ links: [Link]) -> [Link] {
        guard let bound = boundInterface else { return links }
        let named = links.filter { $0.name == bound.name }
        return named.isEmpty ? links.filter { $0.index == bound.index } : named
    }

    /// The packets of one family from sockets bound to each interface that the default path can use.
    private func boundPackets(_ family: IPAddress.Family, through links: [Link]) -> [BoundPacket] {
        let candidates = Candidate.defaultPath(family)
        return links.filter(\.canLeadOut).sorted { $0.index < $1.index }.flatMap { link in
            candidates.map { candidate in
                var query = RouteQuery(destination: candidate.destination, outputInterface: link.index)
                options.apply(to: &query)
                query.source = options.localAddress?.withoutZone
                query.wantsEntry = true
                return (link, Packet(candidate, .full, query, boundTo: link.name))
            }
        }
    }

    /// The reason of the family that has a default route, else of the first family that the socket uses.
    private func unsatisfied(_ paths: [FamilyPath]) -> ReachabilityReason {
        let evaluations = paths.map(\.evaluation)
        let asked = evaluations.filter { $0.kind != .excludedFamily }
        let best = asked.dropFirst().reduce(asked.first ?? evaluations[0]) {
            $1.judgement.replaces($0.judgement) ? $1 : $0
        }
        return best.reason
    }

    /// The path of packets of one family: the kernel's choice; or, if the query excludes that choice, the best
    /// allowed exit.
    private func path(
        _ family: IPAddress.Family,
        through links: [Link],
        _ known: inout Known
    ) throws(Interruption) -> FamilyPath {
        let unbound = known.attempt { (known) throws(Interruption) in
            try known.evaluation(
                of: Candidate.defaultPath(family), from: options.localAddress, options, .full)
        }
        // A socket that is bound to an address uses only the family of that address.
        let isUsed =
            options.admits(family) && (options.localAddress?.family ?? family) == family
        let packets = isUsed ? boundPackets(family, through: links) : []
        let exits: Result<[[PathExit]], ReachabilityError>? = known.attempt { (known) throws(Interruption) in
            try known.values(of: packets) { (bound, known) throws(Interruption) in
                // If the socket is bound to a VRF, its packets leave through one of the VRF's ports.
                try known.exits(try known.evaluation(of: bound.packet)).filter {
                    $0.interface.index == bound.link.index
                }
            }
        }
        guard let unbound, let exits else { throw .missing }
        let evaluation = try known.value(of: unbound)
        var bound: [PathExit] = []
        // The kernel does not reject an IPv6 source address that is not the host's, so these exits would be wrong.
        if evaluation.kind != .notOwnAddress { bound = try known.value(of: exits).flatMap(\.self) }
        var chosen: [PathExit] = []
        // A host whose routes send the two halves of the address space to different exits uses both exits.
        for half in evaluation.all where half.rank == evaluation.rank { chosen += try known.exits(half) }
        chosen = chosen.filter { admits($0.interface) }
        let best = bound.filter { admits($0.interface) }.min(by: PathExit.isPreferred)
        var path = FamilyPath(evaluation: evaluation, bound: bound, exits: chosen)
        if restrictsTypes, let best, best.flags.rank > path.rank { path.exits = [best] }
        return path
    }

    /// The name servers, `nil` if none are known; and whether the resolver can send to one of them.
    private func findNameservers(
        hasInterface: Bool,
        _ known: inout Known
    ) throws(Interruption) -> (addresses: [IPAddress]?, isReached: Result<Bool, Interruption>) {
        let addresses = try known.unnotified.nameservers.get()
        guard hasInterface else { return (addresses, .success(false)) }
        // The resolver's sockets are unbound sockets of the same user.
        var resolver = ReachabilityOptions()
        resolver.user = options.user
        let flags = try known.all(addresses ?? []) { (address, known) throws(Interruption) in
            try known.flags(of: .address(address), resolver)
        }
        for result in flags {
            switch result {
            case .success(let flags) where flags.rank > 0: return (addresses, .success(true))
            case .success: continue
            case .failure(let error): return (addresses, .failure(.failed(error)))
            }
        }
        return (addresses, .success(false))
    }
}

extension Link {
    /// Whether the default path of this host can use the interface.
    fileprivate var canLeadOut: Bool {
        flags.contains(.up) && !flags.contains(.loopback) && !isVRF && !isVRFPort
    }
}

// MARK: - Exits

/// A nexthop of the default path that packets of one family can take.
struct PathExit: Hashable, Sendable {
    var interface: NetworkInterface
    /// Packets that take this exit, as examples for others.
    var packets: InnerPackets
    /// The route to this exit; `nil` if it is not known.
    var route: Route?
    /// The gateway.
    ///
    /// A link-local gateway has the interface as its zone.
    var gateway: IPAddress?
    /// The metric of the default route.
    var metric: UInt32
    var flags: ReachabilityFlags
    var reason: ReachabilityReason
}

extension PathExit {
    /// Orders exits of bound sockets: exits that need no connection first, then by metric, then by index.
    static func isPreferred(_ one: PathExit, _ other: PathExit) -> Bool {
        (-one.flags.rank, one.metric, one.interface.index)
            < (-other.flags.rank, other.metric, other.interface.index)
    }
}

extension Known {
    /// The nexthops of the highest rank that packets can use, the deciding one first.
    mutating func exits(_ evaluation: Evaluation) throws(Interruption) -> [PathExit] {
        guard evaluation.rank > 0, let candidate = evaluation.candidate, let query = evaluation.query,
            let route = evaluation.answer?.entry, evaluation.facts != nil
        else { return [] }
        var others: [Evaluation] = []
        // The nexthop of the outer packet is not among the nexthops of the answer.
        let nexthops = evaluation.judgement.isOfOuter ? [] : evaluation.answer?.nexthops ?? []
        for nexthop in nexthops where nexthop != evaluation.nexthop {
            let single = RouteAnswer.taken(RouteMatch(route.type, nexthop))
            var other = evaluation
            let traits = try traits(ofInterface: nexthop.interfaceIndex, InnerPackets(query, .full))
            other.judgement = ReachabilityRules.judge(single, of: candidate, query) { _ in traits }
            other.facts = try interfaces.facts(aboutInterface: nexthop.interfaceIndex, .full)
            if other.rank == evaluation.rank { others.append(other) }
        }
        others.sort { ($0.facts?.index ?? 0) < ($1.facts?.index ?? 0) }
        return ([evaluation] + others).compactMap { PathExit($0, route.priority) }
    }
}

extension PathExit {
    fileprivate init?(_ evaluation: Evaluation, _ metric: UInt32) {
        guard let facts = evaluation.facts, let nexthop = evaluation.nexthop,
            let packets = evaluation.packets
        else { return nil }
        interface = NetworkInterface(facts)
        self.packets = packets
        route = evaluation.enteredRoute
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

// MARK: - Queries

extension NetworkQuery<NetworkPath> {
    /// The default path of this host, through interfaces of some types.
    ///
    /// The path follows the rules of the flags. With a restriction, it is satisfied if a socket that is bound to such
    /// an interface can send to any address. If the path could not be found, the result is a failure, never an
    /// unsatisfied path. Another reason for the same path is not a change. What it cannot know: see ``NetworkPath``.
    ///
    /// Apple's counterpart is `NWPathMonitor`.
    ///
    /// - Parameters:
    ///   - required: The only type that the path can use; `nil` for any.
    ///   - prohibited: The types that the path must not use.
    ///   - options: The socket whose path is found. While the options' interface does not exist, the path is
    ///     unsatisfied.
    ///   - metering: Decides which interfaces are expensive or constrained.
    /// - Returns: The query.
    public static func path(
        requiring required: NetworkInterface.InterfaceType? = nil,
        prohibiting prohibited: Set<NetworkInterface.InterfaceType> = [],
        options: ReachabilityOptions = ReachabilityOptions(),
        metering: NetworkMetering = .unmetered
    ) -> Self {
        Self(
            PathQuery(required: required, prohibited: prohibited, options: options, metering: metering))
    }
}

extension NetworkQuery<NetworkIdentity?> {
    /// The identity of the default path's network, whenever it changes; `nil` while nothing is known: in recordings
    /// and simulated networks, on tunnels, and before the first packet to a gateway.
    ///
    /// A gateway counts once the kernel knows its hardware address. The kernel notifies of that and of each change,
    /// so a move to another network is delivered even if the IP addresses are the same. Nothing is polled, unless the
    /// kernel refuses these notifications. The first such observation makes the monitor read notifications of
    /// neighbours, which are frequent in large networks, for as long as the monitor runs.
    ///
    /// The identity locates the user: see ``NetworkIdentity``. Traces and debug descriptions do not contain it.
    ///
    /// - Parameters:
    ///   - required: The only type that the path can use; `nil` for any.
    ///   - prohibited: The types that the path must not use.
    ///   - options: The socket whose path is found.
    /// - Returns: The query.
    public static func identity(
        requiring required: NetworkInterface.InterfaceType? = nil,
        prohibiting prohibited: Set<NetworkInterface.InterfaceType> = [],
        options: ReachabilityOptions = ReachabilityOptions()
    ) -> Self {
        let query = PathQuery(
            required: required, prohibited: prohibited, options: options, identifies: true)
        return Self(IdentityQuery(query: query))
    }
}

extension NetworkQuery<NetworkPath> {
    /// The default path of a socket, and the identity of its network if requested.
    package static func path(
        options: ReachabilityOptions,
        metering: NetworkMetering,
        identifies: Bool
    ) -> Self {
        Self(PathQuery(options: options, metering: metering, identifies: identifies))
    }
}
