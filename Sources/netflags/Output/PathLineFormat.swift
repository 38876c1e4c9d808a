// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording

/// The default path in one line, for `path --watch`.
///
/// The columns are the time, the status, the interfaces, what the path supports and is, and behind them the gateways
/// and the reason, what carries tunnels, and what identifies the network. Interfaces that only bound sockets take are
/// in parentheses.
struct PathLineFormat {
    private let format: PathFormat
    private let lineWidth = Output.standard.terminalWidth
    private var table = TextTable(
        ["TIME", "STATUS", "DEV", "TRAITS", "GATEWAYS, REASON"],
        widths: [0, NetworkPath.Status.unsatisfied.rawValue.utf8.count, 1, 1], for: .standard)
    /// The error of the last line; `nil` after a path.
    private var lastError: ReachabilityError?

    init(_ format: PathFormat) { self.format = format }

    /// Prints a path as it is now, or the error that kept it from being evaluated, once for as long as it stays.
    ///
    /// The process ends when the output cannot be written.
    mutating func print(_ result: Result<NetworkPath, ReachabilityError>) {
        let error = result.failure
        guard error == nil || error != lastError else { return }
        lastError = error
        if let error, !Output.standard.isTerminal { printError("\(error)") }
        Output.standard.deliverOrExit { buffer in
            format.isJSON ? format.write(result, at: .now, to: &buffer) : write(result, to: &buffer)
        }
    }

    private mutating func write(
        _ result: Result<NetworkPath, ReachabilityError>, to buffer: inout ByteBuffer
    ) {
        table.add(Recording.Time.now.description(forWidth: lineWidth))
        switch result {
        case .success(let path):
            table.add(path.status.rawValue, in: Self.colour(path.status))
            for cell in [Self.interfaces(path), Self.traits(path)] { table.add(cell.isEmpty ? "-" : cell) }
            let gateways = path.gateways.map(\.description).joined(separator: ",")
            var sentences = [path.reason.description] + path.carriers.map(\.description)
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

    private static func traits(_ path: NetworkPath) -> String {
        [
            (path.supportsIPv4, "IPv4"), (path.supportsIPv6, "IPv6"), (path.supportsDNS, "DNS"),
            (path.isExpensive, "expensive"), (path.isConstrained, "constrained"),
        ].filter(\.0).map(\.1).joined(separator: ",")
    }

    private static func colour(_ status: NetworkPath.Status) -> Colour {
        switch status {
        case .satisfied: .green
        case .unsatisfied: .red
        default: .magenta
        }
    }
}
