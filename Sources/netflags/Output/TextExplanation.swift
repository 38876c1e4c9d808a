// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import RoutingModel
import SystemSupport

/// The lines that `--explain` prints below a row: the event that changed the answer, each evaluated address, and what
/// the kernel answered for it.
enum TextExplanation {
    static func write(
        _ report: ReachabilityReport,
        after cause: ChangeCause?,
        to buffer: inout ByteBuffer
    ) {
        if let cause { line("cause", cause.text, to: &buffer) }
        for finding in report.findings { write(finding, to: &buffer) }
        for carrier in report.carriers { line("carrier", carrier.description, to: &buffer) }
        if let source = report.sourceAddress { line("source", source.description, to: &buffer) }
        if let result = report.connectResult { line("socket", result.description, to: &buffer) }
    }

    private static func write(_ finding: ReachabilityReport.Finding, to buffer: inout ByteBuffer) {
        line("asked", "\(finding.address)  \(finding.flags.letters)  \(finding.reason)", to: &buffer)
        if let number = finding.kernelError {
            line("kernel", "refused: \(SystemCallError.message(number))", to: &buffer)
        }
        if let route = finding.route {
            let words = route.attributes.compactMap(\.words).joined(separator: ", ")
            line("route", "\(route.type) \(route.destination) in \(words)", to: &buffer)
            for nexthop in route.nexthops { line("nexthop", nexthop.description, to: &buffer) }
        }
        if let interface = finding.interface, let state = finding.interfaceState {
            let words = "\(interface.name): index \(interface.index), \(interface.type), \(state)"
            line("interface", words, to: &buffer)
        }
    }

    private static func line(_ label: String, _ text: String, to buffer: inout ByteBuffer) {
        buffer.line(label, text, margin: 4, indentation: 14)
    }
}
