// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkPlanning
import NetlinkReachability
import NetlinkRecording

/// The targets of `check`, `watch` and `wait`.
struct TargetArguments: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "A host name, an address, address%interface, default (the default path), or - for stdin.",
            valueName: "target"
        )
    )
    var targets: [String] = []
}

/// The targets of commands that evaluate recordings.
struct RecordedTargets: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "An address, address%interface, or default (the default path).", valueName: "target"))
    var targets: [String] = []

    /// Parses the targets: at least one.
    func parsed(_ options: ReachabilityOptions) throws(UsageError) -> [NamedTarget] {
        guard !targets.isEmpty else {
            throw UsageError("no target: give an address, or default for the default path")
        }
        return try TargetQuery(targets: targets, options: options).recordedTargets()
    }
}

/// The options of commands that resolve names, and ask the live kernel or a recording.
struct ResolutionOptions: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Time limit for resolving each name: seconds, or such as 500ms or 2m; 0 does not wait. (default: 5)",
            valueName: "duration"),
        transform: OptionValue.duration
    )
    var timeout: Duration = .seconds(5)

    @OptionGroup var recorded: ReplayOptions

    func query(_ targets: [String], _ socket: SocketOptions) throws(UsageError) -> TargetQuery {
        guard !targets.isEmpty else { throw .noTargets }
        let recording = try recorded.instant()
        var options = try socket.options(isReplay: recording != nil)
        options.resolution.timeout = timeout
        return TargetQuery(targets: targets, options: options, recording: recording)
    }
}

extension TargetQuery {
    /// The targets of `watch` and `wait`: at least one.
    init(_ operands: TargetArguments, _ socket: SocketOptions, isReplay: Bool = false) throws(UsageError) {
        guard !operands.targets.isEmpty else { throw .noTargets }
        self.init(targets: operands.targets, options: try socket.options(isReplay: isReplay))
    }
}
