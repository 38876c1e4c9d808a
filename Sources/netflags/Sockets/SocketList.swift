// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
import NetlinkRoute
import RoutingModel

/// A connected socket of this host, and its process where that is known.
struct ListedSocket {
    let socket: ConnectedSocket
    let connection: NetworkConnection
    let process: SocketProcess?
}

/// Lists the connected sockets of this network namespace.
struct SocketList {
    let source: NetworkSource
    /// The process whose sockets are listed; `nil` for all.
    let pid: Int32?

    /// Lists the sockets, some at a time.
    ///
    /// - Parameters:
    ///   - isWanted: Whether a socket is listed.
    ///   - body: Receives up to 256 sockets, and returns whether to go on.
    /// - Throws: ``ReachabilityError`` if they cannot be listed, as on a kernel without inet_diag.
    func read(
        where isWanted: (ConnectedSocket) -> Bool = { _ in true },
        _ body: ([ListedSocket]) -> Bool
    ) throws(ReachabilityError) {
        let names: [UInt32: String]
        let processes = try SocketProcess.byInode(pid: pid)
        var batch: [ListedSocket] = []
        var goesOn = true
        do {
            names = Dictionary(
                try source.facts.routing.links().map { ($0.index, $0.name) }, uniquingKeysWith: { $1 })
            for ipProtocol in [IPPROTO_TCP, IPPROTO_UDP].map({ UInt8($0) }) {
                for family in IPAddress.Family.allCases {
                    try ConnectedSocket.list(family, ipProtocol: ipProtocol) { socket in
                        guard goesOn, isWanted(socket) else { return }
                        let process = processes[socket.inode]
                        guard pid == nil || process != nil, let connection = Self.connection(socket, names)
                        else { return }
                        batch.append(ListedSocket(socket: socket, connection: connection, process: process))
                        guard batch.count == 256 else { return }
                        goesOn = body(batch)
                        batch.removeAll(keepingCapacity: true)
                    }
                }
            }
        } catch {
            throw ReachabilityError(error)
        }
        if goesOn, !batch.isEmpty { _ = body(batch) }
    }

    /// The connection of a socket; `nil` for one without two ends, as while it is being connected.
    private static func connection(_ socket: ConnectedSocket, _ names: [UInt32: String]) -> NetworkConnection?
    {
        var options = ReachabilityOptions()
        options.mark = socket.mark
        options.user = socket.user
        options.typeOfService = socket.typeOfService
        var (local, remote) = (socket.local, socket.remote)
        if socket.boundInterface != 0 {
            let name = names[socket.boundInterface] ?? NetworkConnection.goneInterface
            options.interface = name
            local.zone = ZoneIdentifier(name: name)
            remote.zone = ZoneIdentifier(name: name)
        }
        return try? NetworkConnection(
            transport: socket.ipProtocol == UInt8(IPPROTO_TCP) ? .tcp : .udp,
            local: local,
            localPort: socket.localPort,
            remote: remote,
            remotePort: socket.remotePort,
            options: options
        )
    }
}
