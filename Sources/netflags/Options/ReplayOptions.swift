// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import NetlinkReachability
import NetlinkRecording
import SystemSupport

/// The options of commands that evaluate the live kernel, or a recording at an instant.
struct ReplayOptions: ParsableArguments {
    @Option(
        file:
            "Evaluate a recording (of netflags record or rtmon) instead of the live kernel; - for stdin."
    )
    var replay: String?

    @Option(time: Self.atAbstract)
    var at: RecordedTime?

    fileprivate static let atAbstract =
        "Evaluate the recording as of this time: RFC 3339, a date or a time of day, in UTC. (default: its end)"

    fileprivate static let timeWithoutRecording = UsageError(
        "--at is for a recording: give one with --replay")

    /// The recording; `nil` for the live kernel.
    ///
    /// - Throws: A usage error for a time without a recording, and where standard input would be read twice.
    func instant() throws(UsageError) -> RecordedInstant? {
        guard let replay else {
            guard at == nil else { throw Self.timeWithoutRecording }
            return nil
        }
        return try RecordedInstant(operand: replay, time: at).checkingInput(for: "--at")
    }

    /// The query of a command that resolves names, and evaluates the live kernel or a recording.
    func query(
        _ targets: [String], _ socket: SocketOptions, timeout: Duration
    ) throws(UsageError) -> TargetQuery {
        guard !targets.isEmpty else { throw .noTargets }
        let recording = try instant()
        var options = try socket.options(isReplay: recording != nil)
        options.resolution.timeout = timeout
        return TargetQuery(targets: targets, options: options, recording: recording)
    }
}

extension RecordedInstant {
    /// Checks that the instant can be found.
    ///
    /// - Parameter option: The option that gives the time of the instant.
    /// - Returns: The instant.
    /// - Throws: A usage error for an operand that is no file, and where a pipe would be read twice.
    func checkingInput(for option: String) throws(UsageError) -> RecordedInstant {
        try Recording.checkOperand(operand)
        try UsageError.require(
            time?.isTimeOfDay != true || Recording.isStored(operand)
                || operand != "-" && access(operand.fileName, F_OK) != 0,
            "\(LineFile(operand).name) can be read only once: give \(option) the date, too, or a file")
        return self
    }
}

/// The options of commands that evaluate the live kernel, or recordings of many hosts at an instant.
struct RecordingListOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Evaluate a recording instead of the live kernel; - for stdin. Can be repeated.",
            valueName: "file"),
        completion: .file())
    var replay: [String] = []

    @Option(word: "Evaluate each entry of a directory: one a host.", "dir", .directory)
    var replayHosts: String?

    @Option(time: ReplayOptions.atAbstract)
    var at: RecordedTime?

    /// The recordings; `nil` for the live kernel.
    ///
    /// - Throws: A usage error for a time without a recording, where standard input would be read twice, and for a
    ///   directory that is the recording of one host. A ``FileFailure`` for a directory that cannot be read or is
    ///   empty.
    func list() throws -> RecordingList? {
        guard replayHosts != nil || !replay.isEmpty else {
            guard at == nil else { throw ReplayOptions.timeWithoutRecording }
            return nil
        }
        let all = try replay + (replayHosts.map(RecordingList.hosts) ?? [])
        return RecordingList(
            instants: try all.map { (operand) throws(UsageError) in
                try RecordedInstant(operand: operand, time: at).checkingInput(for: "--at")
            },
            isNamed: replayHosts != nil || all.count > 1)
    }
}
