// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
internal import NetlinkPlanning
import NetlinkReachability
import NetlinkRecording

/// `netflags watch`.
struct Watch: TargetListCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Print the flags of each target at every change.",
        usage: "netflags watch [options] <target> ...",
        discussion: """
            A line has the time in UTC, and then what check prints. Each target has a line at the start and \
            whenever its flags change, with --changes report also its reason, interface, gateway or source \
            address. While lines are not read, older changes are dropped and the newest flags are kept.

            The command of --exec is run by sh -c at each change, not for the first flags: one at a time, for the \
            newest change of each target, with the variables that netflags-watch(1) lists.

            With --replay the lines are those that watch would have printed while the recording was made, with the \
            recorded times, as fast as they can be read.

            Exit status: 0 when --count or --until ends it, or the recording ends; 1 when the recording ends before \
            that; 2 when it could not watch, read or write; 64 wrong usage.
            """
    )

    @OptionGroup(title: "Socket options") var socket: SocketOptions

    @OptionGroup var operands: TargetArguments

    mutating func append(_ more: [String]) { operands.targets += more }

    @Flag(help: "One JSON object a line; its time is RFC 3339 in UTC.")
    var json = false

    @Flag(
        help:
            "Show below each line the event that led to it, who asked for that, and what was asked and answered."
    )
    var explain = false

    @Option(changes: "What counts as a change")
    var changes = ReachabilityReport.Change.flags

    @Option(
        number: "End after this many lines.", "n", { try SocketText.number($0, "count", 1...Int.max) })
    var count: Int?

    @Option(
        help: ArgumentHelp(
            "End when all are reachable, none is, or each has changed.",
            valueName: "goal"
        )
    )
    var until: WatchGoal?

    @Option(
        help: ArgumentHelp("Run a command at each change, with sh -c.", valueName: "command"),
        transform: OptionValue.command
    )
    var exec: String?

    @Option(file: "Print the lines of a recording instead; - for stdin.")
    var replay: String?

    func perform() throws -> ExitStatus {
        var query = try TargetQuery(operands, socket, isReplay: replay != nil)
        try replay.map(Recording.checkOperand)
        query.recording = replay.map { RecordedInstant(operand: $0) }
        query.format = json ? .json : .text
        query.explains = explain
        let targets = try query.operands()
        let settings = (count, until, exec, changes)
        guard let replay else { return try WatchRun(query, settings).run(targets) }
        return try WatchReplay(query: query, lines: WatchLines(query, settings))
            .run(targets, Recording(operand: replay))
    }
}

extension WatchGoal: ExpressibleByArgument {}
