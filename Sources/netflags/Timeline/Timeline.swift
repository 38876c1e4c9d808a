// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording
import RoutingModel

/// The flags of each target over the time of a recording, and the causes of each change.
struct Timeline: Hashable {
    /// The state that a bar shows.
    enum State: Int, CaseIterable {
        /// Packets can leave.
        case reachable
        /// The network is not recorded.
        case unrecorded
        /// Packets can leave, and nothing answers.
        case silent
        /// Packets can leave after a connection is established.
        case needsConnection
        /// The target could not be evaluated.
        case undetermined
        /// Packets cannot leave.
        case unreachable
    }

    /// An interval with one answer about a target.
    struct Interval: Hashable {
        var start: Recording.Time
        var end: Recording.Time
        var state: State
        /// The result; `nil` if the network is not recorded.
        var answer: Answer?
        var reason: String
        /// The evidence that nothing answers, and its interface; `nil` for other states.
        var silence: Silence?
        /// The times at which it becomes known whether anything answers on the path, or unknown again, in turn.
        var turns: [Recording.Time] = []
        /// The event that began the interval; `nil` for the first interval of a target, and after the end of a
        /// lifetime.
        var cause: ChangeCause?
        /// The effect of the cause, for an interval in which packets cannot leave.
        var effect: String?
        /// The boot of the host; `nil` if the boot or the network is not recorded.
        var boot: Recording.Boot?
        /// The boot of the host when the next interval begins; `nil` if it is not known.
        var nextBoot: Recording.Boot?

        var duration: Duration { start.duration(to: end) }
        var report: ReachabilityReport? { answer?.report }
        /// Whether packets can leave; `nil` if that is not known.
        var isReachable: Bool? { answer?.isReachable }
        /// Whether packets cannot leave, or nothing answers.
        var isLoss: Bool { isReachable == false || state == .silent }

        /// Whether packets can leave at a time and nothing answers; `nil` if that is not known.
        func isSilent(at time: Recording.Time) -> Bool? {
            let isKnown = isReachable == false || !turns.partitioningIndex { $0 > time }.isMultiple(of: 2)
            return isKnown ? state == .silent : nil
        }
    }

    /// The evidence that nothing answers on a path.
    struct Silence: Hashable {
        let evidence: NetworkEvidence
        /// The interface of the path; `nil` if it is not known.
        let interface: NetworkInterface?
    }

    /// The intervals of a target, without gaps.
    struct Lane: Hashable {
        let target: String
        var intervals: [Interval] = []
        /// The newest answer, whose interval can be empty if a gap in the recording follows.
        var newest: Interval?
        /// Whether the last interval has ended because the recorder has ended.
        var isOver = false
        /// Whether the recording has evidence of the path, at any time.
        var hasEvidence = false
        /// The first ``mistake`` in the removed intervals.
        var takenMistake: String?
        /// Whether a removed interval has an answer without a mistake.
        var hasOtherAnswer = false

        /// The known boots of the host, in order.
        var boots: [Recording.Boot] { intervals.flatMap { [$0.boot, $0.nextBoot].compactMap(\.self) } }

        /// The message about an interface that exists in no interval; `nil` for other answers.
        var mistake: String? {
            let answers = intervals.compactMap(\.answer)
            guard !hasOtherAnswer, answers.allSatisfy({ $0.mistake != nil }) else { return nil }
            return takenMistake ?? answers.first?.mistake
        }

        /// The share of the recorded time in which packets can leave; `nil` if no time is recorded.
        var reachableShare: Double? {
            func time(_ states: Set<State>) -> Double {
                intervals.filter { states.contains($0.state) }.reduce(0) { $0 + $1.duration / .seconds(1) }
            }
            let recorded = time(Set(State.allCases).subtracting([.unrecorded]))
            return recorded > 0 ? time([.reachable, .silent]) / recorded : nil
        }

        /// The share as a percentage; only a share of 1 is shown as 100 percent.
        var shareText: String? {
            guard let share = reachableShare else { return nil }
            let tenths = share == 1 ? 1_000 : min(999, Int((share * 1_000).rounded()))
            return "\(tenths / 10).\(tenths % 10)%"
        }

        /// The intervals without a path for packets, each with its first reason.
        ///
        /// A loss begins when packets could leave before, or at the beginning of the lane. A change of the reason
        /// continues the same loss.
        var losses: [Interval] { runs(of: .unreachable) }

        /// The intervals in which packets can leave and nothing answers, each with its first reason.
        var silences: [Interval] { runs(of: .silent) }

        private func runs(of state: State) -> [Interval] {
            intervals.split { $0.state != state }.compactMap { run in
                guard var loss = run.first, let last = run.last else { return nil }
                loss.end = last.end
                return loss
            }
        }
    }

    /// The bars, in the order of the targets.
    var lanes: [Lane]
    /// The start and the end of the shown time.
    private(set) var start = Recording.Time(microsecondsSince1970: 0)
    private(set) var end = Recording.Time(microsecondsSince1970: 0)
    /// The time of the last entry; `nil` if no entry has a time.
    private(set) var lastEntry: Recording.Time?
    /// Whether a recorder is writing to the recording.
    private(set) var isBeingWritten = false
    /// The statements of the recorder about the recording.
    private(set) var marks: [ChangeCause] = []
    /// The time of the last mark, if the mark is the end of the recorder.
    private var endMark: Recording.Time?
    /// The boot of the host whose network is known.
    private var boot: Recording.Boot?
    /// Whether anything answers on the default path, and when that was stated; `nil` if it is not recorded.
    private var evidence: StatedEvidence?

    /// Begins without intervals.
    init(targets: [String]) {
        lanes = targets.map { Lane(target: $0) }
    }

    var duration: Duration { start.duration(to: end) }

    /// Each cause of a change, once, and each statement about the recording, in the order of time.
    var events: [ChangeCause] {
        let causes = lanes.flatMap { $0.intervals.compactMap(\.cause) }
        return Set(causes + marks).sorted {
            ($0.time, $0.symbol, $0.text) < ($1.time, $1.symbol, $1.text)
        }
    }
}

// MARK: - Building

extension Timeline {
    /// Replays a recording; prints the damage of the recording.
    ///
    /// After each step, `onStep` can remove intervals with ``removeEnded(_:)``.
    init(
        of recording: Recording,
        _ named: [NamedTarget],
        _ options: ReachabilityOptions,
        onChangeOf changes: ReachabilityReport.Change,
        from start: Recording.Time? = nil,
        to end: Recording.Time? = nil,
        _ onStep: (inout Timeline) throws -> Void = { _ in }
    ) throws {
        var replay = try recording.replay(
            of: named.map { .report(of: $0.target, options: options, .full, onChangeOf: changes) },
            from: start, to: end)
        self.init(targets: named.map(\.text))
        while let step = try replay.next() {
            if case .mark(let mark) = step, let damage = mark.kind.damage { printDamage(damage) }
            apply(step, of: replay.boot)
            try onStep(&self)
        }
        (lastEntry, isBeingWritten) = (replay.lastEntry, replay.isBeingWritten)
        let zero = Recording.Time(microsecondsSince1970: 0)
        finish(start: replay.start ?? zero, end: replay.start == nil ? zero : replay.end ?? zero)
    }

    /// Adds a step of a replay.
    ///
    /// - Parameters:
    ///   - step: The step.
    ///   - boot: The boot of the host that the recording states at the step. It is used from the first dump after
    ///     it.
    mutating func apply(_ step: Recording.Replay<ReachabilityReport>.Step, of boot: Recording.Boot? = nil) {
        switch step {
        case .change(let change):
            if change.isFirst { self.boot = boot }
            apply(change)
        case .mark(let mark):
            endMark = mark.kind == .ended ? mark.time : nil
            let cause = ChangeCause(
                time: mark.time, text: mark.description, symbol: .recording, mark: mark.kind)
            marks.append(cause)
            guard mark.kind.isGap else { return }
            evidence = nil
            let gap = Interval(
                start: mark.time, end: mark.time, state: .unrecorded, reason: mark.description, cause: cause)
            for index in lanes.indices {
                guard let last = lanes[index].intervals.last, last.state != .unrecorded else { continue }
                lanes[index].add(gap)
            }
        case .resumed(let time):
            self.boot = boot
            for index in lanes.indices { lanes[index].resume(at: time, of: boot, evidence?.at(time)) }
        case .evidence(let evidence, let time):
            self.evidence = evidence.map { StatedEvidence($0, at: time) }
            for index in lanes.indices { lanes[index].judge(by: evidence, at: time) }
        case .event: break
        }
    }

    private mutating func apply(_ change: Recording.Change<ReachabilityReport>) {
        var interval = Interval(
            start: change.time, end: change.time, state: Timeline.State(change.result), answer: change.result,
            reason: change.result.reason, boot: boot)
        if !change.isFirst {
            interval.cause = change.cause.map { ChangeCause($0) }
            let before = change.before ?? lanes[change.index].newest?.answer
            if interval.state == .unreachable { interval.effect = Self.effect(interval, before) }
        }
        interval.judge(by: evidence?.at(change.time), at: change.time)
        lanes[change.index].newest = interval
        lanes[change.index].add(interval)
    }

    /// Removes the intervals of a lane that can no longer change, and the statements that belong to them.
    mutating func removeEnded(_ index: Int) -> [Interval] {
        // An interval without length is removed later, and the interval before it is then the last.
        let count = lanes[index].intervals.count - 2
        guard count > 0 else { return [] }
        marks.removeFirst(max(0, marks.count - 1))
        return lanes[index].removeFirst(count)
    }

    /// Ends the timeline.
    mutating func finish(start: Recording.Time, end: Recording.Time) {
        (self.start, self.end) = (start, end)
        // The normal end of a recorder is not an event.
        let isOver = endMark.map { $0 >= end } ?? false
        if isOver { marks.removeLast() }
        // Damage before the first dump is before the beginning of the timeline.
        marks.removeAll { $0.time < start }
        for index in lanes.indices {
            lanes[index].end(at: end)
            lanes[index].isOver = isOver
        }
    }
}

extension Timeline.Lane {
    /// Continues the answer from before a gap, until a change replaces it.
    fileprivate mutating func resume(
        at time: Recording.Time, of boot: Recording.Boot?, _ evidence: NetworkEvidence?
    ) {
        guard intervals.last?.state == .unrecorded, var known = newest else { return }
        known.begin(at: time)
        known.boot = boot
        known.judge(by: evidence, at: time)
        add(known)
    }

    /// Begins another interval with the same answer if it has become silent, or answers again.
    fileprivate mutating func judge(by evidence: NetworkEvidence?, at time: Recording.Time) {
        guard intervals.last?.state != .unrecorded, var last = intervals.popLast() else { return }
        guard last.silence != nil || last.isSilent(by: evidence) else {
            // Changed in place: there can be many turns.
            last.judge(by: evidence, at: time)
            return append(last)
        }
        intervals.append(last)
        var next = last
        next.judge(by: evidence, at: time)
        if let one = next.silence, let other = last.silence, one.evidence.isSameState(as: other.evidence) {
            return
        }
        next.begin(at: time)
        add(next)
    }

    fileprivate mutating func removeFirst(_ count: Int) -> [Timeline.Interval] {
        let first = Array(intervals.prefix(count))
        intervals.removeFirst(count)
        for answer in first.lazy.compactMap(\.answer) {
            if answer.mistake == nil { hasOtherAnswer = true }
            takenMistake = takenMistake ?? answer.mistake
        }
        return first
    }

    /// Ends the interval before, and removes it if it has no length.
    fileprivate mutating func add(_ interval: Timeline.Interval) {
        // The change of an answer can be found after a later change of the evidence.
        while intervals.count > 1, let last = intervals.last, last.start > interval.start {
            intervals.removeLast()
        }
        end(at: interval.start)
        if let boot = interval.boot, let last = intervals.indices.last { intervals[last].nextBoot = boot }
        append(interval)
    }

    private mutating func append(_ interval: Timeline.Interval) {
        if !interval.turns.isEmpty { hasEvidence = true }
        intervals.append(interval)
    }

    fileprivate mutating func end(at time: Recording.Time) {
        guard var last = intervals.popLast() else { return }
        last.end = max(time, last.start)
        if last.end > last.start { intervals.append(last) }
    }
}

extension Timeline.Interval {
    /// Makes a copy of an interval continue it.
    fileprivate mutating func begin(at time: Recording.Time) {
        (start, end, cause, effect) = (time, time, nil, nil)
        turns = turns.count.isMultiple(of: 2) ? [] : [time]
    }

    /// Whether packets can leave and the evidence says that nothing answers.
    fileprivate func isSilent(by evidence: NetworkEvidence?) -> Bool {
        guard let report, report.isReachable, let evidence, evidence.isSilent else { return false }
        return report.uses(evidence)
    }

    /// Sets whether packets can leave and nothing answers from a time on.
    ///
    /// The evidence is about one interface and gateway, and so is an answer whose packets can take them.
    fileprivate mutating func judge(by evidence: NetworkEvidence?, at time: Recording.Time) {
        guard let answer, let report, report.isReachable else { return }
        silence = nil
        let evidence = evidence.flatMap { report.uses($0) ? $0 : nil }
        if (evidence != nil) == turns.count.isMultiple(of: 2) { turns.append(time) }
        if let evidence, evidence.isSilent {
            let interface = report.findings.lazy.compactMap(\.interface).first {
                $0.index == evidence.interfaceIndex
            }
            silence = Timeline.Silence(evidence: evidence, interface: interface)
        }
        state = silence == nil ? .reachable : .silent
        reason = silence?.evidence.description ?? answer.reason
    }
}

extension ReachabilityReport {
    /// Whether a route of the full report has the nexthop that the evidence is about.
    func uses(_ evidence: NetworkEvidence) -> Bool {
        findings.contains { finding in
            finding.route?.nexthops.contains {
                $0.interfaceIndex == evidence.interfaceIndex
                    && $0.gateway?.withoutZone == evidence.gatewayAddress
            } ?? false
        }
    }
}

extension Timeline.State {
    fileprivate init(_ answer: Answer) {
        self =
            switch answer {
            case .success(let report) where report.isReachable: .reachable
            case .success(let report): report.flags.contains(.reachable) ? .needsConnection : .unreachable
            case .failure: .undetermined
            }
    }
}

// MARK: - Causes

extension Timeline {
    /// The route of a report, in words.
    private static func path(_ report: ReachabilityReport) -> String? {
        guard let route = report.route else { return nil }
        let interface = report.gateway == nil ? report.interface?.name : nil
        return (["the", route.destination.routeWords] + Nexthop.words(via: report.gateway, "on", interface))
            .joined(separator: " ")
    }

    /// The effect of a cause: the route that could not be used any more, or the new reason.
    private static func effect(_ interval: Interval, _ before: Answer?) -> String {
        guard [.link, .address].contains(interval.cause?.symbol), let path = before?.report.flatMap(path)
        else { return interval.reason }
        return "\(path) could not be used"
    }
}
