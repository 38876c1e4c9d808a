// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import NetlinkReachability
import RoutingModel
import SystemSupport

/// A run of `netflags sockets --watch`: writes a line for each socket, each new socket and each change.
///
/// The kernel sends no notification about a new socket, so the sockets are listed again every second. Each socket is
/// observed as long as it is open.
struct SocketsWatch {
    /// The pause before the sockets are listed again.
    private static let pause = Duration.seconds(1)

    let list: SocketList
    let filter: SocketFilter?
    let lines: Locked<SocketLines>
    private let queue = DispatchQueue(label: "netflags.sockets")

    /// Watches until a signal arrives or the reader closes the output; either ends the process.
    ///
    /// - Throws: A ``FileFailure`` if standard output was closed when the process started; an error if the sockets
    ///   cannot be listed.
    func run() throws -> Never {
        try Output.standard.beginWatching()
        try checkThreads()
        var sockets = try update([:])
        if sockets.isEmpty {
            lines.withLock { lines in
                Output.standard.deliverOrExit { lines.writeAbsence("no connected sockets yet", to: &$0) }
            }
        }
        while true {
            // Without events, poll(2) reports only that the reader has closed its end.
            if waitForDescriptor(STDOUT_FILENO, 0, atMost: Self.pause) { endByClosedPipe() }
            sockets = try update(sockets)
        }
    }

    /// An observed socket: its flow and the flows of its subflows, and the observation.
    ///
    /// A UDP socket can change its flow, and subflows are added and removed. A socket that cannot be evaluated has no
    /// observation: its line has been written.
    private typealias Followed = (
        flows: [ConnectedSocket.Flow], observation: NetworkObservation<ConnectionStatus>?
    )

    /// Lists the sockets, and begins to observe new and changed sockets.
    ///
    /// - Returns: The sockets that are open, by their cookies.
    private func update(_ old: [UInt64: Followed]) throws -> [UInt64: Followed] {
        var open: [UInt64: Followed] = [:]
        try list.read { sockets in
            for listed in sockets {
                let cookie = listed.socket.cookie
                let flows = ([listed] + listed.subflows).map(\.flow)
                if let known = old[cookie], known.flows == flows {
                    open[cookie] = known
                    continue
                }
                open[cookie] = (flows, try follow(listed))
            }
        }
        return open
    }

    private func follow(_ listed: ListedSocket) throws(ReachabilityError)
        -> NetworkObservation<ConnectionStatus>?
    {
        let connection: NetworkConnection
        do {
            connection = try listed.connection()
        } catch {
            write(listed, .failure(error))
            return nil
        }
        return try list.source.observe(.status(of: connection), on: .queue(queue)) { write(listed, $0) }
    }

    /// Writes a line; the process ends when the output cannot be written.
    private func write(_ listed: ListedSocket, _ result: SocketResult) {
        guard filter?.admits(result) ?? true else { return }
        lines.withLock { lines in
            Output.standard.deliverOrExit { buffer in
                lines.write(listed, result, at: .now, to: &buffer)
                lines.flush(to: &buffer)
            }
        }
    }
}
