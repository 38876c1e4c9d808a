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

    private static let columnCount = 7

    private let style: Style
    private let isColoured: Bool
    private let lineWidth: Int?
    /// Where the state is: behind the time, if there is one.
    private let stateColumn: Int
    /// The widths of the columns; the last one has any.
    private var widths: [Int]
    /// The text of the rows that were added, and where each of their cells ends.
    private var text = ByteBuffer()
    private var cells: [(end: Int, columns: Int)] = []

    init(_ style: Style, isTimed: Bool, for output: Output) {
        self.style = style
        isColoured = output.showsColour
        lineWidth = output.terminalWidth
        stateColumn = isTimed ? 1 : 0
        widths = (isTimed ? [1] : []) + [7, 3, 1, 1, 1, 1]
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
            let status = try? result.get()
            if let time { add(time.description(forWidth: lineWidth)) }
            add(status?.state.rawValue ?? "?")
            add(listed.transport.rawValue)
            add(listed.local, listed.socket.localPort)
            add(listed.remote, listed.socket.remotePort)
            add(status?.interface?.name ?? "-")
            add(listed.process.map { "\($0.name)/\($0.pid)" } ?? "-")
            add(result.reason)
        }
    }

    private mutating func add(_ cell: String) {
        let columns = text.append(printable: cell)
        cells.append((text.bytes.count, columns))
    }

    private mutating func add(_ address: IPAddress, _ port: UInt16) {
        let (open, close) = address.family == .v4 ? ("", ":") : ("[", "]:")
        add("\(open)\(address)\(close)\(port)")
    }

    /// Writes the lines that were added.
    mutating func flush(to buffer: inout ByteBuffer) {
        let count = widths.count + 1
        for (place, cell) in cells.enumerated() where place % count < widths.count {
            widths[place % count] = max(widths[place % count], cell.columns)
        }
        var line = ByteBuffer()
        text.bytes.withUnsafeBufferPointer { bytes in
            var start = 0
            for (place, cell) in cells.enumerated() {
                let content = UnsafeBufferPointer(rebasing: bytes[start..<cell.end])
                start = cell.end
                let column = place % count
                line.append(in: isColoured && column == stateColumn ? Self.colour(content) : nil) {
                    $0.append(bytes: content)
                }
                if column < widths.count {
                    line.append(spaces: widths[column] - cell.columns + 2)
                    continue
                }
                if let lineWidth {
                    buffer.append(line, cutTo: lineWidth)
                } else {
                    buffer.append(contentsOf: line)
                }
                buffer.append(UInt8(ascii: "\n"))
                line.removeAll()
            }
        }
        text.removeAll()
        cells.removeAll(keepingCapacity: true)
    }

    private static func colour(_ state: UnsafeBufferPointer<UInt8>) -> Colour {
        switch ConnectionStatus.State(rawValue: String(decoding: state, as: UTF8.self)) {
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
        let status = try? result.get()
        var failure: ReachabilityError?
        if case .failure(let error) = result { failure = error }
        buffer.line { json in
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
