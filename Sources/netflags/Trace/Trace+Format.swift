// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

extension Trace.End.Outcome {
    /// The exit status of `netflags trace`.
    var exitStatus: ExitStatus {
        switch self {
        case .delivered: .success
        case .dropped: .unreachable
        case .unrecorded, .undecided: .undetermined
        }
    }

    fileprivate var colour: Colour { [.delivered: .green, .dropped: .red][self] ?? .magenta }
}

extension Trace {
    /// Writes a row for each hop, and a line for the end.
    func writeText(_ end: End, for output: Output, to buffer: inout ByteBuffer) {
        var table = TextTable(["WAY", "HOST", "IN", "OUT", "GATEWAY"], widths: [0, 0, 0, 0], for: output)
        for hop in hops {
            table.add(hop.direction.rawValue)
            table.add(hop.host.name)
            table.add(hop.input ?? "-")
            table.add(hop.output?.name ?? "-")
            table.add(hop.gateway?.description ?? "-")
            table.endRow()
        }
        table.flush(to: &buffer)
        buffer.append(in: output.showsColour ? end.outcome.colour : nil) { $0.append(end.outcome.rawValue) }
        buffer.line(printable: sentence(about: end))
    }

    /// What follows the outcome in the last line.
    private func sentence(about end: End) -> String {
        let way = hops.last?.direction.rawValue ?? ""
        guard end.outcome != .delivered else {
            return hops.count == 1 ? ": \(end.words)" : " there and back"
        }
        let sender = end.icmpError.map { "; the sender gets ICMP \($0)" } ?? ""
        return " on the way \(way) at \(end.host): \(end.words)\(sender)"
    }

    /// Writes the trace as a JSON object.
    func writeJSON(_ end: End, to buffer: inout ByteBuffer) {
        buffer.line { json in
            json.member("target", target)
            json.member("sourceAddress", source)
            json.member("outcome", end.outcome.rawValue)
            json.member("direction", hops.last?.direction.rawValue)
            json.member("host", end.host)
            json.member("code", end.code)
            json.member("reason", end.words)
            json.member("icmp", end.icmpError?.description)
            let isKnown = end.outcome.exitStatus != .undetermined
            json.member("error", isKnown ? nil : "\(end.outcome.rawValue): \(end.words)")
            json.member("hops", objects: hops) { hop, json in
                json.member("direction", hop.direction.rawValue)
                json.member("host", hop.host.name)
                json.member("inputInterface", hop.input)
                json.member("interface", hop.output?.name)
                json.member("gateway", hop.gateway)
            }
        }
    }
}
