// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkRecording

/// `netflags diff`.
struct Diff: TargetListCommand {
    static let configuration = CommandConfiguration(
        commandNamed: .diff,
        abstract: "Print what two recordings answer differently, and why.",
        usage: "netflags diff [options] <old> <new> [<target> ...]",
        discussion: """
            OLD and NEW are recordings, - for stdin, or live for the running kernel; ./live is a file of that name. \
            The state at the end of each counts, or that of --from and --to: both can be the same recording.

            A target whose flags, interface or gateway differ has a line with its name, one with the old answer \
            (-), one with the new (+), and one for each link, address, route or rule that differs and that the \
            answers have read. If NEW has recorded the change, the line ends with who asked for it. Without a target it is the default path, that of each family, and an address of \
            each network whose routes, rules or addresses differ, of a hundred at most.

            Exit status: 0 no target differs, 1 at least one does, 2 at least one could not be evaluated, 64 wrong \
            usage.
            """
    )

    @OptionGroup(title: "Socket options") var socket: SocketOptions

    @Flag(help: "One JSON object a target.")
    var json = false

    @Option(time: "Take the old recording as of this time: RFC 3339, a date or a time of day, in UTC.")
    var from: RecordedTime?

    @Option(time: "Take the new recording as of this time.")
    var to: RecordedTime?

    @Argument(help: "The older recording, - for stdin, or live.", completion: .file())
    var old: String

    @Argument(help: "The newer recording, - for stdin, or live.", completion: .file())
    var new: String

    @Argument(help: .recordedTargets) var targets: [String] = []

    func perform() throws -> ExitStatus {
        try UsageError.require(
            old != "-" || new != "-", "stdin can be read only once: give a file for one of the recordings")
        try UsageError.require(
            old != "live" || new != "live", "both are the running kernel: give a recording for one of them")
        let options = try socket.options(isReplay: old != "live" && new != "live")
        let targets = try TargetQuery(targets: targets, options: options).recordedTargets()
        let (first, last) = (try Self.instant(old, from, "--from"), try Self.instant(new, to, "--to"))
        let before = try first?.routing() ?? .live()
        let after = try last?.routing(notingOriginsSince: before.time) ?? .live()
        let comparison = RecordedComparison(before, after)
        let format = DifferenceFormat(text: comparison.text, isJSON: json, origin: comparison.origin(of:))
        return try comparison.print(targets, options, format)
    }

    /// The recording for an operand, at an instant; `nil` for `live`.
    private static func instant(
        _ operand: String,
        _ time: RecordedTime?,
        _ option: String
    ) throws(UsageError) -> RecordedInstant? {
        guard operand == "live" else {
            return try RecordedInstant(operand: operand, time: time).checkingInput(for: option)
        }
        guard time == nil else { throw UsageError("\(option) is for a recording: live is the present state") }
        return nil
    }
}
