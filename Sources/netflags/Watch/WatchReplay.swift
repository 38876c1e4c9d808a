// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

/// A run of `netflags watch --replay`: writes the lines that the monitor would have caused.
struct WatchReplay {
    private let query: TargetQuery
    private let settings: WatchRun.Settings

    init(_ query: TargetQuery, _ settings: WatchRun.Settings) {
        self.query = query
        self.settings = settings
    }

    /// Replays the recording to its end, or until the settings end the run.
    ///
    /// - Throws: A usage error for a target that is a name, and when there is no target; why the recording cannot be
    ///   replayed.
    func run(_ operands: [Operand], _ recording: Recording) throws -> ExitStatus {
        for case .target(_, let target) in operands {
            if let error = Self.recorded(target).failure { throw UsageError("\(error)") }
        }
        var targets = Targets()
        try query.forEachTarget(of: operands) { targets.add($0, $1.flatMap(Self.recorded)) }
        guard !targets.texts.isEmpty else { throw UsageError.noTargets }
        let lines = WatchLines(query, settings)
        for text in targets.texts { _ = lines.addTarget(text) }
        _ = lines.targetsAreComplete()
        return try write(lines, targets, recording)
    }

    /// The target, or the error of a name, which no recording holds.
    private static func recorded(
        _ target: ReachabilityTarget
    ) -> Result<ReachabilityTarget, ReachabilityError> {
        if case .host(let name) = target.kind { .failure(.recordedName(name)) } else { .success(target) }
    }

    /// The targets in the order of their lines, and those that can be evaluated.
    private struct Targets {
        var texts: [String] = []
        var valid: [(index: Int, target: ReachabilityTarget)] = []
        var invalid: [(index: Int, error: ReachabilityError)] = []

        mutating func add(_ text: String, _ target: Result<ReachabilityTarget, ReachabilityError>) {
            texts.append(text)
            switch target {
            case .success(let target): valid.append((texts.count - 1, target))
            case .failure(let error): invalid.append((texts.count - 1, error))
            }
        }
    }

    private func write(
        _ lines: WatchLines,
        _ targets: Targets,
        _ recording: Recording
    ) throws(ReachabilityError) -> ExitStatus {
        var replay = try recording.replay(
            targets: targets.valid.map(\.target),
            options: query.options,
            detail: query.explains ? .full : .brief
        )
        var invalid = targets.invalid
        func writeInvalid(_ time: Recording.Time?) {
            let time = time ?? Recording.Time(microsecondsSince1970: 0)
            for (index, error) in invalid { lines.write(.failure(error), of: index, at: time) }
            invalid = []
        }
        while !lines.isOver, let step = try replay.next() {
            switch step {
            case .change(let change):
                writeInvalid(replay.start)
                let index = targets.valid[change.index].index
                lines.write(ReportOutcome(change.result), of: index, at: change.time)
            case .mark(let mark) where mark.kind != .ended: printError("\(mark.time): \(mark)")
            case .mark, .resumed, .event: break
            }
        }
        writeInvalid(replay.start ?? replay.end)
        return lines.isOver || settings.count == nil && settings.goal == nil ? .success : .unreachable
    }
}
