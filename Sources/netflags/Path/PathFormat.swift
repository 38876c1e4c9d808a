// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording

/// The default path as a paragraph of text, or in JSON.
struct PathFormat {
    var isJSON = false
    /// The reports of the network managers; `nil` for a recording.
    var managers: HostManagers?
    /// Whether the names that identify the network are written.
    var identifies = false

    /// Writes a path, or the error that kept it from being evaluated.
    ///
    /// - Parameters:
    ///   - result: The path, or the error.
    ///   - evidence: Whether a remote host answers on the path, or why that is not known; `nil` to write no line.
    ///   - time: When the path was determined, for JSON; `nil` writes no time.
    ///   - buffer: The buffer for the text.
    func write(
        _ result: Result<NetworkPath, ReachabilityError>,
        _ evidence: Result<NetworkEvidence, ReachabilityError>? = nil,
        at time: Recording.Time? = nil, to buffer: inout ByteBuffer
    ) {
        isJSON
            ? writeJSON(result, try? evidence?.get(), time, to: &buffer)
            : writeText(result, evidence, to: &buffer)
    }

    // MARK: Text

    private func writeText(
        _ result: Result<NetworkPath, ReachabilityError>,
        _ evidence: Result<NetworkEvidence, ReachabilityError>?,
        to text: inout ByteBuffer
    ) {
        guard let path = try? result.get() else {
            return text.line("status", "unknown: error: \(result.failure?.description ?? "")")
        }
        let interfaces = path.availableInterfaces.map { "\($0.name) (\($0.type.rawValue))" }
        text.line("status", "\(path.status.rawValue): \(path.reason)")
        text.line("interfaces", Self.list(interfaces))
        if !path.carriers.isEmpty { text.line("carriers", Self.list(path.carriers.map(\.description))) }
        text.line("gateways", Self.list(path.gateways.map(\.description)))
        text.line("IPv4", Self.word(path.supportsIPv4))
        text.line("IPv6", Self.word(path.supportsIPv6))
        text.line("DNS", path.reachesNameserver.map(Self.word) ?? "unknown: recordings hold no name servers")
        switch evidence {
        case .success(let evidence)?: text.line("evidence", evidence.description)
        case .failure(let error)?: text.line("evidence", "unknown: \(error.cause)")
        case nil: break
        }
        text.line("expensive", Self.word(path.isExpensive))
        text.line("constrained", Self.word(path.isConstrained))
        for line in managers?.lines(about: path) ?? [] { text.line(line.label, line.value) }
        if identifies { text.line("identity", path.identity?.description ?? "unknown") }
    }

    private static func list(_ items: [String]) -> String {
        items.isEmpty ? "none" : items.joined(separator: ", ")
    }

    private static func word(_ value: Bool) -> String {
        value ? "yes" : "no"
    }

    // MARK: JSON

    /// Writes one object with every key; null stands for an unknown value.
    private func writeJSON(
        _ result: Result<NetworkPath, ReachabilityError>, _ evidence: NetworkEvidence?,
        _ time: Recording.Time?, to buffer: inout ByteBuffer
    ) {
        let path = try? result.get()
        buffer.line { json in
            json.member("status", path?.status.rawValue)
            // The kernel gives no other reason.
            json.member("unsatisfiedReason", path?.status == .unsatisfied ? "notAvailable" : nil)
            json.member("interfaces", objects: path?.availableInterfaces ?? []) { interface, json in
                json.member("name", interface.name)
                json.member("index", interface.index)
                json.member("type", interface.type.rawValue)
                json.member("isUsed", path?.usedInterfaces.contains(interface))
            }
            json.carriers(path?.carriers ?? [])
            json.member("gateways", path?.gateways ?? [])
            json.member("nameservers", path?.nameservers ?? [])
            json.member("supportsIPv4", path?.supportsIPv4)
            json.member("supportsIPv6", path?.supportsIPv6)
            json.member("supportsDNS", path?.reachesNameserver)
            json.member("isExpensive", path?.isExpensive)
            json.member("isConstrained", path?.isConstrained)
            json.members(path?.flags ?? [])
            json.member("code", path?.reason.code.description)
            json.member("reason", path?.reason.description ?? "the path could not be evaluated")
            json.member("error", result.failure?.description)
            json.evidence(evidence)
            managers?.writeMember(about: path, to: &json)
            if identifies { json.member("identity", path?.identity?.description) }
            if let time { json.member("time", time.description) }
        }
    }
}

extension ByteBuffer {
    fileprivate mutating func line(_ label: String, _ value: String) {
        line(label, value, indentation: 13)
    }
}

// MARK: - Lines

/// The default path in one line, for `path --watch`.
///
/// The columns are the time, the status, the interfaces, and what the path supports and costs. The last column has the
/// gateways, the reason, the carriers of tunnels and what identifies the network. Interfaces that only bound sockets
/// use are in parentheses.
struct PathLineFormat {
    private let format: PathFormat
    private let lineWidth = Output.standard.terminalWidth
    private var table = TextTable(
        ["TIME", "STATUS", "DEV", "TRAITS", "GATEWAYS, REASON"],
        widths: [0, NetworkPath.Status.unsatisfied.rawValue.utf8.count, 1, 1], for: .standard)
    /// The error of the last line; `nil` after a path.
    private var lastError: ReachabilityError?
    /// The last path, or its error; `nil` before the first result.
    private var last: Result<NetworkPath, ReachabilityError>?
    /// Whether a remote host answers.
    private var evidence: NetworkEvidence?
    /// Whether a line has shown evidence: on a host without evidence, no line mentions it.
    private var hasEvidence = false

    init(_ format: PathFormat) { self.format = format }

    /// Prints the current path, or the error that kept it from being evaluated; an error that stays is printed once.
    ///
    /// The process ends when the output cannot be written.
    mutating func print(_ result: Result<NetworkPath, ReachabilityError>) {
        last = result
        let error = result.failure
        guard error == nil || error != lastError else { return }
        lastError = error
        if let error, !Output.standard.isTerminal { printError("\(error)") }
        Output.standard.deliverOrExit { buffer in
            format.isJSON
                ? format.write(result, evidence.map { .success($0) }, at: .now, to: &buffer)
                : write(result, to: &buffer)
        }
    }

    /// Prints the last path again with another verdict of whether a remote host answers on it.
    mutating func print(_ evidence: NetworkEvidence) {
        let isRepeated = self.evidence?.isSameState(as: evidence) ?? false
        self.evidence = evidence
        if evidence.verdict != .none { hasEvidence = true }
        if let last, !isRepeated { print(last) }
    }

    private mutating func write(
        _ result: Result<NetworkPath, ReachabilityError>, to buffer: inout ByteBuffer
    ) {
        table.add(Recording.Time.now.description(forWidth: lineWidth))
        switch result {
        case .success(let path):
            table.add(
                path.status.rawValue, in: [.satisfied: .green, .unsatisfied: .red][path.status] ?? .magenta)
            for cell in [Self.interfaces(path), path.traits.joined(separator: ",")] {
                table.add(cell.isEmpty ? "-" : cell)
            }
            let gateways = path.gateways.map(\.description).joined(separator: ",")
            var sentences = [path.reason.description] + path.carriers.map(\.description)
            if hasEvidence, let evidence { sentences.append(evidence.description) }
            if format.identifies { sentences.append(path.identity?.description ?? "identity unknown") }
            table.add((gateways.isEmpty ? "" : "\(gateways)  ") + sentences.joined(separator: "; "))
        case .failure(let error):
            table.add("?", in: .magenta)
            table.add("error: \(error)")
        }
        table.endRow(isWhole: result.failure != nil)
        table.flush(to: &buffer)
    }

    private static func interfaces(_ path: NetworkPath) -> String {
        let used = path.usedInterfaces.map(\.name).joined(separator: ",")
        let others = path.availableInterfaces.filter { !path.usedInterfaces.contains($0) }
            .map(\.name).joined(separator: ",")
        return [used, others.isEmpty ? "" : "(\(others))"].filter { !$0.isEmpty }.joined(separator: " ")
    }
}
