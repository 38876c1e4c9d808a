// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import RoutingModel
internal import SystemSupport

/// The live kernel of one network namespace.
///
/// Any number of threads may use it: each request takes a socket from a small pool. The sockets stay in the
/// namespace in which the first was opened. Use them on one side of a `fork()` only, unless it calls `exec()`.
package final class KernelRouting: Sendable {
    /// A socket as an element of an array, which cannot hold noncopyable values.
    private final class PooledSocket: Sendable {
        let socket: Locked<QuerySocket>

        init(_ socket: consuming sending QuerySocket) {
            self.socket = Locked(socket)
        }
    }

    /// The number of idle sockets that stay open.
    ///
    /// More threads can send requests at once; their sockets are closed afterwards.
    private static let idleLimit = 4

    /// The socket that is used while no other thread uses it; `nil` after a request on it failed.
    private let first: Locked<QuerySocket?>
    /// Sockets for threads that find the first one in use.
    private let idle = Locked<[PooledSocket]>([])
    private let cache: LinkCache
    private let namespace: NetworkNamespace?

    private static let processWide = Locked<KernelRouting?>(nil)

    /// The kernel of the namespace in which the process called this first.
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
        cache = LinkCache()
    }

    /// Passes a socket to the body.
    ///
    /// A socket whose request failed is closed: a late answer could still arrive on it.
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

    /// Opens a feed of the notifications of this namespace.
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
    /// Asks for the table's entry with all its nexthops and their carrier, or for the packet's own choice.
    ///
    /// The kernel makes the same lookup for an entry as for a packet, including the choice between equal default
    /// routes; only the choice of one nexthop by hash is left open.
    package func lookUp(_ query: RouteQuery, detail: LookupDetail) throws(RoutingFault) -> RouteLookup {
        if query.isStrict { return try lookUpStrictly(query, detail) }
        var lookup = try withSocket { (socket) throws(RoutingFault) in try socket.lookUp(query, detail) }
        if query.destination.family == .v4, query.source == nil, detail != .choice, !lookup.isRejected,
            !lookup.dependsOnSource
        {
            lookup.dependsOnSource = try hasRulesForSources()
        }
        return lookup
    }

    /// Looks up as a bound socket with a source address does, which no question can say.
    ///
    /// An answer that leaves through the interface is a bound socket's too. Where another one does, a socket shows
    /// whether there is a route, and a lookup in a copy of the tables shows which: such routes are rare.
    private func lookUpStrictly(
        _ query: RouteQuery,
        _ detail: LookupDetail
    ) throws(RoutingFault) -> RouteLookup {
        var question = query
        question.isStrict = false
        let loose = try lookUp(question, detail: detail)
        let isVRF = try link(query.outputInterface)?.kind == "vrf"
        if isVRF || loose.leaves(through: query.outputInterface) { return loose }
        if case .refused(let rejection) = witness(query) {
            return RouteLookup(RouteSummary.rejected(rejection))
        }
        let tables = SnapshotRouting(try snapshot())
        return try tables.lookUp(query, detail: detail)
    }

    /// Asks the kernel, for a rejected question by connecting a socket, or selects among the addresses of this host
    /// where a socket cannot be given what the question says.
    package func sourceAddresses(
        for query: RouteQuery,
        after lookup: RouteLookup
    ) throws(RoutingFault) -> [IPAddress] {
        guard lookup.isRejected else {
            return try self.lookUp(query, detail: .choice).route?.preferredSource.map { [$0] } ?? []
        }
        guard query.destination.family == .v6 else { return [] }
        switch witness(query) {
        case .connects(let source): return [source]
        case .refused: return []
        case nil:
            return SourceAddressSelection.candidates(
                for: query.destination,
                among: try addresses(family: .v6)
            )
        }
    }

    /// Connects a throw-away socket; `nil` where the question cannot be put to one.
    private func witness(_ query: RouteQuery) -> WitnessSocket.Outcome? {
        NetworkNamespace.current == namespace ? WitnessSocket.connect(query) : nil
    }

    /// Whether an IPv4 policy rule compares the source address, so that the kernel's second lookup, with the source
    /// that it selected, can differ from the first.
    private func hasRulesForSources() throws(RoutingFault) -> Bool {
        let found = try cache.value {
            $0.hasRulesForSources
        } orFind: { () throws(RoutingFault) in
            try rules(family: .v4).contains { $0.source != nil }
        } store: {
            $0.hasRulesForSources = $1
        }
        return found ?? false
    }

    package func addresses() throws(RoutingFault) -> [InterfaceAddress] {
        try addresses(ofInterface: 0)
    }

    package func interfaceIndex(named name: String) throws(RoutingFault) -> UInt32? {
        try withSocket { (socket) throws(RoutingFault) in try socket.link(named: name) }?.index
    }

    package func facts(
        aboutInterface index: UInt32,
        detail: InterfaceDetail
    ) throws(RoutingFault) -> InterfaceFacts? {
        try cache.value {
            $0.facts.facts(index, detail)
        } orFind: { () throws(RoutingFault) in
            try gatherFacts(aboutInterface: index, detail: detail)
        } store: {
            $0.facts.insert($1, detail)
        }
    }
}

extension KernelRouting: LinkDirectory {
    package func link(_ index: UInt32) throws(RoutingFault) -> Link? {
        try cache.value {
            $0.links[index]
        } orFind: { () throws(RoutingFault) in
            try withSocket { (socket) throws(RoutingFault) in try socket.link(index: index) }
        } store: {
            $0.insert($1)
        }
    }

    package func isCellularDevice(_ link: Link) -> Bool {
        let isModem = try? cache.value {
            $0.modems[link.index]
        } orFind: { () throws(RoutingFault) in
            SysfsInterface.isCellular(name: link.name, index: link.index)
        } store: {
            $0.insert(isModem: $1, link.index)
        }
        return isModem ?? false
    }

    package var wirelessIndexes: Set<UInt32> {
        let indexes = try? cache.value {
            $0.wireless
        } orFind: { () throws(RoutingFault) in
            // This question opens a socket in the thread's namespace, which must be that of the other sockets.
            // A failure is none: the interface's type is then what rtnetlink shows of it.
            NetworkNamespace.current == namespace ? WirelessInterfaces.indexes() : nil
        } store: {
            $0.wireless = $1
        }
        return indexes ?? []
    }

    package func ipv4Addresses(ofInterface index: UInt32) throws(RoutingFault) -> [InterfaceAddress] {
        try addresses(ofInterface: index, family: .v4)
    }
}
