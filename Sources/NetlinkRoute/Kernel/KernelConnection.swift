// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
internal import RoutingModel

/// A query socket, with a cache of interfaces and rules.
///
/// The socket joins the groups of interfaces, IPv4 addresses and IPv4 rules. The kernel queues a notification before
/// any reply it sends after the change, so the cache is at least as recent as the last reply. Where the kernel refuses
/// the groups, nothing is cached.
final class KernelConnection {
    // The lock around the connection orders all uses: a check of each at run time would cost a tenth of a query.
    @exclusivity(unchecked) private var socket: QuerySocket
    @exclusivity(unchecked) private var cache = LinkCache()
    private let isFollowing: Bool
    private let namespace: NetworkNamespace?

    /// Opens a socket in the calling thread's network namespace.
    init() throws(ReachabilityError) {
        namespace = NetworkNamespace.current
        var socket = try QuerySocket()
        // The addresses of a dial-up link show whether it has dialled.
        isFollowing = socket.follow(.link) && socket.follow(.ipv4Address) && socket.follow(.ipv4Rule)
        self.socket = socket
    }

    /// Passes the socket to the body.
    func withSocket<Answer>(
        _ body: (inout QuerySocket) throws(ReachabilityError) -> Answer
    ) throws(ReachabilityError) -> Answer {
        let answer = try body(&socket)
        dropChanged()
        return answer
    }

    /// Answers queries, and returns the facts in the cache.
    func answer(
        _ lookups: inout [RouteLookup],
        from first: Int
    ) throws(ReachabilityError) -> [InterfaceReading] {
        try socket.answer(&lookups, from: first)
        dropChanged()
        for index in first..<lookups.count where lookups[index].query.mayMeetRulesForSources {
            guard try hasRulesForSources() else { break }
            lookups[index].result = lookups[index].result.map { $0.with { $0.dependsOnSource = true } }
        }
        return cache.facts
    }

    /// Whether an IPv4 rule compares the source address: the kernel's second lookup for a socket, with the source that
    /// it selected, can differ from the first then.
    private func hasRulesForSources() throws(ReachabilityError) -> Bool {
        if let known = cache.hasRulesForSources { return known }
        let generation = cache.generation
        let rules = try withSocket { (socket) throws(ReachabilityError) in try socket.rules(family: .v4) }
        let isFound = rules.contains { $0.source != nil }
        if isCurrent(generation) { cache.hasRulesForSources = isFound }
        return isFound
    }

    /// Returns the facts about an interface; `nil` when it is gone.
    func facts(
        aboutInterface index: UInt32,
        detail: QueryDetail
    ) throws(ReachabilityError) -> InterfaceFacts? {
        try catchUp()
        if let known = cache.facts(index, detail) { return known }
        let generation = cache.generation
        guard let link = try link(index) else { return nil }
        let facts = try gatherFacts(about: link, isCellularDevice: isCellularDevice(link), detail: detail)
        if isCurrent(generation) { cache.insert(facts, detail) }
        return facts
    }

    /// Whether sysfs calls an interface a cellular modem, which only some can be.
    private func isCellularDevice(_ link: Link) -> Bool {
        link.mayBeModem && DeviceFacts.isCellular(name: link.name, index: link.index)
    }

    // MARK: Notifications

    /// Reads the queued notifications.
    private func catchUp() throws(ReachabilityError) {
        guard isFollowing else { return }
        try socket.catchUp()
        dropChanged()
    }

    private func dropChanged() {
        let changes = socket.takeChanges()
        if changes.any { cache.drop(rules: changes.rules) }
    }

    /// Whether no notification has arrived since a generation, and the next one will be seen.
    private func isCurrent(_ generation: UInt64) -> Bool {
        isFollowing && cache.generation == generation
    }
}

extension KernelConnection: LinkDirectory {
    func link(_ index: UInt32) throws(ReachabilityError) -> Link? {
        try withSocket { (socket) throws(ReachabilityError) in try socket.link(index: index) }
    }

    func links() throws(ReachabilityError) -> [Link] {
        try withSocket { (socket) throws(ReachabilityError) in try socket.links() }
    }

    var wirelessIndexes: Set<UInt32> {
        if let known = cache.wireless { return known }
        // This query opens a socket in the thread's namespace, which must be that of the other sockets. A failure is
        // none: the interface's type is then what rtnetlink shows of it.
        guard NetworkNamespace.current == namespace, let indexes = try? DeviceFacts.wirelessIndexes() ?? []
        else { return [] }
        if isFollowing { cache.wireless = indexes }
        return indexes
    }

    func ipv4Addresses(ofInterface index: UInt32) throws(ReachabilityError) -> [InterfaceAddress] {
        try withSocket { (socket) throws(ReachabilityError) in
            try socket.addresses(ofInterface: index, family: .v4)
        }
    }
}

extension RouteQuery {
    /// Whether a rule that compares the source address can give a socket another answer.
    fileprivate var mayMeetRulesForSources: Bool {
        destination.family == .v4 && source == nil && !selectsNexthop
    }
}
