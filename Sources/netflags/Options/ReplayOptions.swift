// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkPlanning
import NetlinkRecording

/// The options of commands that evaluate the live kernel, or a recording at an instant.
struct ReplayOptions: ParsableArguments {
    @Option(
        file:
            "Evaluate a recording (of netflags record, rtmon, or an nlmon device) instead of the live kernel; - for stdin."
    )
    var replay: String?

    @Option(
        time: "Evaluate the recording as of this time: RFC 3339 or a time of day, in UTC. (default: its end)")
    var at: RecordedTime?

    /// The recording; `nil` for the live kernel.
    ///
    /// - Throws: A usage error for a time without a recording, or one that would need to read standard input twice.
    func instant() throws(UsageError) -> RecordedInstant? {
        guard let replay else {
            guard at == nil else { throw UsageError("--at is for a recording: give one with --replay") }
            return nil
        }
        return try RecordedInstant(operand: replay, time: at).checkingInput(for: "--at")
    }
}

extension RecordedInstant {
    /// Checks that the instant can be found.
    ///
    /// - Parameter option: The option that gives its time.
    /// - Returns: The instant.
    /// - Throws: A usage error for one that would need to read standard input twice.
    func checkingInput(for option: String) throws(UsageError) -> RecordedInstant {
        guard operand != "-" || time?.isTimeOfDay != true else {
            throw UsageError("stdin can be read only once: give \(option) the date, too, or a file")
        }
        return self
    }
}
