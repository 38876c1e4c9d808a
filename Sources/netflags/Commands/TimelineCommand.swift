// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkPlanning
import NetlinkReachability
import NetlinkRecording

/// `netflags timeline`.
struct TimelineCommand: TargetListCommand {
    static let configuration = CommandConfiguration(
        commandName: "timeline",
        abstract: "Print when each target was reachable in a recording.",
        usage: "netflags timeline [options] <recording> <target> ...",
        discussion: """
            The recording is one with events of netflags record: a file, a directory, or - for stdin. Each target \
            has a bar as wide as the terminal allows, or as 80 columns; of several states in one column, the worst is \
            shown. It is followed by the share of the recorded time in which packets could be sent. Times are in UTC.

            A time is RFC 3339 (2031-05-04T03:02:01Z), or a time of day (03:02 or 03:02:01): the first one in the \
            recording, which then cannot be stdin.

            Exit status: 0 every target was reachable all the time that is recorded, 1 at least one was not, 2 at \
            least one could not be evaluated, or the recording could not be read, 64 wrong usage.
            """
    )

    @OptionGroup(title: "Socket options") var socket: SocketOptions

    @Flag(help: "One JSON object a span of one answer, with its cause.")
    var json = false

    @Flag(help: "With --json, only the spans that are not reachable.")
    var losses = false

    @Option(file: "With --json, each span once over all runs, at its end.")
    var cursorFile: String?

    @Option(help: ArgumentHelp("With --json, the value of the key host.", valueName: "name"))
    var host: String?

    @Flag(help: "Print for each loss the first event that made it so, what that did, and how long it lasted.")
    var explain = false

    @Option(changes: "What ends an interval")
    var changes = ReachabilityReport.Change.flags

    @Option(time: "Begin at this time.")
    var from: RecordedTime?

    @Option(time: "End at this time.")
    var to: RecordedTime?

    @Option(file: "Write a picture (SVG) too, or instead with - for stdout.", extensions: ["svg"])
    var svg: String?

    @Argument(help: "The recording, or - for stdin.", completion: .file())
    var recording: String

    @OptionGroup var named: RecordedTargets

    mutating func append(_ more: [String]) { named.targets += more }

    func perform() throws -> ExitStatus {
        guard !json || svg != "-" else {
            throw UsageError("stdout is either JSON or a picture: give a file for --svg")
        }
        guard json || !losses && cursorFile == nil && host == nil else {
            throw UsageError("--losses, --cursor-file and --host are about JSON objects: give --json too")
        }
        guard cursorFile != "-" else {
            throw UsageError("a cursor is a file that is replaced: give the name of one to --cursor-file")
        }
        let options = try socket.options(isReplay: true)
        let targets = try named.parsed(options)
        let timeline = try timeline(targets, options)
        // A recorder that has just begun has no row yet.
        let hasNoRowYet = cursorFile != nil && from == nil && to == nil
        guard timeline.duration > .zero || hasNoRowYet else {
            printError("\(recording) holds no time in the span: record with --events, or give other times")
            return .undetermined
        }
        return try write(timeline)
    }

    private func timeline(
        _ named: [NamedTarget],
        _ options: ReachabilityOptions
    ) throws(ReachabilityError) -> Timeline {
        let source = Recording(operand: recording)
        let day: Recording.Time? =
            [from, to].contains { $0?.isTimeOfDay ?? false } ? try source.firstTime() : nil
        let start = from?.time(after: day)
        let end = to?.time(after: start ?? day)
        return try Timeline(
            of: source, named, options, onChangeOf: changes, from: start, to: end)
    }

    private func write(_ timeline: Timeline) throws -> ExitStatus {
        if let svg {
            var buffer = ByteBuffer()
            TimelinePicture(timeline, source: recording == "-" ? "stdin" : recording).write(to: &buffer)
            try OutputFile.write(&buffer, to: svg)
        }
        guard !json else { return try writeRows(timeline) }
        try Output.standard.deliver { buffer in
            guard svg != "-" else { return }
            let text = TimelineText(
                timeline: timeline,
                width: Output.standard.terminalWidth ?? 80,
                isColoured: Output.standard.showsColour
            )
            text.write(to: &buffer)
            if explain { text.writeLosses(to: &buffer) }
        }
        return Self.status(timeline.lanes.flatMap(\.intervals))
    }

    /// Writes JSON Lines: one object an interval, target by target.
    ///
    /// - Returns: The worst state of the intervals since the cursor.
    private func writeRows(_ timeline: Timeline) throws -> ExitStatus {
        let before = try cursorFile.map { path throws(FileFailure) in try TimelineCursor(file: path) }
        var (cursor, status, rows) = (before, ExitStatus.success, ByteBuffer())
        for lane in timeline.lanes {
            let intervals = cursor?.advance(over: lane) ?? lane.intervals[...]
            status = status.worse(Self.status(intervals))
            for interval in intervals where !losses || interval.isReachable == false {
                TimelineRow(host: host, target: lane.target, interval: interval).writeJSON(to: &rows)
            }
        }
        // A file that cannot be written is found before the rows are: the next run would write them again.
        if let cursorFile, cursor != before { try before?.write(to: cursorFile) }
        try Output.standard.deliver(&rows)
        if let cursorFile, cursor != before { try cursor?.write(to: cursorFile) }
        return status
    }

    /// The worst state of intervals that are recorded.
    private static func status(_ intervals: some Sequence<Timeline.Interval>) -> ExitStatus {
        intervals.compactMap(\.answer).reduce(.success) { $0.worse(ExitStatus(isReachable: $1.isReachable)) }
    }
}
