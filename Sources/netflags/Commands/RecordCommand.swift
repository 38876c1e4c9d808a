// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import NetlinkRoute
import RoutingModel

/// `netflags record`.
struct Record: NetflagsCommand {
    static let configuration = CommandConfiguration(
        commandName: "record",
        abstract: "Write a recording of the routing state (and events).",
        discussion: """
            FILE is emptied first; `-` is standard output. `netflags --replay FILE` judges it, `ip monitor file \
            FILE` prints it. It holds interfaces, addresses, neighbours, routes and rules: look through it before \
            you hand it on. SIGINT and SIGTERM end it cleanly.

            Exit status: 0 when the recording is whole, 2 when not.
            """
    )

    @Argument(help: "The file to write, or - for standard output.")
    var file: String

    @Flag(help: "Go on recording events after the first dump, until interrupted.")
    var events = false

    @Option(help: ArgumentHelp("Record events for this long.", valueName: "seconds"))
    var duration: Double?

    @Flag(help: "Tell what was recorded as one JSON object on one line.")
    var json = false

    func perform() throws(UsageFault) -> ExitStatus {
        if file.isEmpty { throw UsageFault("the name of the file is empty") }
        if let duration, !(0...1e9).contains(duration) {
            throw UsageFault("--duration takes seconds, from 0 to 1000000000")
        }
        if file == "-", Output.standard.isTerminal {
            throw UsageFault("a recording is binary: name a file, or send standard output into one")
        }
        return write()
    }

    private func write() -> ExitStatus {
        do {
            return report(try record()) ? .success : .undetermined
        } catch let fault as RecordingFault {
            complain("\(fault)")
        } catch let fault as RoutingFault {
            let words = [fault.text, fault.number == 0 ? "" : systemMessage(fault.number)]
            complain("cannot \(fault.operation): " + (words.first { !$0.isEmpty } ?? "no usable answer"))
        } catch {
            complain("cannot record: \(error)")
        }
        return .undetermined
    }

    /// Opens the kernel's side first: a host that refuses it does not cost an older recording.
    private func record() throws -> RecordingSummary {
        // A reader of standard output that goes away is a fault like others.
        signal(SIGPIPE, SIG_IGN)
        var recorder = try Recorder()
        let interruption = try Interruption()
        var writer = try openWriter()
        let stop = RecordingStop(
            descriptor: interruption.descriptor,
            duration: duration.map { .milliseconds(Int64($0 * 1_000)) }
        )
        let summary =
            events || duration != nil
            ? try recorder.record(into: &writer, until: stop) : try recorder.record(into: &writer)
        try writer.finish()
        return summary
    }

    private func openWriter() throws(RecordingFault) -> RecordingWriter {
        if file == "-" { return RecordingWriter(descriptor: STDOUT_FILENO, path: "standard output") }
        return try RecordingWriter(path: file)
    }
}

// MARK: - Report

extension Record {
    /// Says what came of it: on standard output, or on standard error when the recording is there.
    private func report(_ summary: RecordingSummary) -> Bool {
        for table in summary.changingTables {
            complain("\(table.name) changed in each attempt to dump them: entries can be missing or doubled")
        }
        for table in summary.missingTables {
            complain("\(table.name) are missing: \(systemMessage(table.number))")
        }
        var text = ByteBuffer()
        if json {
            summary.writeJSON(to: &text)
        } else {
            text.append(printable: "\(file): \(summary.messages) messages in the last dump, ")
            text.append("\(summary.bytes) bytes")
            if summary.overruns > 0 { text.append(", events were lost \(summary.overruns) times") }
        }
        text.append(UInt8(ascii: "\n"))
        return (file == "-" ? Output(descriptor: STDERR_FILENO) : .standard).deliver(&text)
    }
}

extension RecordingSummary {
    fileprivate func writeJSON(to json: inout ByteBuffer) {
        json.object { json in
            json.key("messages")
            json.value(messages)
            json.key("bytes")
            json.value(bytes)
            json.key("overruns")
            json.value(overruns)
            json.key("changing")
            json.array(changingTables.map(\.name))
            json.key("missing")
            json.array(missingTables.map(\.name))
        }
    }
}

extension RecordingAnnotation.Table {
    /// "IPv6 routes" and the like.
    fileprivate var name: String {
        switch family {
        case .v4: "IPv4 \(table)"
        case .v6: "IPv6 \(table)"
        default: "\(table)"
        }
    }
}
