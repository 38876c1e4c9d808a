// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability

/// The monitor over a recording, on a clock that follows the recorded times.
struct ReplayMonitor<Value: Sendable> {
    /// How long the live monitor's thread takes to wake.
    ///
    /// It reads notifications of this time together.
    private static var wakeUpTime: Duration { .milliseconds(1) }
    /// How long after an event its main event can come: the kernel waits for its readers before it reports the
    /// removal of an interface.
    private static var rootTime: Duration { .seconds(1) }

    /// How soon after an event another event of its burst repairs it.
    private static var repairTime: Duration { .milliseconds(250) }
    /// How long after a change the monitor evaluates its burst at the latest.
    private static var burstTime: Duration { .milliseconds(1_300) }

    private let span: (start: MonitorInstant?, end: MonitorInstant?)
    private let yieldsEvents: Bool
    private var replay = RecordingReplay()
    private var monitor: DrivenMonitor<Value>
    var steps: ArraySlice<Recording.Replay<Value>.Step> = []

    /// The present recorded time; `nil` before the first time stamp.
    private var now: MonitorInstant?
    /// When the queries were first evaluated.
    private var begin: MonitorInstant?
    /// Whether there was an entry after the last routine evaluation.
    private var isDirty = false
    /// Whether the end of the span has been reached.
    private(set) var isOver = false

    private var search = CauseSearch()
    /// The events that affect a query and whose main events are still to come.
    ///
    /// Steps are held back meanwhile.
    private var rootless: [Recording.Event] = []

    init(
        _ monitor: DrivenMonitor<Value>,
        from start: Recording.Time?,
        to end: Recording.Time?,
        yieldsEvents: Bool
    ) {
        self.monitor = monitor
        self.yieldsEvents = yieldsEvents
        span = (start.map(MonitorInstant.init), end.map(MonitorInstant.init))
    }

    /// When the queries were first evaluated.
    var start: Recording.Time? { begin.map(Recording.Time.init) }
    /// The present recorded time.
    var end: Recording.Time? { now.map(Recording.Time.init) }

    /// The time of the last entry.
    var lastEntry: Recording.Time? { replay.time }

    /// Whether steps are held back: because the recording is damaged, which is an error if no dump follows; or
    /// because the main event of their cause is still to come; or because their burst goes on, in which the change can
    /// be repaired and made again.
    var holdsSteps: Bool {
        if !rootless.isEmpty || !replay.hasBegun && !replay.damage.isEmpty { return true }
        guard case .change(let change)? = steps.first, change.cause != nil else { return false }
        return change.time.duration(to: time) <= Self.burstTime
    }

    // MARK: Entries

    /// Performs the evaluations that are due before the next entry, then applies the entry.
    mutating func read(_ entry: RecordingEntry) {
        // A gap begins before the entry that states it.
        let gap = replay.gap(before: entry)
        if let gap { begin(gap.gap, at: gap.start) }
        if let time = entry.time { move(to: MonitorInstant(time)) }
        if !rootless.isEmpty {
            let now = time
            rootless.removeAll { $0.time.duration(to: now) > Self.rootTime }
        }
        guard !isOver else { return }
        if let change = entry.clockChange { mark(change) }
        if case .message = entry.content { prepare(for: entry) }
        let wasKnown = replay.isKnown
        let effect = replay.apply(entry)
        if case .annotation(.evidence(let evidence)) = entry.content {
            isDirty = true
            steps.append(.evidence(evidence, time))
            monitor.noteAnswers(at: now ?? .zero)
        }
        if search.isPending {
            // The copy of the network is released before the next entry changes the network.
            let replay = replay
            search.evaluate(&monitor.trace, on: RecordedRouting(replay))
        }
        switch effect {
        case .none: break
        case .dumpEnded(let isResumed): dumpEnded(isResumed: isResumed)
        case .gap(let found) where gap == nil:
            // The message was malformed and has changed nothing.
            if wasKnown { complete() }
            markGap(found)
        case .gap: break
        }
    }

    /// Ends the replay, with a last evaluation if one is needed.
    ///
    /// - Parameter written: The time up to which nothing has happened except for the entries; `nil` for the time of
    ///   the last entry.
    /// - Throws: The damage of a recording without a complete dump.
    mutating func finish(writtenUntil written: Recording.Time?) throws(RecordingError) {
        rootless = []
        if let end = span.end, isOver { return self.end(at: end) }
        try replay.checkBegin()
        replay.endUnmarkedDump()
        if let written, let now, replay.hasBegun, !replay.isInsideMarkedDump {
            let end = min(MonitorInstant(written), span.end ?? MonitorInstant(written))
            if end > now { return self.end(at: end) }
        }
        // Without a dump, there is no network, and the queries are undecided. In a gap, they are not evaluated.
        if begin == nil, isInSpan, replay.isKnown || !replay.hasBegun { beginTargets(at: now ?? .zero) }
        if replay.isKnown { complete() }
        if replay.isInterrupted { markGap(.interrupted) }
    }

    /// Ends the replay at an instant after the last entry.
    ///
    /// Evaluations that are due later are not performed.
    private mutating func end(at end: MonitorInstant) {
        advance(to: end, running: end + Self.wakeUpTime + .nanoseconds(1))
    }

    private mutating func move(to time: MonitorInstant) {
        if let end = span.end, time > end {
            isOver = true
            return
        }
        advance(to: time, running: time)
    }

    /// Moves the clock, and performs the evaluations that are due before a limit.
    private mutating func advance(to time: MonitorInstant, running limit: MonitorInstant) {
        if replay.isKnown {
            if begin == nil, let start = span.start, time > start { beginTargets(at: start) }
            runDue(before: limit)
        }
        now = max(now ?? time, time)
    }

    /// Whether the span has begun.
    private var isInSpan: Bool { span.start.map { (now ?? $0) >= $0 } ?? true }

    /// Records a notification before it is applied.
    private mutating func prepare(for entry: RecordingEntry) {
        isDirty = true
        guard let notification = replay.notification(entry) else { return }
        if replay.isInsideUnmarkedDump {
            replay.endUnmarkedDump()
            dumpEnded(isResumed: false)
        }
        let isCause = monitor.note(notification, at: now ?? .zero)
        guard yieldsEvents || isCause, case .message(let message) = entry.content, let change = message.change
        else { return }
        let queries = isCause ? search.touched(by: change, &monitor.trace, in: replay.snapshot) : []
        guard yieldsEvents || !queries.isEmpty || isCause && CauseSearch.isRoot(change),
            let event = replay.event(message, at: time)
        else { return }
        if isCause { search.record(event, touching: queries) }
        for other in rootless where other.belongs(to: event) {
            steps = ArraySlice(steps.map { $0.caused(by: event, insteadOf: other) })
        }
        rootless.removeAll { $0.belongs(to: event) }
        if !queries.isEmpty, !search.isWhole(event) { rootless.append(event) }
        if yieldsEvents { steps.append(.event(event)) }
    }

    // MARK: Gaps

    /// Evaluates the recorded state before a gap, then begins the gap.
    private mutating func begin(_ gap: Recording.Mark.Kind, at start: Recording.Time?) {
        guard !isOver else { return }
        if let start { move(to: MonitorInstant(start)) }
        guard !isOver else { return }
        if replay.isKnown { complete() }
        markGap(gap)
    }

    private mutating func markGap(_ gap: Recording.Mark.Kind) {
        monitor.trace.settle()
        search.forget()
        mark(gap)
    }

    private mutating func mark(_ kind: Recording.Mark.Kind) {
        guard isInSpan else { return }
        steps.append(.mark(Recording.Mark(time: time, kind: kind)))
        guard begin != nil, let event = kind.event else { return }
        for (index, value) in monitor.values(of: event) {
            let found = Recording.Change(
                time: time, index: index, result: .success(value), isFirst: false, cause: nil, before: nil)
            steps.append(.change(found))
        }
    }

    // MARK: Dumps

    private mutating func dumpEnded(isResumed: Bool) {
        if isResumed, begin != nil { steps.append(.resumed(time)) }
        guard begin == nil else {
            // The live monitor has no dumps. Its pauses between evaluations depend only on notifications.
            monitor.evaluateAll(at: now ?? .zero, counts: false)
            return run(at: now ?? .zero)
        }
        if isInSpan { beginTargets(at: now ?? .zero) }
    }

    /// Evaluates the queries for the first time, at an instant that is not before the recorded time.
    private mutating func beginTargets(at instant: MonitorInstant) {
        let instant = max(now ?? instant, instant)
        begin = instant
        monitor.begin(at: instant)
        run(at: instant)
    }

    /// Evaluates everything a last time, because no later entry causes an evaluation.
    private mutating func complete() {
        guard begin != nil, isDirty else { return }
        monitor.evaluateAll(at: now ?? .zero)
        run(at: now ?? .zero)
    }

    // MARK: Evaluation

    /// The current recorded time.
    private var time: Recording.Time {
        Recording.Time(now ?? .zero)
    }

    /// Performs the evaluations that are due before an instant.
    private mutating func runDue(before limit: MonitorInstant) {
        while let due = monitor.due, due + Self.wakeUpTime < limit {
            let reason = monitor.reason
            if isDirty || reason == .change {
                if reason == .routine { isDirty = false }
                run(at: max(due, now ?? .zero))
            } else {
                // A recording can be without changes for months.
                monitor.postpone(to: limit)
            }
        }
    }

    private mutating func run(at instant: MonitorInstant) {
        now = max(now ?? instant, instant)
        replay.endUnmarkedDump()
        replay.moveClock(to: time)
        // The copy of the network is released before the next entry changes the network.
        let replay = replay
        var changes: [Recording.Change<Value>] = []
        for change in monitor.advance(to: now ?? .zero, on: { RecordedRouting(replay) }) {
            let cause = change.step.flatMap { search.cause($0.event) }
            let found = Recording.Change(
                time: cause?.time ?? time,
                index: change.index,
                result: change.result,
                isFirst: change.isFirst,
                cause: cause?.event,
                before: change.step?.before
            )
            if !change.isRepeat || removeRepaired(before: found) { changes.append(found) }
        }
        steps += changes.sorted { ($0.time, $0.index) < ($1.time, $1.index) }.map { .change($0) }
        if monitor.trace.isSettled { search.forget() }
    }
}

extension ReplayMonitor {
    /// Removes the last change of a query if it was repaired in its own burst, before another event made it again.
    ///
    /// The monitor evaluates the first event of a burst at once, and the others together.
    ///
    /// - Returns: Whether it was.
    private mutating func removeRepaired(before found: Recording.Change<Value>) -> Bool {
        for place in steps.indices.reversed() {
            switch steps[place] {
            case .mark, .resumed: return false
            case .change(let change) where change.index == found.index:
                guard change.cause != nil, change.time.duration(to: found.time) <= Self.repairTime else {
                    return false
                }
                steps.remove(at: place)
                return true
            case .change, .event, .evidence: continue
            }
        }
        return false
    }
}

extension Recording.Replay.Step {
    /// The step with a replaced cause, if it has the other cause.
    fileprivate func caused(by event: Recording.Event, insteadOf other: Recording.Event) -> Self {
        guard case .change(var change) = self, change.cause == other else { return self }
        change.cause = event
        return .change(change)
    }
}

extension Recording.Mark.Kind {
    /// The event for an observation of events; `nil` for marks that concern only the recording.
    fileprivate var event: NetworkEvent? {
        switch self {
        case .suspended(let duration): .slept(duration)
        case .overrun, .stalled: .notificationsLost
        default: nil
        }
    }
}

// MARK: - Time

extension MonitorInstant {
    fileprivate static let zero = MonitorInstant(nanoseconds: 0)

    fileprivate init(_ time: Recording.Time) {
        let (nanoseconds, overflows) = time.microsecondsSince1970.multipliedReportingOverflow(by: 1_000)
        self.init(nanoseconds: overflows ? (time.microsecondsSince1970 < 0 ? .min : .max) : nanoseconds)
    }
}

extension Recording.Time {
    fileprivate init(_ instant: MonitorInstant) {
        self.init(microsecondsSince1970: instant.nanoseconds / 1_000)
    }
}
