// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import NetlinkReachability
internal import NetlinkRecording

/// `netflags watch`.
struct Watch: TargetListCommand {
    static let configuration = CommandConfiguration(
        commandNamed: .watch,
        abstract: "Print the flags of each target at every change.",
        usage: "netflags watch [options] <target> ...",
        discussion: """
            A line has the time in UTC, and then what check prints. Each target has a line at the start and \
            whenever its flags change, with --changes report also its reason, interface, gateway or source \
            address. While lines are not read, older changes are dropped and the newest flags are kept.

            The command of --exec is run by sh -c at each change, one at a time, for the newest change of each \
            target, with the variables that netflags-watch(1) lists.

            With --replay the lines are those that watch would have printed while the recording was made, with the \
            recorded times, as fast as they can be read.

            Exit status: 0 when --count or --until ends it, or the recording ends; 1 when the recording ends before \
            that; 2 when it could not watch, read or write; 64 wrong usage.
            """
    )

    @OptionGroup(title: "Socket options") var socket: SocketOptions

    @Argument(help: .targets) var targets: [String] = []

    @Flag(help: "One JSON object a line; its time is RFC 3339 in UTC.")
    var json = false

    @Flag(
        help:
            "Show below each line the event that led to it, who asked for that, and what was asked and answered."
    )
    var explain = false

    @Flag(help: "Print a line at each change of the verdict, too.")
    var evidence = false

    @Option(changes: "What counts as a change")
    var changes = ReachabilityReport.Change.flags

    @Option(
        number: "End after this many lines.", "n", { try SocketText.number($0, "count", 1...Int.max) })
    var count: Int?

    @Option(word: "End when all are reachable, none is, or each has changed.", "goal")
    var until: WatchGoal?

    @Option(word: "Run a command at each change, with sh -c.", "command", parsedBy: OptionValue.command)
    var exec: String?

    @Option(file: "Print the lines of a recording instead; - for stdin.")
    var replay: String?

    func perform() throws -> ExitStatus {
        var query = try query(socket, isReplay: replay != nil)
        try replay.map(Recording.checkOperand)
        query.recording = replay.map { RecordedInstant(operand: $0) }
        query.format = json ? .json : .text
        query.explains = explain
        let targets = try query.operands()
        guard let replay else { return try watch(query, targets) }
        return try write(query, targets, Recording(operand: replay))
    }

    /// When the run ends, and the programs that it starts.
    private var settings: WatchLines.Settings { (count, until, exec, changes) }
}

// MARK: - The kernel

extension Watch {
    /// Writes a line for each result of the monitor until a signal arrives, the reader of the output is gone, or the
    /// settings end the run.
    ///
    /// - Throws: A usage error if neither the arguments nor standard input contain a target; a failure if standard
    ///   input cannot be read, or standard output is closed at the beginning; an error if netlink is refused at the
    ///   beginning.
    private func watch(_ query: TargetQuery, _ operands: [Operand]) throws -> ExitStatus {
        let events = Result { () throws(ReachabilityError) in
            query.explains ? try WatchedEvents() : nil
        }
        let lines = WatchLines(query, settings, try? events.get())
        defer { lines.finish() }
        let watcher = try QueryWatcher { index, result in lines.write(result, of: index) }
        let end = watcher.end
        let answers = try QueryWatcher<NetworkEvidence> { index, result in
            if let evidence = try? result?.get(), lines.write(evidence, of: index) { end() }
            return false
        }
        watcher.events = try? events.get()
        /// Waits for the end of the run or for input. Returns whether there is input. If the reader of the output is
        /// gone, this ends the process.
        func wait(orReadable descriptor: Int32 = -1) -> Bool {
            // Without events, poll(2) reports only that the other end is closed.
            let event = watcher.wait(for: [(STDOUT_FILENO, 0), (descriptor, POLLIN)])
            if event == 0 { endByClosedPipe() }
            return event == 1
        }
        func waitForInput() {
            guard !wait(orReadable: STDIN_FILENO) else { return }
            lines.finish()
            ExitStatus.success.exit()
        }
        try Output.standard.beginWatching()
        try query.forEachTarget(of: operands, beforeReading: waitForInput) { text, target in
            let index = lines.addTarget(text)
            switch target {
            case .success(let target):
                watcher.events?.follow(target, at: index) { [query] in lines.query(query, $0) }
                if evidence { try? answers.add(.evidence(of: target, options: query.options), at: index) }
                answers.drain()
                try watcher.addOrRetry(lines.query(query, target), at: index)
            case .failure(let error): watcher.handler(index, .failure(error))
            }
        }
        guard lines.targetsAreComplete() else { throw UsageError.noTargets }
        if let error = events.failure { printError("the causes of changes are not shown: \(error)") }
        if !lines.isOver { withExtendedLifetime(answers) { _ = wait() } }
        return .success
    }
}

// MARK: - A recording

extension Watch {
    /// Writes the lines that the monitor would have caused, until the end of the recording or until the settings end
    /// the run.
    ///
    /// - Throws: A usage error for a target that is a name, and if there is no target; the error of a recording that
    ///   cannot be replayed, or of standard input that cannot be read.
    private func write(
        _ query: TargetQuery, _ operands: [Operand], _ recording: Recording
    ) throws -> ExitStatus {
        for case .target(_, let target) in operands {
            try UsageError.wrapping { try Self.recorded(target).get() }
        }
        let named = try query.readTargets(of: operands)
        guard !named.isEmpty else { throw UsageError.noTargets }
        let lines = WatchLines(query, settings)
        for (text, _) in named { _ = lines.addTarget(text) }
        _ = lines.targetsAreComplete()
        let targets = named.map { $0.target.flatMap(Self.recorded) }
        let valid = targets.indices.filter { targets[$0].failure == nil }
        var replay = try recording.replay(
            of: valid.compactMap { try? targets[$0].get() }.map {
                lines.query(query, $0, followingPath: evidence)
            })
        var invalid = targets.enumerated().compactMap { index, target in target.failure.map { (index, $0) } }
        var hasEvidence = false
        func writeInvalid(_ time: Recording.Time?) {
            let time = time ?? Recording.Time(microsecondsSince1970: 0)
            for (index, error) in invalid { lines.write(.failure(error), of: index, at: time) }
            invalid = []
        }
        while !lines.isOver, let step = try replay.next() {
            switch step {
            case .change(let change):
                writeInvalid(replay.start)
                lines.write(change.result, of: valid[change.index], at: change.time, after: change.cause)
            case .mark(let mark):
                if mark.kind.isGap { lines.write(nil) }
                if let damage = mark.kind.damage {
                    printDamage(damage)
                } else if mark.kind != .ended {
                    printError("\(mark.time): \(mark)")
                }
            case .evidence(let found, let time):
                hasEvidence = true
                if evidence { lines.write(found.map { StatedEvidence($0, at: time) }) }
            case .resumed, .event: break
            }
        }
        writeInvalid(replay.start ?? replay.end)
        if evidence, !hasEvidence, !lines.isOver {
            printError("the recording has no evidence; netflags record --evidence adds it")
        }
        return lines.isOver || !lines.hasEnd ? .success : .unreachable
    }

    /// The target, or the error for a name, because a recording contains no names.
    private static func recorded(_ target: ReachabilityTarget) -> ParsedTarget {
        if case .host(let name) = target.kind { .failure(.recordedName(name)) } else { .success(target) }
    }
}

extension WatchGoal: ExpressibleByArgument {}
