// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import RoutingModel

/// The lines that `--explain` prints below a row: each evaluated address and what the kernel answered for it.
enum TextExplanation {
    static func write(_ report: ReachabilityReport, to buffer: inout ByteBuffer) {
        for finding in report.findings { write(finding, to: &buffer) }
        if let source = report.sourceAddress { line("source", source.description, to: &buffer) }
        if let result = report.connectResult { line("socket", result.description, to: &buffer) }
    }

    private static func write(_ finding: ReachabilityReport.Finding, to buffer: inout ByteBuffer) {
        line("asked", "\(finding.address)  \(finding.flags.letters)  \(finding.reason)", to: &buffer)
        if let number = finding.kernelError {
            line("kernel", "refused: \(systemMessage(number))", to: &buffer)
        }
        if let route = finding.route {
            line("route", words(route), to: &buffer)
            for nexthop in route.nexthops { line("nexthop", words(nexthop, finding), to: &buffer) }
        }
        if let link = finding.link { line("interface", words(link, finding.interface), to: &buffer) }
    }

    private static func line(_ label: String, _ text: String, to buffer: inout ByteBuffer) {
        buffer.line(label, text, margin: 4, indentation: 14)
    }

    private static func words(_ route: Route) -> String {
        var words = "\(route.type) \(route.destination) in table \(Route.tableName(route.table))"
        words += ", metric \(route.priority)"
        if route.nexthopID != 0 { words += ", nexthop id \(route.nexthopID)" }
        return words
    }

    private static func words(_ nexthop: Nexthop, _ finding: ReachabilityReport.Finding) -> String {
        let index = nexthop.interfaceIndex
        var words = "on \(finding.interfaceNames[index] ?? "interface \(index)")"
        if let gateway = nexthop.gateway { words = "via \(gateway) " + words }
        if let encapsulation = nexthop.encapsulation?.value { words = "encap \(encapsulation) " + words }
        if nexthop.weight != 1 { words += ", weight \(nexthop.weight)" }
        for flag in nexthop.flags.words { words += ", \(flag)" }
        return words
    }

    private static func words(_ link: Link, _ interface: NetworkInterface?) -> String {
        var words = "\(link.name): index \(link.index)"
        if let interface { words += ", \(interface.type.rawValue)" }
        if !link.kind.isEmpty { words += ", kind \(link.kind)" }
        words += link.flags.contains(.up) ? ", up" : ", not up"
        words += link.flags.contains(.lowerUp) ? ", lower-up" : ", not lower-up"
        return words + ", operstate \(link.operationalState)"
    }
}
