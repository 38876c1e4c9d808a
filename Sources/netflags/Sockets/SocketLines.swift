// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording
import NetlinkRoute

/// The lines of `netflags sockets`, as a table or as JSON.
///
/// The columns of the table are as wide as their content in what is flushed together.
struct SocketLines {
    /// How sockets are printed.
    enum Style {
        case text, json
        /// Nothing is printed.
        case none
    }

    private let style: Style
    private let isColoured: Bool
    private let lineWidth: Int?
    private var rows: [[String]] = []
    private var widths = [7, 3]

    init(_ style: Style, for output: Output) {
        self.style = style
        isColoured = output.showsColour
        lineWidth = output.terminalWidth
    }

    /// Adds a line; ``flush(to:)`` writes the lines of a table.
    mutating func write(
        _ listed: ListedSocket,
        _ result: Result<ConnectionStatus, ReachabilityError>,
        at time: Recording.Time? = nil,
        to buffer: inout ByteBuffer
    ) {
        switch style {
        case .none: break
        case .json: Self.writeJSON(listed, result, at: time, to: &buffer)
        case .text:
            let connection = listed.connection
            let status = try? result.get()
            var row = [
                status?.state.rawValue ?? "?", connection.transport.rawValue,
                connection.localEnd, connection.remoteEnd, status?.interface?.name ?? "-",
                listed.process.map { "\($0.name)/\($0.pid)" } ?? "-",
                result.reason,
            ]
            if let time { row.insert(time.description(forWidth: lineWidth), at: 0) }
            rows.append(row)
        }
    }

    /// Writes the lines that were added.
    mutating func flush(to buffer: inout ByteBuffer) {
        for row in rows {
            while widths.count < row.count - 1 { widths.append(1) }
            for (place, cell) in row.dropLast().enumerated() {
                widths[place] = max(widths[place], cell.columns)
            }
        }
        for row in rows {
            var line = ByteBuffer()
            for (place, cell) in row.enumerated() {
                guard place < row.count - 1 else {
                    line.append(printable: cell)
                    continue
                }
                let isState = place == row.count - Self.columnCount
                line.append(
                    cell: cell, width: widths[place], in: isState && isColoured ? Self.colour(cell) : nil)
            }
            buffer.append(line, cutTo: lineWidth)
            buffer.append(UInt8(ascii: "\n"))
        }
        rows.removeAll(keepingCapacity: true)
    }

    private static let columnCount = 7

    private static func colour(_ state: String) -> Colour {
        switch ConnectionStatus.State(rawValue: state) {
        case .viable, .local: .green
        case .lost: .red
        case .waiting, nil: .magenta
        }
    }

    private static func writeJSON(
        _ listed: ListedSocket,
        _ result: Result<ConnectionStatus, ReachabilityError>,
        at time: Recording.Time?,
        to buffer: inout ByteBuffer
    ) {
        let (connection, status) = (listed.connection, try? result.get())
        var failure: ReachabilityError?
        if case .failure(let error) = result { failure = error }
        buffer.line { json in
            json.member("protocol", connection.transport.rawValue)
            json.member("local", connection.local)
            json.member("localPort", connection.localPort)
            json.member("remote", connection.remote)
            json.member("remotePort", connection.remotePort)
            json.member("state", status?.state.rawValue)
            json.member("betterPath", object: status?.betterPath) { path, json in
                json.member("interface", path.interface?.name)
                json.member("gateway", path.gateway)
                json.member("sourceAddress", path.sourceAddress)
            }
            json.member("interface", status?.interface?.name)
            json.member("gateway", status?.gateway)
            json.member("reason", status?.reason.description ?? "the socket could not be evaluated")
            json.member("error", failure?.description)
            json.member("uid", listed.socket.user)
            json.member("pid", listed.process?.pid)
            json.member("process", listed.process?.name)
            if let time { json.member("time", time.description) }
        }
    }
}

extension Result where Success == ConnectionStatus, Failure == ReachabilityError {
    /// The reason with the better path, or the error.
    fileprivate var reason: String {
        switch self {
        case .failure(let error): return "error: \(error)"
        case .success(let status):
            guard let path = status.betterPath else { return status.reason.description }
            var words = ["better path:", path.interface?.name ?? "another interface"]
            if let gateway = path.gateway { words += ["via", gateway.description] }
            if let source = path.sourceAddress { words += ["from", source.description] }
            return "\(status.reason); \(words.joined(separator: " "))"
        }
    }

    /// The exit status that this result alone gives.
    var exitStatus: ExitStatus {
        switch self {
        case .success(let status): status.isViable ? .success : .unreachable
        case .failure: .undetermined
        }
    }
}
