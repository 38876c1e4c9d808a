// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkPlanning
import NetlinkReachability
import NetlinkRecording

// No group of options for one of them: the parser looks each group up among the conformances of the program, which is a
// part of each start.
extension Option where Value == Duration {
    /// The option `--timeout` of commands that resolve names.
    init(wrappedValue: Value, limitOf work: String) {
        self.init(
            wrappedValue: wrappedValue,
            parsing: .unconditional,
            help: ArgumentHelp(
                "Time limit for \(work): seconds, or such as 500ms or 2m; 0 does not wait. (default: 5)",
                valueName: "duration"),
            transform: OptionValue.duration)
    }
}

extension ReplayOptions {
    /// The query of a command that resolves names, and asks the live kernel or a recording.
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
