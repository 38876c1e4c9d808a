// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording
import RoutingModel
import SystemSupport

/// A table for people, with one row for each target.
///
/// The columns are the time of `watch`, the target, the flags' letters (`WR ctiCDld`), `yes`, `no` or `?`, the address
/// if a target can be a name, the interface, the gateway, and the reason. A row without a report has its reason or
/// error after `yes`, `no` or `?`.
struct TextFormat: LineFormat {
    /// The greatest number of rows that are formatted together.
    private static let batchSize = 256
    private static let widestTarget = 48

    private let showsAddress: Bool
    private let explains: Bool
    private let lineWidth: Int?
    /// The greatest width of a target that leaves room for `yes`, `no` or `?` and some of the remaining columns.
    private let targetLimit: Int
    private var table: TextTable

    /// - Parameters:
    ///   - query: The targets, and whether the rows are explained.
    ///   - isTimed: Whether the rows have a time.
    ///   - output: The output for the rows.
    init(_ query: TargetQuery, isTimed: Bool, for output: Output) {
        showsAddress = query.targets.contains { text in
            text == "-" || (try? query.target(text))?.isName ?? false
        }
        explains = query.explains
        lineWidth = output.terminalWidth
        let time = isTimed ? Recording.Time.now.description(forWidth: lineWidth).utf8.count + 2 : 0
        // The letters, the word and two gaps, and the rest: 80 columns hold the longest IPv6 address after a time.
        let (flags, rest) = (19, 7)
        targetLimit = lineWidth.map { max(8, $0 - time - flags - rest) } ?? .max
        let target = query.targets.filter { $0 != "-" }.map(\.columns).max() ?? 0
        table = TextTable(
            (isTimed ? ["TIME"] : []) + ["TARGET", ReachabilityFlags.heading, "UP"]
                + (showsAddress ? ["ADDRESS"] : []) + ["DEV", "GATEWAY", "REASON"],
            widths: (isTimed ? [0] : []) + [min(target, Self.widestTarget, targetLimit), 0, 0]
                + (showsAddress ? [1, 1, 1] : [1, 1]),
            for: output)
    }

    mutating func write(_ line: TargetLine, to buffer: inout ByteBuffer) {
        if let time = line.time { table.add(time.description(forWidth: lineWidth)) }
        table.add(line.target, cutTo: targetLimit, widest: min(Self.widestTarget, targetLimit))
        table.add(line.flags.letters)
        switch line.exitStatus {
        case .success: table.add("yes", in: .green)
        case .unreachable: table.add("no ", in: line.flags.contains(.reachable) ? .magenta : .red)
        case .undetermined, .usage: table.add("?  ", in: .magenta)
        }
        switch line.outcome {
        case .success(let report): write(report, line)
        case .failure(let error):
            table.add("error: \(error)")
            table.endRow(isWhole: true)
        case nil:
            table.add(line.reason)
            table.endRow()
        }
        if table.count == Self.batchSize { flush(to: &buffer) }
    }

    private mutating func write(_ report: ReachabilityReport, _ line: TargetLine) {
        // A target that is an address needs no second column for the address.
        if showsAddress { table.add(report.target.isName ? report.address?.description ?? "-" : "-") }
        table.add(report.interface?.name ?? "-")
        table.add(report.gateway?.description ?? "-")
        let evidence = explains ? nil : try? line.evidence?.get()
        table.add(report.reason.description + (evidence.map { "; \($0)" } ?? ""))
        // A reason why packets cannot leave is not cut; other reasons repeat the columns before them.
        table.endRow(isWhole: line.exitStatus == .unreachable || evidence != nil) {
            if explains { $0.explanation(of: report, line) }
        }
    }

    mutating func flush(to buffer: inout ByteBuffer) {
        table.flush(to: &buffer)
    }
}

extension ReachabilityFlags {
    /// The heading of the column of letters: the letter of each flag.
    static let heading = "WR ctiCDld"
}

/// The lines that `--explain` prints below a row: the event that changed the answer, each evaluated address, and what
/// the kernel answered for it.
extension ByteBuffer {
    fileprivate mutating func explanation(of report: ReachabilityReport, _ target: TargetLine) {
        if !target.causes.isEmpty {
            let words = target.causes.map(\.text).joined(separator: "; ")
            explain("cause", target.causes.count > 1 ? "one of: \(words)" : words)
        }
        for finding in report.findings { explanation(of: finding, from: report.sourceAddress) }
        for carrier in report.carriers { explain("carrier", carrier.description) }
        if let rules = report.rules, !rules.areStandard { explain("rules", rules.description) }
        if let pathMTU = report.pathMTU { explain("mtu", pathMTU.description) }
        if let source = report.sourceAddress { explain("source", source.description) }
        if let result = report.connectResult { explain("socket", result.description) }
        if let returns = report.returns { explain("returns", returns.description) }
        switch target.evidence {
        case .success(let evidence)? where evidence.verdict != .none || evidence.lastAnswer != nil:
            explain("evidence", evidence.description)
        case .failure(let error)? where report.isReachable: explain("evidence", "unknown: \(error.cause)")
        default: break
        }
        if report.isReachable { explain("note", "not looked at: firewall") }
    }

    private mutating func explanation(of finding: ReachabilityReport.Finding, from source: IPAddress?) {
        explain("asked", "\(finding.address)  \(finding.flags.letters)  \(finding.reason)")
        if let number = finding.kernelError {
            explain("kernel", "refused: \(SystemCallError.message(number))")
        }
        if let route = finding.route {
            let words = route.attributes.compactMap(\.words).joined(separator: ", ")
            explain("route", "\(route.type) \(route.destination) in \(words)")
            for nexthop in route.nexthops { explain("nexthop", nexthop.description) }
        }
        if let interface = finding.interface, let state = finding.interfaceState {
            let words = "\(interface.name): index \(interface.index), \(interface.type), \(state)"
            explain("interface", words)
            if let source, source.family == finding.address.family {
                let isTunnel = finding.flags.contains(.transientConnection)
                for words in state.warnings(from: source, on: interface.name, isTunnel: isTunnel) {
                    explain("warning", words)
                }
            }
        }
    }

    private mutating func explain(_ label: String, _ text: String) {
        line(label, text, margin: 4, indentation: 14)
    }
}
