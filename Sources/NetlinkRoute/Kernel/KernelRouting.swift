// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import RoutingModel
internal import SystemSupport

/// The live kernel of one network namespace: every question is answered by it, now.
///
/// Safe from any number of threads: each question takes a socket of its own from a small pool. The sockets
/// stay in the namespace in which the first was opened. They must not be used on both sides of a `fork()`
/// without `exec()`.
package final class KernelRouting: Sendable {
    /// A socket that can lie in a pool: a value that cannot be copied cannot lie in an array.
    private final class PooledSocket: Sendable {
        let socket: Locked<QuerySocket>

        init(_ socket: consuming sending QuerySocket) {
            self.socket = Locked(socket)
        }
    }

    /// How many idle sockets are kept.
    ///
    /// More threads than that can ask at once; their sockets are closed after.
    private static let idleLimit = 4

    /// The socket of whoever comes first; `nil` after a conversation in it failed.
    private let first: Locked<QuerySocket?>
    /// Sockets for those who find the first one taken.
    private let idle = Locked<[PooledSocket]>([])
    private let links: LinkCache
    private let namespace: NetworkNamespace?

    private static let processWide = Locked<KernelRouting?>(nil)

    /// The kernel of the namespace in which the process first asked, opened then and kept.
    package static func shared() throws(RoutingFault) -> KernelRouting {
        try processWide.withLock { (kept) throws(RoutingFault) in
            if let kept { return kept }
            let opened = try KernelRouting()
            kept = opened
            return opened
        }
    }

    /// Opens the first socket in the calling thread's network namespace.
    package init() throws(RoutingFault) {
        namespace = NetworkNamespace.current
        first = Locked(try QuerySocket())
        links = LinkCache()
    }

    /// Lends a socket.
    ///
    /// One whose conversation failed is closed: a late answer could still be under way in it.
    package func withSocket<Answer: Sendable>(
        _ body: (inout QuerySocket) throws(RoutingFault) -> Answer
    ) throws(RoutingFault) -> Answer {
        let answer = try first.withLockIfAvailable { (kept) throws(RoutingFault) in
            var socket = if let kept = kept.take() { kept } else { try open() }
            let answer = try body(&socket)
            kept = consume socket
            return answer
        }
        if let answer { return answer }
        return try withPooledSocket(body)
    }

    private func withPooledSocket<Answer: Sendable>(
        _ body: (inout QuerySocket) throws(RoutingFault) -> Answer
    ) throws(RoutingFault) -> Answer {
        let pooled: PooledSocket
        if let kept = idle.withLock({ $0.popLast() }) {
            pooled = kept
        } else {
            pooled = PooledSocket(try open())
        }
        let answer = try pooled.socket.withLock { (socket) throws(RoutingFault) in try body(&socket) }
        idle.withLock { idle in
            if idle.count < Self.idleLimit { idle.append(pooled) }
        }
        return answer
    }

    private func open() throws(RoutingFault) -> QuerySocket {
        try checkNamespace()
        return try QuerySocket()
    }

    /// Listens to the announcements of the namespace that the questions go to.
    package func changes() throws(RoutingFault) -> KernelChanges {
        try checkNamespace()
        return try KernelChanges()
    }

    private func checkNamespace() throws(RoutingFault) {
        guard NetworkNamespace.current == namespace else {
            throw RoutingFault(
                operation: "open a further netlink socket",
                number: EXDEV,
                text: "this thread has moved to another network namespace; open a network source there"
            )
        }
    }
}

extension KernelRouting: RoutingSource {
    /// Asks the kernel for the table's entry, so that all legs are known and their carrier too.
    ///
    /// The kernel makes the same lookup for an entry as for a packet, down to the choice between equal default
    /// routes; only the choice of one leg by hash is left open.
    package func answer(to query: RouteQuery) throws(RoutingFault) -> RouteAnswer {
        try withSocket { (socket) throws(RoutingFault) in
            let answer = try socket.route(query, wantsEntry: true)
            guard case .route(var route) = answer, route.nexthopID != 0, route.nexthops.isEmpty,
                route.type == .unicast
            else { return answer }
            // With nexthop_compat_mode=0 an entry names its nexthop object and nothing else.
            if let legs = try socket.legs(ofNexthop: route.nexthopID), !legs.isEmpty {
                route.nexthops = legs
                return .route(route)
            }
            return try socket.route(query, wantsEntry: false)
        }
    }

    package func outline(for query: RouteQuery) throws(RoutingFault) -> RouteSummary {
        let outline = try withSocket { (socket) throws(RoutingFault) in try socket.outline(query) }
        if let outline { return outline }
        return RouteSummary(try answer(to: query))
    }

    package func traits(ofInterface index: UInt32) throws(RoutingFault) -> InterfaceTraits? {
        let known = links.traits(index)
        if let traits = known.traits { return traits }
        guard let traits = try facts(aboutInterface: index, detail: .flags)?.traits else { return nil }
        links.keep(traits, of: index, generation: known.generation)
        return traits
    }

    /// Asks the kernel which source address a packet would get, and which leg it would take now.
    package func choice(for query: RouteQuery) throws(RoutingFault) -> RouteAnswer {
        try withSocket { (socket) throws(RoutingFault) in
            try socket.route(query, wantsEntry: false)
        }
    }

    package func interfaceIndex(named name: String) throws(RoutingFault) -> UInt32? {
        try withSocket { (socket) throws(RoutingFault) in try socket.link(named: name) }?.index
    }

    package func facts(
        aboutInterface index: UInt32,
        detail: InterfaceDetail
    ) throws(RoutingFault) -> InterfaceFacts? {
        guard detail == .report else { return try freshFacts(index, detail) }
        let known = links.facts(index)
        if let facts = known.facts { return facts }
        guard let facts = try freshFacts(index, detail) else { return nil }
        links.keep(facts, generation: known.generation)
        return facts
    }

    private func freshFacts(
        _ index: UInt32,
        _ detail: InterfaceDetail
    ) throws(RoutingFault) -> InterfaceFacts? {
        guard let entry = try entry(index) else { return nil }
        var facts = InterfaceFacts(
            link: entry.link,
            lowers: try lowers(of: entry.link),
            isCellularDevice: entry.isCellularDevice
        )
        if entry.link.hardwareType == .ppp {
            facts.hasPlaceholderAddresses = try hasPlaceholderAddresses(index)
        }
        if detail == .report, entry.link.mayHideWireless {
            facts.ports = try ports(of: entry.link)
            facts.wirelessIndexes = wirelessIndexes()
        }
        return facts
    }

    private func entry(_ index: UInt32) throws(RoutingFault) -> LinkCache.Entry? {
        let known = links.entry(index)
        if let entry = known.entry { return entry }
        guard let link = try withSocket({ (socket) throws(RoutingFault) in try socket.link(index: index) })
        else { return nil }
        let entry = LinkCache.Entry(
            link: link,
            isCellularDevice: link.mayHideModem && SysfsInterface.isCellular(name: link.name, index: index)
        )
        links.keep(entry, generation: known.generation)
        return entry
    }

    /// Walks down IFLA_LINK.
    ///
    /// Real stacks are a few layers deep; the bound ends a walk over a loop.
    private func lowers(of link: Link) throws(RoutingFault) -> [Link] {
        var lowers: [Link] = []
        var next = link.lowerHere
        while let index = next, lowers.count < 16, let lower = try entry(index)?.link {
            lowers.append(lower)
            next = lower.lowerHere
        }
        return lowers
    }

    /// The interfaces that have this one as their master.
    private func ports(of link: Link) throws(RoutingFault) -> [Link] {
        guard ["bridge", "bond"].contains(link.kind) else { return [] }
        return try allLinks().filter { $0.master == link.index }
    }

    private func wirelessIndexes() -> Set<UInt32> {
        let known = links.wireless()
        if let indexes = known.indexes { return indexes }
        // This question opens a socket where the thread is, which must be where the others are. What cannot be
        // told is no failure: the interface's type is then what rtnetlink shows of it.
        guard NetworkNamespace.current == namespace, let indexes = WirelessInterfaces.indexes() else {
            return []
        }
        links.keep(wireless: indexes, generation: known.generation)
        return indexes
    }

    private func hasPlaceholderAddresses(_ index: UInt32) throws(RoutingFault) -> Bool {
        try addresses(ofInterface: index, family: .v4).contains(where: \.isDialPlaceholder)
    }
}

extension Link {
    /// Whether sysfs may know this interface as a cellular modem although rtnetlink does not show it.
    var mayHideModem: Bool {
        kind.isEmpty && !flags.contains(.loopback)
    }

    /// Whether nl80211 may know this interface, or one that it stands on, as Wi-Fi.
    var mayHideWireless: Bool {
        hardwareType == .ethernet && kind != "veth" && kind != "dummy"
    }
}
