// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkPlanning
import NetlinkReachability
import NetlinkRecording

/// The option of commands that resolve names, and ask the live kernel or a recording.
struct ResolutionOptions: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Time limit for resolving each name: seconds, or such as 500ms or 2m; 0 does not wait. (default: 5)",
            valueName: "duration"),
        transform: OptionValue.duration
    )
    var timeout: Duration = .seconds(5)

    func query(
        _ targets: [String], _ socket: SocketOptions, _ recorded: ReplayOptions
    ) throws(UsageError) -> TargetQuery {
        guard !targets.isEmpty else { throw .noTargets }
        let recording = try recorded.instant()
        var options = try socket.options(isReplay: recording != nil)
        options.resolution.timeout = timeout
        return TargetQuery(targets: targets, options: options, recording: recording)
    }
}
