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
        try withSocket { (socket) throws(RoutingFault) in
            switch detail {
            case .summary:
                if let summary = try socket.summary(query) { return RouteLookup(summary) }
                return RouteLookup(try socket.entry(query))
            case .entry:
                return RouteLookup(try socket.entry(query))
            case .choice:
                return RouteLookup(try socket.route(query, wantsEntry: false))
            }
        }
    }

    /// Asks the kernel by connecting a socket, or selects among the addresses of this host where a socket cannot
    /// be given what the question says.
    package func sourceAddresses(for query: RouteQuery) throws(RoutingFault) -> [IPAddress] {
        if NetworkNamespace.current == namespace, let selection = WitnessSocket.sourceAddress(for: query) {
            return selection.address.map { [$0] } ?? []
        }
        return SourceAddressSelection.candidates(for: query.destination, among: try addresses(family: .v6))
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
