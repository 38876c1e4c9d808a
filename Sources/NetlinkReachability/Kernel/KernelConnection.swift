// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
internal import RoutingModel

/// A query socket, with a cache of interfaces and rules.
///
/// The socket joins the groups of interfaces, IPv4 addresses and rules. After a change, the kernel queues the
/// notification before any reply, so the cache is at least as recent as the last reply. If the kernel refuses the
/// groups, nothing is cached.
final class KernelConnection {
    // The lock around the connection serializes all uses. A run-time check of each use would take a tenth of a
    // query's time.
    @exclusivity(unchecked) private var socket: QuerySocket
    @exclusivity(unchecked) private var cache = LinkCache()
    private let isFollowing: Bool
    private let namespace: NetworkNamespace?

    /// Opens a socket in the calling thread's network namespace.
    init(timeout: Duration) throws(ReachabilityError) {
        namespace = NetworkNamespace.current
        var socket = try QuerySocket(timeout: timeout)
        // The addresses of a dial-up link show whether it has dialled.
        isFollowing =
            socket.follow(.link) && socket.follow(.ipv4Address) && socket.follow(.ipv4Rule)
            && socket.follow(.ipv6Rule)
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

    /// Answers queries, and returns the facts that came with the answers.
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

    /// Whether an IPv4 rule matches on the source address.
    ///
    /// If so, the kernel's second lookup for a socket, with the selected source, can differ from the first.
    private func hasRulesForSources() throws(ReachabilityError) -> Bool {
        if let known = cache.hasRulesForSources { return known }
        return try rules(.v4).contains { $0.source != nil }
    }

    /// Returns the rules of both families; none of a family that the kernel lacks.
    func rules() throws(ReachabilityError) -> [Rule] {
        try catchUp()
        let ipv4 = try rules(.v4)
        do throws(ReachabilityError) {
            return try ipv4 + rules(.v6)
        } catch  where [EAFNOSUPPORT, EOPNOTSUPP].contains(error.number) {
            return ipv4
        }
    }

    private func rules(_ family: IPAddress.Family) throws(ReachabilityError) -> [Rule] {
        if let known = cache.rules[family] { return known }
        let generation = cache.generation
        let rules = try withSocket { (socket) throws(ReachabilityError) in try socket.rules(family: family) }
        if isCurrent(generation) { cache.insert(rules, family) }
        return rules
    }

    /// Returns the facts about an interface; `nil` if it was removed.
    func facts(
        aboutInterface index: UInt32,
        detail: QueryDetail
    ) throws(ReachabilityError) -> InterfaceFacts? {
        try catchUp()
        if let known = cache.facts(index, detail) { return known }
        let generation = cache.generation
        guard let link = try link(index) else { return nil }
        // Only some interfaces can be modems.
        let isModem = link.mayBeModem && DeviceFacts.isCellular(name: link.name, index: link.index)
        let facts = try gatherFacts(about: link, isCellularDevice: isModem, detail: detail)
        if isCurrent(generation) { cache.insert(facts, detail) }
        return facts
    }

    // MARK: Notifications

    /// Reads the queued notifications.
    private func catchUp() throws(ReachabilityError) {
        guard isFollowing else { return }
        try socket.catchUp()
        dropChanged()
    }

    private func dropChanged() {
        let changes = socket.readChanges()
        if changes.any { cache.drop(rules: changes.rules) }
    }

    /// Whether no notification has arrived since a generation, and further notifications are received.
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
        // This query opens a socket in the thread's namespace, which must be the namespace of the other sockets. A
        // failure is ignored: the interface's type then follows from rtnetlink alone.
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
    /// Whether a rule that matches on the source address can give a socket another answer.
    fileprivate var mayMeetRulesForSources: Bool {
        destination.family == .v4 && source == nil && !selectsNexthop
    }
}

/// The facts of one connection about interfaces and rules.
///
/// A fact is dropped when the kernel notifies of its change.
///
/// On an ordinary network card, the kernel can notify of a lost carrier up to a second after the previous change. It
/// marks the routes at the moment of the notification, not earlier.
struct LinkCache {
    /// The most interfaces in the cache.
    ///
    /// The oldest ones are evicted.
    private static let factLimit = 64

    /// The facts about some interfaces.
    ///
    /// All are dropped at every notification, because facts can come from a lower interface or an address.
    private(set) var facts: [InterfaceReading] = []
    /// The Wi-Fi interfaces.
    ///
    /// Dropped at every notification, because they appear, disappear and change their mode as links.
    var wireless: Set<UInt32>?
    /// The rules of the families that were asked for.
    private(set) var rules: [IPAddress.Family: [Rule]] = [:]
    /// Whether an IPv4 rule matches on the source address: each query without a source reads it.
    private(set) var hasRulesForSources: Bool?
    /// The number of notifications.
    ///
    /// A value that was found before a notification is not stored after it.
    private(set) var generation: UInt64 = 0

    /// Returns the facts about an interface, if they are cached with enough detail.
    func facts(_ index: UInt32, _ detail: QueryDetail) -> InterfaceFacts? {
        // Packets leave through few interfaces, so a linear search is as fast as a dictionary.
        facts.first { $0.facts.index == index && $0.suffices(for: detail) }?.facts
    }

    /// Stores the facts about an interface.
    mutating func insert(_ facts: InterfaceFacts, _ detail: QueryDetail) {
        self.facts.removeAll { $0.facts.index == facts.index }
        if self.facts.count == Self.factLimit { self.facts.removeFirst() }
        self.facts.append(InterfaceReading(facts, detail))
    }

    /// Stores the rules of a family.
    mutating func insert(_ rules: [Rule], _ family: IPAddress.Family) {
        self.rules[family] = rules
        if family == .v4 { hasRulesForSources = rules.contains { $0.source != nil } }
    }

    /// Drops the facts that notifications affect.
    mutating func drop(rules: Bool) {
        generation += 1
        facts.removeAll(keepingCapacity: true)
        wireless = nil
        if rules { (self.rules, hasRulesForSources) = ([:], nil) }
    }
}

/// The identity of a network namespace.
///
/// It is the inode of `/proc/thread-self/ns/net`.
package struct NetworkNamespace: Hashable, Sendable {
    /// The inode number that `lsns` and `ls -l /proc/self/ns/net` print.
    package let inode: UInt64

    /// The calling thread's namespace; `nil` if `/proc` cannot be read.
    package static var current: NetworkNamespace? {
        at("/proc/thread-self/ns/net")
    }

    /// The namespace of a process; `nil` if it cannot be read.
    package static func of(process: Int32) -> NetworkNamespace? {
        at("/proc/\(process)/ns/net")
    }

    private static func at(_ path: String) -> NetworkNamespace? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return NetworkNamespace(inode: UInt64(status.st_ino))
    }
}
