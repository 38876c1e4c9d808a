// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording

/// A run of `netflags watch --replay`: writes the lines that the monitor would have caused.
struct WatchReplay {
    let query: TargetQuery
    let lines: WatchLines

    /// Replays the recording to its end, or until the settings end the run.
    ///
    /// - Throws: A usage error for a target that is a name, and when there is no target; why the recording cannot be
    ///   replayed.
    func run(_ operands: [Operand], _ recording: Recording) throws -> ExitStatus {
        for case .target(_, let target) in operands {
            try UsageError.wrapping { try Self.recorded(target).get() }
        }
        let targets = try query.readTargets(of: operands) { printError("\($0)") }
        guard !targets.isEmpty else { throw UsageError.noTargets }
        for (text, _) in targets { _ = lines.addTarget(text) }
        _ = lines.targetsAreComplete()
        return try write(targets.map { $0.target.flatMap(Self.recorded) }, recording)
    }

    /// The target, or the error of a name, which no recording holds.
    private static func recorded(
        _ target: ReachabilityTarget
    ) -> Result<ReachabilityTarget, ReachabilityError> {
        if case .host(let name) = target.kind { .failure(.recordedName(name)) } else { .success(target) }
    }

    private func write(
        _ targets: [Result<ReachabilityTarget, ReachabilityError>],
        _ recording: Recording
    ) throws(ReachabilityError) -> ExitStatus {
        let valid = targets.indices.filter { targets[$0].failure == nil }
        var replay = try recording.replay(
            of: valid.compactMap { try? targets[$0].get() }.map { target in
                .reports(on: target, options: query.options, lines.detail, onChangeOf: lines.observed)
            })
        var invalid = targets.enumerated().compactMap { index, target in target.failure.map { (index, $0) } }
        func writeInvalid(_ time: Recording.Time?) {
            let time = time ?? Recording.Time(microsecondsSince1970: 0)
            for (index, error) in invalid { lines.write(.failure(error), of: index, at: time) }
            invalid = []
        }
        while !lines.isOver, let step = try replay.next() {
            switch step {
            case .change(let change):
                writeInvalid(replay.start)
                lines.write(change.result, of: valid[change.index], at: change.time, after: change.causes)
            case .mark(let mark) where mark.kind.damage != nil: mark.kind.damage.map(printDamage)
            case .mark(let mark) where mark.kind != .ended: printError("\(mark.time): \(mark)")
            case .mark, .resumed, .event: break
            }
        }
        writeInvalid(replay.start ?? replay.end)
        return lines.isOver || !lines.hasEnd ? .success : .unreachable
    }
}
