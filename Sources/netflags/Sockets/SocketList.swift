// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import NetlinkReachability
import RoutingModel
import SystemSupport

/// A connected socket of this host, and its process if that is known.
struct ListedSocket {
    let socket: ConnectedSocket
    /// The name of the interface that the socket is bound to; `nil` if it is not bound, or the interface no longer
    /// exists.
    let interface: String?
    let process: RunningProcess?
    /// The TCP connections of an MPTCP connection; empty for other sockets.
    var subflows: [ListedSocket] = []

    var flow: ConnectedSocket.Flow { socket.flow }

    var transport: NetworkConnection.TransportProtocol {
        flow.ipProtocol == UInt16(IPPROTO_UDP) ? .udp : .tcp
    }

    var local: IPAddress { zoned(flow.local) }
    var remote: IPAddress { zoned(flow.remote) }

    /// The address; a link-local address is scoped to the interface that the socket is bound to.
    private func zoned(_ address: IPAddress) -> IPAddress {
        guard let interface, address.isLinkLocal else { return address }
        var address = address
        address.zone = ZoneIdentifier(name: interface)
        return address
    }

    func connection() throws(ReachabilityError) -> NetworkConnection {
        var options = ReachabilityOptions()
        options.mark = flow.mark
        options.user = flow.user
        options.typeOfService = flow.typeOfService
        var connection = try NetworkConnection(
            transport: transport,
            local: local,
            localPort: flow.localPort,
            remote: remote,
            remotePort: flow.remotePort,
            options: options,
            interfaceIndex: flow.boundInterface
        )
        connection.isTransparent = flow.isTransparent
        connection.subflows = try subflows.map { (subflow) throws(ReachabilityError) in
            try subflow.connection()
        }
        return connection
    }
}

/// Lists the connected sockets of this network namespace, without sockets that no program has open.
///
/// The TCP sockets of an MPTCP connection are listed as its subflows only. A kernel that does not list MPTCP sockets
/// does not tell which TCP sockets are subflows.
struct SocketList {
    let source: NetworkSource
    /// The process whose sockets are listed; `nil` for all processes.
    var pid: Int32?
    /// Whether the process of each socket is determined.
    var namesProcesses = true

    /// Lists the sockets in batches.
    ///
    /// - Parameter body: Receives up to 256 sockets.
    /// - Throws: Errors of the body; ``ReachabilityError`` if the sockets cannot be listed, as on a kernel without
    ///   inet_diag.
    func read(_ body: ([ListedSocket]) throws -> Void) throws {
        let processes = namesProcesses ? try RunningProcess.byInode(pid: pid) : [:]
        let names = Dictionary(
            try source.facts.routing.links().map { ($0.index, $0.name) }, uniquingKeysWith: { $1 })
        var batch: [ListedSocket] = []
        var isAnyListed = false
        var failure: (any Error)?
        func deliverBatch() {
            isAnyListed = isAnyListed || !batch.isEmpty
            do { try body(batch) } catch { failure = error }
            batch.removeAll(keepingCapacity: true)
        }
        func add(_ listed: ListedSocket) {
            guard failure == nil else { return }
            batch.append(listed)
            if batch.count == 256 { deliverBatch() }
        }
        var multipath = MultipathSockets()
        for ipProtocol in [ConnectedSocket.mptcp, UInt16(IPPROTO_TCP), UInt16(IPPROTO_UDP)] {
            for family in IPAddress.Family.allCases {
                try ConnectedSocket.list(family, ipProtocol: ipProtocol) { socket in
                    let process = processes[socket.inode]
                    if socket.inode == 0, ipProtocol == ConnectedSocket.mptcp { multipath.close(socket) }
                    // A socket that is being closed can have no remote address. No program has a socket without an
                    // inode open: the socket was closed, or is not accepted yet.
                    guard failure == nil, pid == nil || process != nil, !socket.flow.remote.isUnspecified,
                        socket.inode != 0
                    else { return }
                    let interface = names[socket.flow.boundInterface]
                    let listed = ListedSocket(socket: socket, interface: interface, process: process)
                    if !multipath.absorb(listed) { add(listed) }
                }
            }
        }
        // The subflows of a connection can be of both families.
        multipath.connections.forEach(add)
        if failure == nil { deliverBatch() }
        if let failure { throw failure }
        // A process can have sockets of another network namespace.
        if let pid, !isAnyListed { try RunningProcess.checkNamespace(of: pid) }
    }

    /// The remote addresses of the connected sockets, each once, without those of the loopback interface.
    func remotes() throws -> [IPAddress] {
        var found: Set<IPAddress> = []
        try read { sockets in
            let remotes = sockets.flatMap { [$0] + $0.subflows }.map(\.remote)
            found.formUnion(remotes.filter { !$0.isLoopback })
        }
        return found.sorted()
    }
}

/// MPTCP connections, and the TCP sockets that are their subflows, which have the inode of the MPTCP socket.
private struct MultipathSockets {
    private var sockets: [ListedSocket] = []
    private var indices: [UInt32: Int] = [:]
    /// The tokens of connections that no program has open.
    private var closed: Set<UInt32> = []

    /// The connections that have subflows, which are sorted by their local addresses and ports.
    ///
    /// A connection that closes during the listing, or whose last subflow has ended, has no subflow.
    var connections: [ListedSocket] {
        sockets.filter { !$0.subflows.isEmpty }.map { listed in
            var listed = listed
            listed.subflows.sort { ($0.local, $0.flow.localPort) < ($1.local, $1.flow.localPort) }
            return listed
        }
    }

    /// Stores the token of an MPTCP socket that no program has open: its subflows still have an inode.
    mutating func close(_ socket: ConnectedSocket) {
        if socket.token != 0 { closed.insert(socket.token) }
    }

    /// Keeps an MPTCP socket, or a subflow of a known MPTCP socket.
    ///
    /// - Returns: Whether the socket is an MPTCP socket or a subflow, including a subflow of a closed connection.
    mutating func absorb(_ listed: ListedSocket) -> Bool {
        if closed.contains(listed.socket.token) { return true }
        if listed.flow.ipProtocol == ConnectedSocket.mptcp {
            indices[listed.socket.inode] = sockets.count
            sockets.append(listed)
            return true
        }
        guard let index = indices[listed.socket.inode] else { return false }
        sockets[index].subflows.append(listed)
        return true
    }
}

// MARK: - Processes

// The processes that have sockets open.
extension RunningProcess {
    /// The processes by the inodes of their sockets; a shared socket belongs to the process with the lowest number.
    ///
    /// Without privilege `/proc` shows the descriptors of the caller's processes only.
    ///
    /// - Parameter only: The only process to read; `nil` for all processes.
    /// - Returns: The processes.
    /// - Throws: ``ReachabilityError`` if the only process cannot be read.
    static func byInode(pid only: Int32?) throws(ReachabilityError) -> [UInt32: RunningProcess] {
        guard let only else { return byInode(ofAll: all()) }
        guard let inodes = socketInodes(of: only) else {
            let number = errno
            throw ReachabilityError(
                in: .systemCall,
                operation: "read the descriptors of the process \(only)",
                number: number,
                message: number == EACCES
                    ? "run the command as its user, or as root" : "give a running process"
            )
        }
        let process = RunningProcess(reading: only) ?? RunningProcess(identifier: only, name: "", unit: nil)
        return Dictionary(inodes.map { ($0, process) }, uniquingKeysWith: { first, _ in first })
    }

    /// Reads the processes concurrently: the kernel takes microseconds for each descriptor.
    private static func byInode(ofAll pids: [Int32]) -> [UInt32: RunningProcess] {
        let processes = Locked<[UInt32: RunningProcess]>([:])
        forEachConcurrently(pids) { pid in
            // Some processes end meanwhile, or belong to other users.
            guard let inodes = socketInodes(of: pid), !inodes.isEmpty,
                let process = RunningProcess(reading: pid)
            else { return }
            processes.withLock { processes in
                for inode in inodes where processes[inode].map({ pid < $0.identifier }) ?? true {
                    processes[inode] = process
                }
            }
        }
        return processes.withLock { $0 }
    }

    /// Calls the body with each element, on this thread and on as many others as there are processors and the system
    /// starts.
    ///
    /// Without threads, libdispatch would end the process or wait without end.
    private static func forEachConcurrently(_ pids: [Int32], _ body: @escaping @Sendable (Int32) -> Void) {
        let next = Locked(0)
        let work: @Sendable () -> Void = {
            while let pid = next.withLock({ next -> Int32? in
                defer { next += 1 }
                return next < pids.count ? pids[next] : nil
            }) { body(pid) }
        }
        let finished = DispatchSemaphore(value: 0)
        let helpers = (1..<max(1, min(sysconf(Int32(_SC_NPROCESSORS_ONLN)), pids.count))).filter { _ in
            BackgroundThread.start("netflags-sockets") {
                work()
                finished.signal()
            }
        }
        work()
        for _ in helpers { finished.wait() }
    }

    /// Throws for a process of another network namespace, whose sockets are not listed here.
    ///
    /// - Parameter pid: The process; a process whose namespace cannot be read is accepted.
    /// - Throws: ``ReachabilityError`` if the process is in another namespace.
    static func checkNamespace(of pid: Int32) throws(ReachabilityError) {
        guard let own = NetworkNamespace.current, let other = NetworkNamespace.of(process: pid), own != other
        else { return }
        throw ReachabilityError(
            in: .systemCall,
            operation: "list the sockets of the process \(pid)",
            message: "it is in another network namespace: run this with nsenter --net --target \(pid)"
        )
    }
}
