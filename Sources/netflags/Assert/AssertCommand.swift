// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkReachability
internal import NetlinkRecording

/// `netflags assert`.
struct Assert: NetflagsCommand {
    static let configuration = CommandConfiguration(
        commandNamed: .assert,
        abstract: "Check a file of expectations.",
        usage: "netflags assert [options] <file>",
        discussion: """
            A line of the file has a target of check, and what its answer should be, in any order:

              TARGET [reachable | unreachable] [via GATEWAY] [dev NAME]
                     [from SOURCE] [answers delivered | answers dropped]
                     [flags LETTERS] [socket options of check]

            A line without reachable, unreachable and flags expects reachable. answers delivered expects that this \
            host also takes an answer on the interface that packets leave through. A word that begins with # begins a \
            comment.

            Exit status: 0 every expectation holds, 1 at least one does not, 2 at least one could not be evaluated, \
            or a file could not be read, 64 wrong usage, also in the file.
            """
    )

    @Flag(help: "One JSON object a line of the file; with --always a span.")
    var json = false

    @Flag(help: "Print each span of the recording in which an expectation does not hold.")
    var always = false

    @OptionGroup var recorded: ReplayOptions

    @Argument(help: "The expectations, or - for stdin.", completion: .file())
    var file: String

    func perform() throws -> ExitStatus {
        let recording = try recorded.instant()
        guard recording?.operand != "-" || file != "-" else {
            throw UsageError("stdin is either the recording or the expectations: give a file for one of them")
        }
        guard !always || recording != nil && recording?.time == nil else {
            throw UsageError("--always needs --replay, and excludes --at")
        }
        let file = try ExpectationFile(file, isReplay: recording != nil)
        let format = AssertFormat(file: file.name, isJSON: json)
        if always, let recording { return try checkAlways(file, recording.operand, format) }
        let source = try recording?.source() ?? .kernel
        return try Output.standard.deliver { file.check(source, format, to: &$0) }
    }

    private func checkAlways(
        _ file: ExpectationFile,
        _ operand: String,
        _ format: AssertFormat
    ) throws -> ExitStatus {
        for line in file.lines where line.expectation.target.isName {
            throw UsageError(
                "\(file.name):\(line.number): \(ReachabilityError.recordedName(line.expectation.name))")
        }
        // A replay evaluates queries of one socket only.
        let sockets = Dictionary(grouping: file.lines.map(\.expectation), by: \.options)
        try UsageError.require(
            operand != "-" || sockets.count == 1,
            "stdin can be read only once, and the lines are about several sockets: give a file")
        var spans: [NetworkState.Expectation: [NetworkState.Expectation.Span]] = [:]
        var mistakes: [NetworkState.Expectation: String] = [:]
        for (options, expectations) in sockets {
            let timeline = try Timeline(
                of: Recording(operand: operand), expectations.map { ($0.name, $0.target) }, options,
                onChangeOf: .report)
            guard timeline.duration > .zero else {
                printError("\(LineFile(operand).name) holds no time: record with --events")
                return .undetermined
            }
            for (expectation, lane) in zip(expectations, timeline.lanes) {
                spans[expectation] = expectation.spans(of: lane)
                mistakes[expectation] = lane.mistake
            }
        }
        var status = ExitStatus.success
        try Output.standard.deliver { buffer in
            for line in file.lines {
                if let mistake = mistakes[line.expectation] {
                    printError("\(file.name):\(line.number): \(mistake)")
                    status = status.worse(.undetermined)
                    continue
                }
                let spans = spans[line.expectation] ?? []
                for span in spans { status = status.worse(span.outcome.exitStatus) }
                format.write(line, spans, to: &buffer)
            }
        }
        return status
    }
}
