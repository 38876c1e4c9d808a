// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import NetlinkRecording
import RoutingModel
import SystemSupport

/// `netflags record`.
struct Record: NetflagsCommand {
    static let configuration = CommandConfiguration(
        commandNamed: .record,
        abstract: "Write a recording of routing and its changes.",
        usage: "netflags record [options] <file>\nnetflags record --keep <size> <directory>",
        discussion: """
            FILE is emptied first; a new one is readable only by its owner; - is stdout. `netflags --replay FILE` evaluates \
            it, `ip monitor file FILE` prints it. It holds interfaces, addresses, neighbours, routes, rules, and the \
            names of processes that asked for changes: read it before you pass it on. SIGINT and SIGTERM end the \
            recording.

            With --keep it is a flight recorder. It records changes into files of the directory, each of which \
            begins with a dump, and deletes its oldest files so that they never take more than SIZE. After a power \
            cut the last two seconds can be missing. While it cannot write, as on a full disk, it tries again, at \
            most a minute later, and the recording says so. Where SIZE is too small for the routing tables, it prints \
            the size to use, and records as long as there is room. The directory is created if it is missing; it belongs \
            to one recorder. Every command that reads a recording reads the directory.

            Exit status: 0 when the recording is whole, 2 when it is not, 64 wrong usage.
            """
    )

    @Argument(help: "The file to write, or - for stdout; with --keep a directory.", completion: .file())
    var file: String

    @Flag(help: "After the dump, record changes until interrupted.")
    var events = false

    @Option(
        number: "After the dump, record changes for so many seconds, or such as 30m or 2h.", "duration",
        OptionValue.duration)
    var duration: Duration?

    @Option(
        number:
            "Record changes into a directory, and keep the newest that fit into this size, such as 64M or 1G.",
        "size", OptionValue.size)
    var keep: UInt64?

    @Flag(help: "Record whether anything answers on the default path, as TCP shows, and each change of that.")
    var evidence = false

    @Flag(help: "Print a summary as one JSON object on one line.")
    var json = false

    func perform() throws -> ExitStatus {
        if file.isEmpty { throw UsageError("the name of the file is empty") }
        if let meaning = Self.meaning(of: file) {
            throw UsageError(
                "\"\(file)\" is \(meaning), and record takes the file to write: give another name, or ./\(file)"
            )
        }
        if keep != nil, access(file.fileName, F_OK) == 0, !RecordingStream.isDirectory(file) {
            throw UsageError("\(file) is not a directory: give --keep one, or leave out --keep")
        }
        if keep != nil, file == "-" { throw UsageError("--keep needs a directory: give one instead of -") }
        if keep == nil, RecordingStream.isDirectory(file) {
            throw UsageError("\(file) is a directory: give --keep SIZE, such as --keep 64M, or a file")
        }
        if file == "-", Output.standard.isTerminal {
            throw UsageError("a recording is binary: give a file, or redirect stdout")
        }
        do {
            try report(try record())
        } catch let error as RecordingError {
            throw ReachabilityError(error)
        }
        return .success
    }

    /// The meaning of a word that is probably not intended as a file name; `nil` for other words.
    private static func meaning(of word: String) -> String? {
        if word == "live" { return "the running kernel" }
        if TargetQuery.isRecordedTarget(word) { return "a target" }
        if CommandName.all.contains(word) { return "a command" }
        return if_nametoindex(word) == 0 ? nil : "an interface"
    }

    /// Records.
    ///
    /// The file is opened after the sockets, so that an older recording is not truncated if a socket is refused.
    private func record() throws -> RecordingSummary {
        // A closed pipe makes the write fail instead.
        signal(SIGPIPE, SIG_IGN)
        // A file of the largest allowed size also makes the write fail instead.
        signal(SIGXFSZ, SIG_IGN)
        var recorder = try Recorder()
        if evidence { try recorder.watchEvidence() }
        let stop = RecordingStop(descriptor: try Signals.pipe(), duration: duration)
        if let keep {
            var rotation = try RecordingRotation(path: file, limit: keep) { printError("\($0)") }
            return try recorder.record(into: &rotation, until: stop, notice: notice)
        }
        var writer =
            file == "-"
            ? RecordingWriter(descriptor: STDOUT_FILENO, path: "stdout") : try RecordingWriter(path: file)
        let followsEvents = events || duration != nil
        let summary = try recorder.record(into: &writer, until: followsEvents ? stop : nil)
        try writer.finish()
        return summary
    }

    /// Reports an error that does not end the recording, and its end.
    private func notice(_ error: ReachabilityError?) {
        guard let error else { return printError("\(file): recording resumed") }
        let reason = error.number == 0 ? error.message : SystemCallError.message(error.number)
        printError("\(file): \(reason): recording paused; it resumes when writing works again")
    }

}

// MARK: - Report

extension Record {
    /// Prints the summary on standard output; on standard error if the recording goes to standard output.
    private func report(_ summary: RecordingSummary) throws {
        for table in summary.changingTables {
            printError(
                "\(table.name) changed in each attempt to dump them: entries can be missing or doubled")
        }
        for table in summary.missingTables {
            printError("\(table.name) are missing: \(SystemCallError.message(table.number))")
        }
        let lost = summary.overruns > 0 ? ", events were lost \(summary.overruns) times" : ""
        try (file == "-" ? Output.error : .standard).deliver { text in
            guard json else {
                let name = file == "-" ? "stdout" : file
                return text.line(
                    printable:
                        "\(name): \(summary.messages) messages in the last dump, \(summary.bytes) bytes\(lost)"
                )
            }
            text.line { json in
                json.member("messages", summary.messages)
                json.member("bytes", summary.bytes)
                json.member("overruns", summary.overruns)
                json.member("changing", summary.changingTables.map(\.name))
                json.member("missing", summary.missingTables.map(\.name))
            }
        }
    }
}

extension RecordingAnnotation.Table {
    /// The name with its family, such as "IPv6 routes".
    fileprivate var name: String { (family.map { "\($0) " } ?? "") + "\(table)" }
}
