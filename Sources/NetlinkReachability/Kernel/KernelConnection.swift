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

/// What one connection knows of interfaces and rules, each dropped when the kernel notifies of a change of it.
///
/// The kernel notifies of a loss of carrier when it processes it, which on a plain network card can be up to a
/// second after the previous change: it marks the routes at that moment, and not before.
struct LinkCache {
    /// The maximum number of interfaces in the cache; older ones are evicted.
    private static let factLimit = 64

    /// What is known of some interfaces.
    ///
    /// Dropped whole at every notification: facts can come from an interface below, or an address.
    private(set) var facts: [InterfaceReading] = []
    /// The Wi-Fi interfaces, dropped likewise: they come and go, and change their mode, as links.
    var wireless: Set<UInt32>?
    /// Whether an IPv4 rule compares the source address.
    var hasRulesForSources: Bool?
    /// Counts notifications, so that a value found before one is not stored after it.
    private(set) var generation: UInt64 = 0

    /// Returns the facts about an interface, if they have enough detail.
    func facts(_ index: UInt32, _ detail: QueryDetail) -> InterfaceFacts? {
        // Packets leave through few interfaces, so a search is as fast as a table.
        facts.first { $0.facts.index == index && $0.suffices(for: detail) }?.facts
    }

    /// Stores the facts about an interface.
    mutating func insert(_ facts: InterfaceFacts, _ detail: QueryDetail) {
        self.facts.removeAll { $0.facts.index == facts.index }
        if self.facts.count == Self.factLimit { self.facts.removeFirst() }
        self.facts.append(InterfaceReading(facts, detail))
    }

    /// Drops what notifications concern.
    mutating func drop(rules: Bool) {
        generation += 1
        facts.removeAll(keepingCapacity: true)
        wireless = nil
        if rules { hasRulesForSources = nil }
    }
}

/// The identity of a network namespace.
///
/// It is the inode of `/proc/thread-self/ns/net`.
package struct NetworkNamespace: Hashable, Sendable {
    /// The inode number that `lsns` and `ls -l /proc/self/ns/net` print.
    package let inode: UInt64

    /// The calling thread's namespace; `nil` when `/proc` cannot be read.
    package static var current: NetworkNamespace? {
        at("/proc/thread-self/ns/net")
    }

    /// The namespace of a process; `nil` when it cannot be read.
    package static func of(process: Int32) -> NetworkNamespace? {
        at("/proc/\(process)/ns/net")
    }

    private static func at(_ path: String) -> NetworkNamespace? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return NetworkNamespace(inode: UInt64(status.st_ino))
    }
}
