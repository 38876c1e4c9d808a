// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import NetlinkReachability
import NetlinkRecording
import SystemSupport

/// `netflags timeline`.
struct TimelineCommand: TargetListCommand {
    static let configuration = CommandConfiguration(
        commandNamed: .timeline,
        abstract: "Print when each target was reachable in a recording.",
        usage: "netflags timeline [options] <recording> <target> ...",
        discussion: """
            The recording is one with events of netflags record: a file, a directory, or - for stdin. Each target \
            has a bar as wide as the terminal allows, or as 80 columns; of several states in one column, the worst is \
            shown. It is followed by the share of the recorded time in which packets could be sent.

            A time is RFC 3339 (2031-05-04T03:02:01Z), a date (its 00:00), or a time of day (03:02): the first one in \
            the recording, which then cannot be stdin. Times are in UTC; a given time without a zone is, too.

            Exit status: 0 every target was reachable all the time that is recorded, 1 at least one was not, 2 at \
            least one could not be evaluated, or the recording could not be read, 64 wrong usage. With --json, of \
            the spans that are printed.
            """
    )

    /// The format of the output.
    enum Format: String, OutputFormat {
        case text
        case json
        case prometheus
        case openmetrics
    }

    @OptionGroup(title: "Socket options") var socket: SocketOptions

    @Flag(help: "One JSON object a span of one answer, with its cause.")
    var json = false

    @Option(word: "Of the output.", "format")
    var format: Format?

    @Flag(help: "With --json, only the spans not reachable, or silent.")
    var losses = false

    @Option(file: "With --json or prometheus: go on after the last run.")
    var cursorFile: String?

    @Option(word: "The key host of --json, the label of openmetrics.", "name")
    var host: String?

    @Flag(help: "Print each loss: its cause, effect and length.")
    var explain = false

    @Option(changes: "What ends an interval")
    var changes = ReachabilityReport.Change.flags

    @Option(time: "Begin at this time.")
    var from: RecordedTime?

    @Option(time: "End at this time.")
    var to: RecordedTime?

    @Option(file: "A picture (SVG) too, or instead with - for stdout.", extensions: ["svg"])
    var svg: String?

    @Argument(help: "The recording, or - for stdin.", completion: .file())
    var recording: String

    @Argument(help: .recordedTargets) var targets: [String] = []

    /// Rejects a span whose end is before its start.
    private func checkOrder() throws(UsageError) {
        if case .instant(let from)? = from, case .instant(let to)? = to, from > to {
            throw UsageError("--from is after --to: give the earlier time first")
        }
        let file = targets.first { recording != "-" && access($0.fileName, F_OK) == 0 }
        if let file, access(recording.fileName, F_OK) != 0 {
            throw UsageError(
                "the recording comes first, then the targets: netflags timeline \(file) \(recording)")
        }
        for (option, time) in [("--from", from), ("--to", to)] {
            _ = try RecordedInstant(operand: recording, time: time).checkingInput(for: option)
        }
    }

    func perform() throws -> ExitStatus {
        let format = try checkedFormat()
        try checkOrder()
        let options = try socket.options(isReplay: true)
        let targets = try TargetQuery(targets: targets, options: options).recordedTargets(needsOne: true)
        var rows = try format == .json ? self.rows() : nil
        let timeline = try timeline(targets, options) { timeline in
            // A picture needs all intervals. On stdin, the boots in the recording are known only at its end.
            if svg == nil, cursorFile == nil || Recording.isStored(recording) { try rows?.add(&timeline) }
        }
        // A new recording has no row yet.
        let hasNoRowYet = cursorFile != nil && from == nil && to == nil
        guard timeline.duration > .zero || hasNoRowYet else {
            printError(try absence(timeline))
            return .undetermined
        }
        return try write(timeline, as: format, &rows)
    }

    private func rows() throws -> TimelineRows {
        let isStored = Recording.isStored(recording)
        return try TimelineRows(
            host: host, areLosses: losses, cursorFile: cursorFile,
            of: svg == nil && isStored ? Recording(operand: recording) : nil)
    }

    /// The message if nothing is recorded in the span.
    private func absence(_ timeline: Timeline) throws(ReachabilityError) -> String {
        let name = LineFile(recording).name
        // A recording that is being written is known up to one second ago.
        if from == nil, to == nil, timeline.isBeingWritten {
            return "the recorder of \(name) has just begun: ask again in a second"
        }
        let isStored = Recording.isStored(recording)
        let span = isStored ? try Recording(operand: recording).span() : nil
        let holdsTime = span.map { $0.lowerBound < $0.upperBound } ?? !isStored
        guard from != nil || to != nil, holdsTime else {
            return "\(name) holds no time: record with --events"
        }
        let extent = span.map { ": it is of \($0.lowerBound) to \($0.upperBound)" } ?? ""
        return "\(name) holds no time in the span\(extent): give other times"
    }

    private func checkedFormat() throws(UsageError) -> Format {
        let format = try Format.chosen(format, json: json)
        guard format == .text || svg != "-" else {
            throw UsageError("stdout is either \(format.rawValue) or a picture: give a file for --svg")
        }
        if format != .text || svg == "-" {
            try UsageError.refuse([("--explain", explain)], because: "the losses are explained in text alone")
        }
        if [.text, .prometheus].contains(format), svg == nil {
            try UsageError.refuse(
                [("--changes", changes != .flags)],
                because: "--changes is about JSON objects, openmetrics and pictures")
        }
        let needs: [(option: String, isGiven: Bool, formats: [Format], words: String)] = [
            ("--losses", losses, [.json], "JSON objects: give --json"),
            (
                "--host", host != nil, [.json, .openmetrics],
                "JSON objects and openmetrics: give --json or --format openmetrics"
            ),
            (
                "--cursor-file", cursorFile != nil, [.json, .prometheus],
                "JSON objects and counters: give --json or --format prometheus"
            ),
        ]
        for need in needs where need.isGiven && !need.formats.contains(format) {
            let other = self.format.map { " instead of --format \($0.rawValue)" } ?? ""
            throw UsageError("\(need.option) is about \(need.words)\(other)")
        }
        try UsageError.require(
            cursorFile != "-", "--cursor-file cannot be stdin or stdout: give the name of a file")
        return format
    }

    private func timeline(
        _ named: [NamedTarget],
        _ options: ReachabilityOptions,
        _ onStep: (inout Timeline) throws -> Void
    ) throws -> Timeline {
        let source = Recording(operand: recording)
        let span = [from, to].contains { $0?.isTimeOfDay ?? false } ? try source.span() : nil
        let start = from?.time(in: span)
        let end = to?.time(after: start ?? span?.lowerBound)
        try checkDay(from: start ?? span?.lowerBound, to: end, last: span?.upperBound)
        return try Timeline(
            of: source, named, options, onChangeOf: changes, from: start, to: end, onStep)
    }

    /// Rejects a time of day for the end that is only on the day after a recording.
    private func checkDay(
        from start: Recording.Time?, to end: Recording.Time?, last: Recording.Time?
    ) throws(UsageError) {
        guard to?.isTimeOfDay == true, let start, let end, start.date != end.date, let last,
            last.date < end.date
        else { return }
        let what = from == nil ? "the start of the recording, \(start)" : "--from, \(start)"
        throw UsageError(
            "--to is before \(what), and the recording does not reach the next day: it ends at \(last): "
                + "give a later time")
    }

    private func write(
        _ timeline: Timeline, as format: Format, _ rows: inout TimelineRows?
    ) throws -> ExitStatus {
        if let svg {
            var buffer = ByteBuffer()
            TimelinePicture(timeline, source: LineFile(recording).name).write(to: &buffer)
            try OutputFile.write(&buffer, to: svg, replacing: TimelinePicture.beginning)
        }
        for lane in timeline.lanes {
            if let mistake = mistake(lane) { printError("\(lane.target): \(mistake)") }
        }
        switch format {
        case .text where svg == "-": break
        case .text: try writeText(timeline)
        case .json: return try rows?.finish(timeline) { mistake($0) != nil } ?? .success
        case .prometheus: try writeTotals(timeline)
        case .openmetrics: try TimelineHistory(timeline, host: host).write(Output.standard.deliver)
        }
        return timeline.lanes.reduce(.success) { $0.worse(status(of: $1)) }
    }

    private func writeText(_ timeline: Timeline) throws {
        try Output.standard.deliver { buffer in
            let text = TimelineText(
                timeline: timeline,
                width: Output.standard.terminalWidth ?? 80,
                isColoured: Output.standard.showsColour
            )
            text.write(to: &buffer)
            if explain { text.writeLosses(to: &buffer) }
        }
    }

    /// Writes the counters since the cursor, and moves the cursor.
    private func writeTotals(_ timeline: Timeline) throws {
        let before = try cursorFile.map { path throws(FileFailure) in try TimelineTotals(file: path) }
        var (totals, buffer) = (before ?? TimelineTotals(), ByteBuffer())
        totals.add(timeline)
        totals.write(timeline, to: &buffer)
        // A file that cannot be written is detected before the output; otherwise the next run would write the same
        // rows again.
        if let cursorFile, totals != before { try before?.write(to: cursorFile) }
        try Output.standard.deliver(&buffer)
        if let cursorFile, totals != before { try totals.write(to: cursorFile) }
    }

    /// The error in the name of an interface; `nil` if only a part of the recording is shown, because the interface
    /// can exist in another part.
    private func mistake(_ lane: Timeline.Lane) -> String? {
        from == nil && to == nil ? lane.mistake : nil
    }

    /// The worst state of the recorded intervals of a lane.
    private func status(of lane: Timeline.Lane) -> ExitStatus {
        let isMistyped = mistake(lane) != nil
        return lane.intervals.compactMap(\.answer).reduce(.success) { status, answer in
            status.worse(ExitStatus(isReachable: isMistyped ? nil : answer.isReachable))
        }
    }
}

extension Timeline.Interval {
    /// The version of the keys of a row.
    ///
    /// It changes when a key is removed or changes its meaning.
    static let schema = 1

    /// Writes the interval as a row of `timeline --json`, which `docs/timeline.schema.json` describes.
    func writeJSON(host: String?, target: String, to buffer: inout ByteBuffer) {
        buffer.line { json in
            json.member("schema", Self.schema)
            json.member("host", host)
            json.member("bootID", boot?.description)
            json.member("target", target)
            json.member("from", start.description)
            json.member("to", end.description)
            json.member("durationSeconds", duration)
            json.member("isRecorded", state != .unrecorded)
            json.member("kind", "\(state)")
            json.members(report?.flags ?? [], reachable: isReachable)
            json.pathMembers(
                silence.map(\.interface) ?? report?.interface, hasType: false,
                silence.map(\.evidence.gatewayAddress) ?? report?.gateway, report?.reason, reason,
                answer?.failure)
            json.evidence(silence?.evidence)
            json.member("cause", object: cause) { $1.members($0) }
        }
    }
}
