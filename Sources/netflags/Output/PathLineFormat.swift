// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording

/// The default path in one line, for `path --watch`.
///
/// The columns are the time, the status, the interfaces, what the path supports and is, the gateways, and the reason.
/// Interfaces that only bound sockets take are in parentheses.
struct PathLineFormat {
    private let isColoured: Bool
    /// The width to which paths are cut; `nil` for whole lines.
    private let lineWidth: Int?
    /// The widths of the columns between the time and the gateways, which only grow.
    private var widths = [NetworkPath.Status.unsatisfied.rawValue.utf8.count, 1, 1]

    init(for output: Output) {
        isColoured = output.showsColour
        lineWidth = output.terminalWidth
    }

    /// Writes a path, or the error that kept it from being evaluated.
    mutating func write(
        _ result: Result<PathVerdict, ReachabilityError>,
        at time: Recording.Time,
        to buffer: inout ByteBuffer
    ) {
        var line = ByteBuffer()
        line.append(cell: time.description(forWidth: lineWidth), width: 0)
        let colour = isColoured ? result.colour : nil
        switch result {
        case .success(let verdict):
            for (place, cell) in Self.cells(verdict.path).enumerated() {
                widths[place] = max(widths[place], cell.columns)
                line.append(cell: cell, width: widths[place], in: place == 0 ? colour : nil)
            }
            let gateways = verdict.path.gateways.map(\.description).joined(separator: ",")
            line.append(printable: (gateways.isEmpty ? "" : "\(gateways)  ") + verdict.reason.description)
            buffer.append(line, cutTo: lineWidth)
        case .failure(let error):
            line.append(cell: "?", width: widths[0], in: colour)
            line.append("error: " as StaticString)
            line.append(printable: error.description)
            buffer.append(contentsOf: line)
        }
        buffer.append(UInt8(ascii: "\n"))
    }

    private static func cells(_ path: NetworkPath) -> [String] {
        let used = path.usedInterfaces.map(\.name).joined(separator: ",")
        let others = path.availableInterfaces.filter { !path.usedInterfaces.contains($0) }
            .map(\.name).joined(separator: ",")
        let interfaces = [used, others.isEmpty ? "" : "(\(others))"].filter { !$0.isEmpty }
        let traits = [
            (path.supportsIPv4, "IPv4"), (path.supportsIPv6, "IPv6"), (path.supportsDNS, "DNS"),
            (path.isExpensive, "expensive"), (path.isConstrained, "constrained"),
        ].filter(\.0).map(\.1)
        let lists = [interfaces.joined(separator: " "), traits.joined(separator: ",")]
        return [path.status.rawValue] + lists.map { $0.isEmpty ? "-" : $0 }
    }
}

extension Result where Success == PathVerdict {
    fileprivate var colour: Colour {
        switch self {
        case .success(let verdict) where verdict.path.status == .satisfied: .green
        case .success(let verdict) where verdict.path.status == .unsatisfied: .red
        case .success, .failure: .magenta
        }
    }
}
