// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
internal import RoutingModel

/// A socket for questions, and what it knows of the interfaces.
///
/// The socket follows interfaces, IPv4 addresses and IPv4 rules. A notification queues up ahead of the answers that
/// the kernel gives after the change, so that the facts are as new as the answer that was read last, without a look
/// at a second socket. Where the kernel refuses the groups, nothing is cached.
final class KernelConnection {
    private var socket: QuerySocket
    private var cache = LinkCache()
    private let isFollowing: Bool
    private let namespace: NetworkNamespace?

    /// Opens a socket in the calling thread's network namespace.
    init() throws(RoutingFault) {
        namespace = NetworkNamespace.current
        var socket = try QuerySocket()
        // The addresses of a dial-up link show whether it has dialled.
        isFollowing = socket.follow(.link) && socket.follow(.ipv4Address) && socket.follow(.ipv4Rule)
        self.socket = socket
    }

    /// Passes the socket to the body.
    func withSocket<Answer>(
        _ body: (inout QuerySocket) throws(RoutingFault) -> Answer
    ) throws(RoutingFault) -> Answer {
        let answer = try body(&socket)
        dropChanged()
        return answer
    }

    /// Looks up a packet's route, and adds what is known of its interface.
    func lookUp(_ query: RouteQuery, _ detail: LookupDetail) throws(RoutingFault) -> RouteLookup {
        var lookup = try socket.lookUp(query, detail)
        dropChanged()
        try noteRules(query, &lookup)
        if case .entry(_, let nexthop?) = lookup.summary, let known = cache.facts[nexthop.interfaceIndex] {
            (lookup.facts, lookup.factsDetail) = known
        }
        return lookup
    }

    /// Answers a plain question from one round trip and the cache; `nil` where that is not enough.
    func plainAnswer(about destination: IPAddress) throws(RoutingFault) -> PlainAnswer? {
        var answer = cnl_route()
        let query = RouteQuery(destination: destination)
        let rejection = try socket.lookUp(query, wantsEntry: true, &answer)
        dropChanged()
        if let rejection { return plainAnswer(about: query, rejection) }
        return plainAnswer(about: query, answer, .flags)
    }

    /// Answers several plain questions, which go to the kernel in one datagram.
    func plainAnswers(
        about destinations: [IPAddress],
        detail: InterfaceDetail,
        _ body: (PlainAnswer?) -> Void
    ) throws(RoutingFault) {
        try socket.askForEntries(destinations)
        var answer = cnl_route()
        var isOverrun = false
        for destination in destinations {
            let result = isOverrun ? .overrun : try socket.nextEntry(&answer)
            dropChanged()
            let query = RouteQuery(destination: destination)
            switch result {
            case .entry: body(plainAnswer(about: query, answer, detail))
            case .rejected(let rejection): body(plainAnswer(about: query, rejection))
            case .refused: body(nil)
            case .overrun:
                isOverrun = true
                body(nil)
            }
        }
    }

    private func plainAnswer(
        about query: RouteQuery,
        _ rejection: RouteRejection
    ) -> PlainAnswer? {
        query.destination.family == .v4 ? .rejected(rejection) : nil
    }

    private func plainAnswer(
        about query: RouteQuery,
        _ answer: borrowing cnl_route,
        _ detail: InterfaceDetail
    ) -> PlainAnswer? {
        let type = RouteType(rawValue: answer.type)
        guard answer.nexthops == nil, answer.nexthop.interface_index != 0,
            query.destination.family == .v6 || cache.hasRulesForSources == false,
            !query.dependsOnSource(type, origin: answer.protocol)
        else { return nil }
        let nexthop = Nexthop(answer.nexthop)
        if detail == .report {
            guard let known = cache.facts[nexthop.interfaceIndex], known.detail == .report else { return nil }
            return .route(type, nexthop, known.facts.value.traits, known.facts)
        }
        if type == .local { return .route(type, nexthop, InterfaceTraits(), nil) }
        guard let traits = cache.facts.traits(nexthop.interfaceIndex) else { return nil }
        return .route(type, nexthop, traits, nil)
    }

    /// Notes that the kernel's second lookup for an IPv4 socket, with the source that it selected, can differ from the
    /// first: a policy rule compares the source address.
    private func noteRules(_ query: RouteQuery, _ lookup: inout RouteLookup) throws(RoutingFault) {
        guard query.destination.family == .v4, query.source == nil, !lookup.isRejected else { return }
        if !lookup.dependsOnSource { lookup.dependsOnSource = try hasRulesForSources() }
    }

    private func hasRulesForSources() throws(RoutingFault) -> Bool {
        if let known = cache.hasRulesForSources { return known }
        let generation = cache.generation
        let rules = try withSocket { (socket) throws(RoutingFault) in try socket.rules(family: .v4) }
        let isFound = rules.contains { $0.source != nil }
        if isCurrent(generation) { cache.hasRulesForSources = isFound }
        return isFound
    }

    /// Returns the facts about an interface; `nil` when it is gone.
    func facts(
        aboutInterface index: UInt32,
        detail: InterfaceDetail
    ) throws(RoutingFault) -> InterfaceFacts? {
        try catchUp()
        if let known = cache.facts[index], detail == .flags || known.detail == .report {
            return known.facts.value
        }
        let generation = cache.generation
        let facts = try gatherFacts(aboutInterface: index, detail: detail)
        if let facts, isCurrent(generation) { cache.facts.insert(facts, detail) }
        return facts
    }

    // MARK: Notifications

    /// Reads the queued notifications.
    private func catchUp() throws(RoutingFault) {
        guard isFollowing else { return }
        try socket.catchUp()
        dropChanged()
    }

    private func dropChanged() {
        if let changes = socket.takeChanges() { cache.drop(changes) }
    }

    /// Whether no notification has arrived since a generation, and the next one will be seen.
    private func isCurrent(_ generation: UInt64) -> Bool {
        isFollowing && cache.generation == generation
    }
}

extension KernelConnection: LinkDirectory {
    func link(_ index: UInt32) throws(RoutingFault) -> Link? {
        if let known = cache.link(index) { return known }
        let generation = cache.generation
        let link = try withSocket { (socket) throws(RoutingFault) in try socket.link(index: index) }
        if let link, isCurrent(generation) { cache.insert(link) }
        return link
    }

    func links() throws(RoutingFault) -> [Link] {
        try withSocket { (socket) throws(RoutingFault) in try socket.links() }
    }

    func isCellularDevice(_ link: Link) -> Bool {
        if let known = cache.isModem(link.index) { return known }
        let isModem = SysfsInterface.isCellular(name: link.name, index: link.index)
        if isFollowing { cache.note(isModem: isModem, link.index) }
        return isModem
    }

    var wirelessIndexes: Set<UInt32> {
        if let known = cache.wireless { return known }
        // This question opens a socket in the thread's namespace, which must be that of the other sockets. A failure is
        // none: the interface's type is then what rtnetlink shows of it.
        guard NetworkNamespace.current == namespace, let indexes = WirelessInterfaces.indexes() else {
            return []
        }
        if isFollowing { cache.wireless = indexes }
        return indexes
    }

    func ipv4Addresses(ofInterface index: UInt32) throws(RoutingFault) -> [InterfaceAddress] {
        try withSocket { (socket) throws(RoutingFault) in
            try socket.addresses(ofInterface: index, family: .v4)
        }
    }
}
