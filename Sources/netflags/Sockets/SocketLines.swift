// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording
import SystemSupport

/// The lines of `netflags sockets`, as a table or as JSON.
///
/// The columns of the table are as wide as the content that is flushed together. The subflows of an MPTCP connection
/// are rows below the connection, and an array in its object.
struct SocketLines {
    private let isJSON: Bool
    private let lineWidth: Int?
    /// Whether a line says that there is no socket, as a terminal would otherwise show nothing.
    private var isAbsenceShown: Bool
    private var table: TextTable

    init(isJSON: Bool, isTimed: Bool, for output: Output) {
        self.isJSON = isJSON
        lineWidth = output.terminalWidth
        isAbsenceShown = output.isTerminal && !isJSON
        table = TextTable(
            (isTimed ? ["TIME"] : []) + ["STATE", "PROTO", "LOCAL", "REMOTE", "DEV", "PROCESS", "REASON"],
            widths: (isTimed ? [1] : []) + [7, 3, 1, 1, 1, 1], for: output)
    }

    /// Adds a line; ``flush(to:)`` writes the lines of a table.
    mutating func write(
        _ listed: ListedSocket, _ result: SocketResult, at time: Recording.Time? = nil,
        to buffer: inout ByteBuffer
    ) {
        isAbsenceShown = false
        let status = try? result.get()
        guard !isJSON else {
            return buffer.line { json in
                json.members(listed, result, isTimed: time != nil)
                json.member("uid", listed.flow.user)
                json.member("pid", listed.process?.identifier)
                json.member("process", listed.process?.name)
                json.member("unit", listed.process?.unit)
                if listed.isMultipath {
                    json.member("subflows", objects: listed.subflowResults(status)) { subflow, json in
                        json.members(subflow.listed, subflow.result, isTimed: time != nil)
                    }
                }
                if let time { json.member("time", time.description) }
            }
        }
        addRow(listed, listed.protocolName, listed.process?.words, result, at: time)
        for (subflow, result) in listed.subflowResults(status) ?? [] {
            addRow(subflow, "subflow", nil, result, at: time)
        }
    }

    private mutating func addRow(
        _ listed: ListedSocket, _ kind: String, _ process: String?, _ result: SocketResult,
        at time: Recording.Time?
    ) {
        let status = try? result.get()
        if let time { table.add(time.description(forWidth: lineWidth)) }
        let colour: Colour =
            switch status?.state {
            case .viable, .local: .green
            case .lost: .red
            case .waiting, nil: .magenta
            }
        table.add(status?.state.rawValue ?? "?", in: colour)
        table.add(kind)
        table.add(NetworkConnection.end(listed.local, listed.flow.localPort))
        table.add(NetworkConnection.end(listed.remote, listed.flow.remotePort))
        table.add(status?.interface?.name ?? "-")
        table.add(process ?? "-")
        table.add(result.reason + (time == nil ? listed.unanswered : ""))
        table.endRow(isWhole: status?.isViable != true)
    }

    /// Writes on a terminal that there is no socket, if no line was added.
    func writeAbsence(_ words: String, to buffer: inout ByteBuffer) {
        if isAbsenceShown { buffer.line(printable: words) }
    }

    /// Writes the lines that were added.
    mutating func flush(to buffer: inout ByteBuffer) {
        table.flush(to: &buffer)
    }
}

extension ListedSocket {
    /// Whether the socket is an MPTCP socket, whose subflows are TCP sockets.
    fileprivate var isMultipath: Bool { !subflows.isEmpty }

    /// The text about transmissions without an answer; empty if there are none.
    fileprivate var unanswered: String {
        let tries = socket.triesWithoutAnswer
        guard tries > 0 else { return "" }
        let age = socket.lastAnswer.map { ", the last one \($0 / 1_000) s ago" } ?? ""
        return "; no answer to \(tries == 1 ? "a try" : "\(tries) tries")\(age)"
    }

    fileprivate var protocolName: String { isMultipath ? "mptcp" : transport.rawValue }

    /// The subflows with their statuses; `nil` if the connection could not be evaluated.
    fileprivate func subflowResults(
        _ status: ConnectionStatus?
    ) -> [(listed: ListedSocket, result: SocketResult)]? {
        status.map { status in zip(subflows, status.subflows).map { ($0, .success($1)) } }
    }
}

extension ByteBuffer {
    /// Writes the members that both a connection and a subflow have.
    fileprivate mutating func members(_ listed: ListedSocket, _ result: SocketResult, isTimed: Bool) {
        let status = try? result.get()
        member("protocol", listed.protocolName)
        member("local", listed.local)
        member("localPort", listed.flow.localPort)
        member("remote", listed.remote)
        member("remotePort", listed.flow.remotePort)
        member("state", status?.state.rawValue)
        // A line of --watch describes the socket as it was first listed, so the ages would be outdated.
        if !isTimed {
            member("answerAge", listed.socket.lastAnswer.map(Duration.milliseconds))
            member("tries", listed.socket.progress.map { _ in listed.socket.triesWithoutAnswer })
        }
        member("betterPath", object: status?.betterPath) { path, json in
            json.member("interface", path.interface?.name)
            json.member("gateway", path.gateway)
            json.member("sourceAddress", path.sourceAddress)
        }
        pathMembers(
            status?.interface, hasType: false, status?.gateway, status?.reason,
            status?.reason.description ?? "the socket could not be evaluated", result.failure)
    }
}

extension SocketResult {
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

/// The sockets that `--state` selects.
enum SocketFilter: String, CaseIterable {
    case viable, waiting, lost, local, better

    /// Whether a result is listed; an error always is.
    func admits(_ result: SocketResult) -> Bool {
        guard case .success(let status) = result else { return true }
        return self == .better ? status.hasBetterPath : status.state.rawValue == rawValue
    }
}
