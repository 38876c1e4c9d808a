// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkReachability
import NetlinkRecording

/// The options of commands that evaluate the live kernel, or a recording at an instant.
struct ReplayOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Evaluate a recording (of netflags record, rtmon, or an nlmon device) instead of the live kernel; - for stdin.",
            valueName: "file"
        ),
        completion: .file()
    )
    var replay: String?

    @Option(
        help: ArgumentHelp(
            "Evaluate the recording as of this time: RFC 3339 or a time of day, in UTC. (default: its end)",
            valueName: "time"
        ),
        transform: RecordedTime.init
    )
    var at: RecordedTime?

    /// The recording; `nil` for the live kernel.
    ///
    /// - Throws: A usage error for a time without a recording, or one that would need to read standard input twice.
    func instant() throws(UsageError) -> RecordedInstant? {
        guard let replay else {
            guard at == nil else { throw UsageError("--at is for a recording: give one with --replay") }
            return nil
        }
        guard replay != "-" || at?.isTimeOfDay != true else {
            throw UsageError("stdin can be read only once: give --at the date, too, or a file for --replay")
        }
        return RecordedInstant(operand: replay, time: at)
    }
}

/// A recording at an instant.
struct RecordedInstant: Hashable {
    /// The recording as given, `-` for standard input.
    let operand: String
    /// The instant; `nil` for the end.
    var time: RecordedTime?

    /// The network of that instant; prints where the recording could not be read.
    func source() throws(ReachabilityError) -> NetworkSource {
        let recording = Recording(operand: operand)
        let source = try recording.source(at: try recording.time(time))
        source.damage.forEach(printDamage)
        return source
    }
}

extension Recording {
    /// The recording that an option or argument names: a file, a directory, or `-` for standard input, which messages
    /// call "stdin".
    init(operand: String) {
        self = operand == "-" ? .standardInput : Recording(path: operand)
    }

    /// The time that an option means; a time of day is the first one in the recording.
    func time(_ time: RecordedTime?) throws(ReachabilityError) -> Time? {
        guard let time else { return nil }
        return time.time(after: time.isTimeOfDay ? try span()?.lowerBound : nil)
    }
}
