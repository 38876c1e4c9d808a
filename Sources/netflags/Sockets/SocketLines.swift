// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording
import NetlinkRoute

/// The lines of `netflags sockets`, as a table or as JSON.
///
/// The columns of the table are as wide as their content in what is flushed together.
struct SocketLines {
    private let isJSON: Bool
    private let lineWidth: Int?
    private var table: TextTable

    init(isJSON: Bool, isTimed: Bool, for output: Output) {
        self.isJSON = isJSON
        lineWidth = output.terminalWidth
        table = TextTable(widths: (isTimed ? [1] : []) + [7, 3, 1, 1, 1, 1], for: output)
    }

    /// Adds a line; ``flush(to:)`` writes the lines of a table.
    mutating func write(
        _ listed: ListedSocket,
        _ result: Result<ConnectionStatus, ReachabilityError>,
        at time: Recording.Time? = nil,
        to buffer: inout ByteBuffer
    ) {
        let status = try? result.get()
        guard !isJSON else {
            return buffer.line { json in
                json.member("protocol", listed.transport.rawValue)
                json.member("local", listed.local)
                json.member("localPort", listed.socket.localPort)
                json.member("remote", listed.remote)
                json.member("remotePort", listed.socket.remotePort)
                json.member("state", status?.state.rawValue)
                json.member("betterPath", object: status?.betterPath) { path, json in
                    json.member("interface", path.interface?.name)
                    json.member("gateway", path.gateway)
                    json.member("sourceAddress", path.sourceAddress)
                }
                json.member("interface", status?.interface?.name)
                json.member("gateway", status?.gateway)
                json.member("reason", status?.reason.description ?? "the socket could not be evaluated")
                json.member("error", result.failure?.description)
                json.member("uid", listed.socket.user)
                json.member("pid", listed.process?.pid)
                json.member("process", listed.process?.name)
                if let time { json.member("time", time.description) }
            }
        }
        if let time { table.add(time.description(forWidth: lineWidth)) }
        table.add(status?.state.rawValue ?? "?", in: Self.colour(status?.state))
        table.add(listed.transport.rawValue)
        table.add(NetworkConnection.end(listed.local, listed.socket.localPort))
        table.add(NetworkConnection.end(listed.remote, listed.socket.remotePort))
        table.add(status?.interface?.name ?? "-")
        table.add(listed.process.map { "\($0.name)/\($0.pid)" } ?? "-")
        table.add(result.reason)
        table.endRow()
    }

    /// Writes the lines that were added.
    mutating func flush(to buffer: inout ByteBuffer) {
        table.flush(to: &buffer)
    }

    private static func colour(_ state: ConnectionStatus.State?) -> Colour {
        switch state {
        case .viable, .local: .green
        case .lost: .red
        case .waiting, nil: .magenta
        }
    }
}

extension Result where Success == ConnectionStatus, Failure == ReachabilityError {
    /// The reason with the better path, or the error.
    fileprivate var reason: String {
        switch self {
        case .failure(let error): return "error: \(error)"
        case .success(let status):
            let better = status.betterPath.map { "; better path: \($0)" } ?? ""
            return "\(status.reason)\(better)"
        }
    }
}
