// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
internal import NetlinkPlanning
import NetlinkReachability
import NetlinkRecording

/// `netflags spof`.
struct Spof: TargetListCommand {
    static let configuration = CommandConfiguration(
        commandNamed: "spof",
        abstract: "Print the single points of failure of a target.",
        usage: "netflags spof [options] <target> ...",
        discussion: """
            Each link, carrier, gateway, address, route and rule that the answer uses is taken away, one at a time: \
            none (the answer stays), fallback (packets take another path, which is named), lost, or unknown. Nothing is \
            touched.

            Exit status: 0 no loss alone cuts a target off, 1 at least one does, or a target is not reachable, 2 at \
            least one target or loss could not be evaluated, 64 wrong usage.
            """
    )

    @OptionGroup(title: "Socket options") var socket: SocketOptions

    @Flag(help: "One JSON object a loss.")
    var json = false

    @Option(
        word:
            "text, json or prometheus (how many losses cut a target off, for node_exporter's textfile collector).",
        "format")
    var format: TargetQuery.Format?

    @OptionGroup var recorded: RecordingListOptions

    @Argument(help: .recordedTargets) var targets: [String] = []

    func perform() throws -> ExitStatus {
        let format = try TargetQuery.Format.chosen(format, json: json)
        let options = try socket.options(isReplay: true)
        let targets = try recordedTargets(options)
        let recordings = try recorded.list()
        if format == .prometheus, recordings?.isNamed == true {
            throw UsageError("--format prometheus is for one host: give one recording, or none")
        }
        guard let recordings else {
            return try Output.standard.deliver { search(try .live(), targets, options, format, nil, to: &$0) }
        }
        return try recordings.forEach(
            isJSON: format == .json, finding: "are cut off, or would be by one loss",
            errorRow: Self.errorRow
        ) { instant, routing, buffer in
            search(NetworkState(routing), targets, options, format, instant.operand, to: &buffer)
        }
    }

    private func search(
        _ state: NetworkState,
        _ targets: [NamedTarget],
        _ options: ReachabilityOptions,
        _ format: TargetQuery.Format,
        _ recording: String?,
        to buffer: inout ByteBuffer
    ) -> ExitStatus {
        var (metrics, counted) = (MetricsText(), Set<String>())
        let search = LossSearch(state)
        var status = ExitStatus.success
        for (text, target) in targets {
            let (answer, losses, omitted) = search.losses(of: target, options)
            if omitted > 0 {
                printError(
                    "\(text): \(omitted) more things that it uses were not taken away: try them with what-if")
            }
            if let error = answer.failure?.description ?? answer.mistake, format != .text {
                printError("\(text): \(error)")
            }
            switch format {
            case .text: writeTable(text, answer, losses, to: &buffer)
            case .json: writeObjects(text, losses, recording, to: &buffer)
            case .prometheus:
                // A target that is not reachable has no sample.
                guard answer.isReachable == true, counted.insert(text).inserted else { break }
                for kind in Loss.Kind.allCases {
                    let count = losses.count { $0.kind == kind && $0.outcome == .lost }
                    metrics.add(
                        "netflags_fatal_losses",
                        "How many things of a kind each cut the target off if they alone are lost.",
                        [("target", text), ("kind", kind.rawValue)], "\(count)")
                }
            }
            let isUnknown =
                omitted > 0 || answer.isReachable == nil || answer.mistake != nil
                || losses.contains { $0.outcome == .unknown }
            let isSafe = answer.isReachable == true && losses.allSatisfy { $0.outcome != .lost }
            status = status.worse(ExitStatus(isReachable: isUnknown ? nil : isSafe))
        }
        metrics.write(to: &buffer)
        return status
    }

    /// The row of a recording that could not be read.
    private static func errorRow(_ error: String) -> KeyValuePairs<String, String?> {
        let outcome = Loss.Outcome.unknown.rawValue
        return [
            "target": nil, "kind": nil, "description": error, "outcome": outcome, "old": nil, "new": nil,
        ]
    }

    /// Writes a JSON object for each loss.
    private func writeObjects(
        _ target: String, _ losses: [Loss], _ recording: String?, to buffer: inout ByteBuffer
    ) {
        for loss in losses {
            buffer.line { json in
                if let recording { json.member("recording", recording) }
                json.member("target", target)
                json.member("kind", loss.kind.rawValue)
                json.member("description", loss.description)
                json.member("outcome", loss.outcome.rawValue)
                json.member("old", object: loss.old) { $1.members($0, reason: $0.reason) }
                json.member("new", object: loss.new) { $1.members($0, reason: loss.reason) }
            }
        }
    }

    private func writeTable(_ target: String, _ answer: Answer, _ losses: [Loss], to buffer: inout ByteBuffer)
    {
        buffer.line(printable: "\(target): \(answer.failure?.description ?? answer.reason)")
        var table = TextTable(
            ["  KIND", "DESCRIPTION", "OUTCOME", "REASON"], widths: [9, 0, 8], for: .standard)
        let colours: [Loss.Outcome: Colour] = [.fallback: .green, .lost: .red, .unknown: .green]
        for loss in losses {
            table.add("  \(loss.kind.rawValue)")
            table.add(loss.description)
            table.add(loss.outcome.rawValue, in: colours[loss.outcome])
            if loss.outcome != .none { table.add(loss.reason) }
            table.endRow(isWhole: true)
        }
        table.flush(to: &buffer)
    }
}
