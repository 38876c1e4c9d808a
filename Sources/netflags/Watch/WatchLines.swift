// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording
import SystemSupport

/// The lines of `netflags watch`, written immediately and one at a time, from any thread.
final class WatchLines: Sendable {
    private struct State {
        var format: any LineFormat & Sendable
        var targets: [String] = []
        /// Whether a remote host answers, by the index of the target.
        var evidence: [Int: NetworkEvidence] = [:]
        /// What a recording says of answers on its default path; `nil` if it does not say, or is not asked.
        var recorded: StatedEvidence?
        var progress: WatchProgress<Answer>
        var lineCount = 0
        var isComplete = false

        /// The evidence of a recording on the path of a result; `nil` if it is about another path.
        func recorded(of result: Answer?, at time: Recording.Time) -> NetworkEvidence? {
            recorded.flatMap { result?.report?.uses($0.value) ?? false ? $0.at(time) : nil }
        }
    }

    /// The conditions that end the run, and the command that it starts.
    typealias Settings = (count: Int?, goal: WatchGoal?, command: String?, changes: ReachabilityReport.Change)

    private let settings: Settings
    private let runner: CommandRunner?
    private let explains: Bool
    private let events: WatchedEvents?
    private let state: Locked<State>

    /// - Parameters:
    ///   - query: The targets, and the format of their lines.
    ///   - settings: The conditions that end the run, and the command that it starts.
    ///   - events: The events, of which an explained line names the one that changed the result; `nil` for a
    ///     replay, whose changes contain their events.
    init(_ query: TargetQuery, _ settings: Settings, _ events: WatchedEvents? = nil) {
        self.settings = settings
        self.events = events
        explains = query.explains
        runner = settings.command.map(CommandRunner.init)
        let format: any LineFormat & Sendable =
            query.format == .json
            ? JSONFormat(explains: query.explains) : TextFormat(query, isTimed: true, for: .standard)
        let progress = WatchProgress<Answer>(\.isReachable) { [changes = settings.changes] new, old in
            new.isChange(from: old, changes)
        }
        state = Locked(State(format: format, progress: progress))
    }

    /// The query that observes a target, and its path if that is followed.
    func query(
        _ query: TargetQuery, _ target: ReachabilityTarget, followingPath followsPath: Bool = false
    ) -> NetworkQuery<ReachabilityReport> {
        let changes = followsPath ? .report : settings.changes
        let detail: ReachabilityReport.Detail = explains || changes == .report ? .full : .brief
        return .report(of: target, options: query.options, detail, onChangeOf: changes)
    }

    /// Whether the settings can end the run.
    var hasEnd: Bool { settings.count != nil || settings.goal != nil }

    /// Adds a target and returns its index.
    func addTarget(_ text: String) -> Int {
        state.withLock { state in
            state.targets.append(text)
            return state.progress.addTarget()
        }
    }

    /// Declares that no more targets are added: from now on, the goal can be met.
    ///
    /// - Returns: Whether there is a target.
    func targetsAreComplete() -> Bool {
        state.withLock { state in
            state.isComplete = true
            return !state.targets.isEmpty
        }
    }

    /// Whether the settings have ended the run.
    var isOver: Bool {
        state.withLock { isOver($0) }
    }

    /// Writes a result; `nil` for a name that is not resolved yet.
    ///
    /// - Parameters:
    ///   - result: The result.
    ///   - index: The target.
    ///   - time: The time of a replay; `nil` for now.
    ///   - cause: The event that changed the result in a replay.
    /// - Returns: Whether the settings have ended the run.
    ///
    /// The process ends when the output cannot be written.
    @discardableResult
    func write(
        _ result: Answer?,
        of index: Int,
        at time: Recording.Time? = nil,
        after cause: Recording.Event? = nil
    ) -> Bool {
        state.withLock { state in
            guard !isOver(state) else { return true }
            let old = state.progress.results[index]
            guard result != nil || old == nil else { return false }
            var line = TargetLine(target: state.targets[index], outcome: result, time: time ?? .now)
            let news = result.map { state.progress.store($0, of: index) }
            guard news != .repetition else {
                if let time { writeRecorded(of: index, at: time, &state) }
                return isOver(state)
            }
            if let time { state.evidence[index] = state.recorded(of: result, at: time) }
            line.evidence = state.evidence[index].map { .success($0) }
            if explains, let result {
                line.causes =
                    events?.causes(of: index, from: old, to: result) ?? cause.map { [ChangeCause($0)] } ?? []
            }
            if let error = result?.failure, !Output.standard.isTerminal {
                printError("\(line.target): \(error)")
            }
            print(line, &state)
            // A replay runs the command for every change and waits for it; a live watch keeps the newest change.
            if news == .change {
                time == nil ? runner?.submit(line, of: index) : runner?.run(line)
            }
            return isOver(state)
        }
    }

    /// Writes the last result of a target again, with another verdict of whether a remote host answers.
    ///
    /// - Parameters:
    ///   - evidence: The new evidence.
    ///   - index: The index of the target.
    /// - Returns: Whether the settings have ended the run.
    func write(_ evidence: NetworkEvidence, of index: Int) -> Bool {
        state.withLock { state in
            write(evidence, of: index, at: nil, &state)
            return isOver(state)
        }
    }

    /// Writes the last results again of the targets on whose path the evidence of a recording differs.
    func write(_ recorded: StatedEvidence?) {
        state.withLock { state in
            state.recorded = recorded
            guard let recorded else { return }
            for index in state.targets.indices { writeRecorded(of: index, at: recorded.time, &state) }
        }
    }

    private func writeRecorded(of index: Int, at time: Recording.Time, _ state: inout State) {
        guard let evidence = state.recorded(of: state.progress.results[index], at: time) else { return }
        write(evidence, of: index, at: time, &state)
    }

    private func write(
        _ evidence: NetworkEvidence, of index: Int, at time: Recording.Time?, _ state: inout State
    ) {
        let isRepeated = state.evidence[index]?.isSameState(as: evidence) ?? false
        state.evidence[index] = evidence
        guard !isRepeated, !isOver(state), let result = state.progress.results[index] else { return }
        let line = TargetLine(
            target: state.targets[index], outcome: result, time: time ?? .now, evidence: .success(evidence))
        print(line, &state)
        time == nil ? runner?.submit(line, of: index) : runner?.run(line)
    }

    private func print(_ line: TargetLine, _ state: inout State) {
        state.lineCount += 1
        Output.standard.deliverOrExit { buffer in
            state.format.write(line, to: &buffer)
            state.format.flush(to: &buffer)
        }
    }

    private func isOver(_ state: State) -> Bool {
        if let count = settings.count, state.lineCount >= count { return true }
        return settings.goal.map { state.isComplete && state.progress.meets($0) } ?? false
    }

    /// Waits for the submitted commands.
    func finish() {
        runner?.finish()
    }
}
