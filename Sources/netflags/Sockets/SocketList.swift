// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
import NetlinkRoute

/// A connected socket of this host, and its process where that is known.
struct ListedSocket {
    let socket: ConnectedSocket
    /// The name of the interface that it is bound to; `nil` for none, and for one that is gone.
    let interface: String?
    let process: SocketProcess?

    var transport: NetworkConnection.TransportProtocol {
        socket.ipProtocol == UInt16(IPPROTO_TCP) ? .tcp : .udp
    }

    var local: IPAddress { zoned(socket.local) }
    var remote: IPAddress { zoned(socket.remote) }

    /// The address; a link-local one belongs to the interface that the socket is bound to.
    private func zoned(_ address: IPAddress) -> IPAddress {
        guard let interface, address.isLinkLocal else { return address }
        var address = address
        address.zone = ZoneIdentifier(name: interface)
        return address
    }

    func connection() throws(ReachabilityError) -> NetworkConnection {
        var options = ReachabilityOptions()
        options.mark = socket.mark
        options.user = socket.user
        options.typeOfService = socket.typeOfService
        return try NetworkConnection(
            transport: transport,
            local: local,
            localPort: socket.localPort,
            remote: remote,
            remotePort: socket.remotePort,
            options: options,
            interfaceIndex: socket.boundInterface
        )
    }
}

/// Lists the connected sockets of this network namespace, without those that no program has.
struct SocketList {
    let source: NetworkSource
    /// The process whose sockets are listed; `nil` for all.
    var pid: Int32?
    /// Whether the processes are looked for.
    var namesProcesses = true

    /// Lists the sockets, some at a time.
    ///
    /// - Parameter body: Receives up to 256 sockets.
    /// - Throws: What the body throws; ``ReachabilityError`` if the sockets cannot be listed, as on a kernel without
    ///   inet_diag.
    func read(_ body: ([ListedSocket]) throws -> Void) throws {
        let processes = namesProcesses ? try SocketProcess.byInode(pid: pid) : [:]
        let names = Dictionary(
            try source.facts.routing.links().map { ($0.index, $0.name) }, uniquingKeysWith: { $1 })
        var batch: [ListedSocket] = []
        var isAnyListed = false
        var failure: (any Error)?
        func takeBatch() {
            isAnyListed = isAnyListed || !batch.isEmpty
            do { try body(batch) } catch { failure = error }
            batch.removeAll(keepingCapacity: true)
        }
        for ipProtocol in [IPPROTO_TCP, IPPROTO_UDP].map({ UInt16($0) }) {
            for family in IPAddress.Family.allCases {
                try ConnectedSocket.list(family, ipProtocol: ipProtocol) { socket in
                    let process = processes[socket.inode]
                    // A socket that is being closed can have no second end. One without an inode is in no program:
                    // it was closed, or is not accepted yet.
                    guard failure == nil, pid == nil || process != nil, !socket.remote.isUnspecified,
                        socket.inode != 0
                    else { return }
                    let interface = names[socket.boundInterface]
                    batch.append(ListedSocket(socket: socket, interface: interface, process: process))
                    if batch.count == 256 { takeBatch() }
                }
            }
        }
        if failure == nil { takeBatch() }
        if let failure { throw failure }
        // A process can have sockets of a namespace that it is not in.
        if let pid, !isAnyListed { try SocketProcess.checkNamespace(of: pid) }
    }

    /// The other ends of the connected sockets, each once, without those of the loopback interface.
    func remotes() throws -> [IPAddress] {
        var found: Set<IPAddress> = []
        try read { found.formUnion($0.map(\.remote).filter { !$0.isLoopback }) }
        return found.sorted()
    }
}
