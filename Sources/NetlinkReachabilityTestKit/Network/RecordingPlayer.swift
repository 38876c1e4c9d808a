// SPDX-License-Identifier: Apache-2.0

internal import NetlinkRecording
internal import RoutingModel
internal import SystemSupport

/// Plays a recording step by step: each dump is a step, and each notification is a step.
final class RecordingPlayer: Sendable {
    /// The network after a step, and the notifications of the step.
    struct Step: Sendable {
        let routing: RecordedRouting
        let notifications: [KernelNotification]
        /// Whether notifications are missing in this step, such as those that the kernel dropped.
        let isOverrun: Bool
    }

    /// A future step: its time in microseconds from the first dump, and its number of entries.
    fileprivate struct Mark {
        let microseconds: Int64
        let entryCount: Int
    }

    fileprivate struct State: ~Copyable {
        var stream: RecordingStream
        var replay: RecordingReplay
        var marks: ArraySlice<Mark>
    }

    private let state: Locked<State>

    /// Reads the whole recording to find its steps, and starts before the first step.
    init(path: String) throws(SimulationError) {
        do {
            let marks = try Self.marks(path: path)
            let stream = try RecordingStream(path: path)
            state = Locked(State(stream: stream, replay: RecordingReplay(), marks: marks[...]))
        } catch {
            throw Self.unreadable(error)
        }
    }

    /// The number of remaining steps.
    var count: Int { state.withLock { $0.marks.count } }

    /// The time of the next step, from the first dump; `nil` after the last.
    var nextOffset: Duration? {
        state.withLock { $0.marks.first.map { .microseconds($0.microseconds) } }
    }

    /// Plays the next step; `nil` after the last.
    func play() throws(SimulationError) -> Step? {
        do {
            return try state.withLock { (state) throws(RecordingError) -> Step? in try state.play() }
        } catch {
            throw Self.unreadable(error)
        }
    }

    private static func unreadable(_ error: RecordingError) -> SimulationError {
        SimulationError(.unreadableRecording, "the recording cannot be played: \(error)")
    }

    private static func marks(path: String) throws(RecordingError) -> [Mark] {
        var stream = try RecordingStream(path: path)
        var replay = RecordingReplay()
        var steps = StepFinder()
        while stream.next({ entry -> Bool in
            replay.apply(entry)
            steps.read(entry, isInsideMarkedDump: replay.isInsideMarkedDump)
            return true
        }) != nil {}
        try replay.checkBegin()
        steps.endStep()
        return steps.marks
    }
}

extension RecordingPlayer.State {
    mutating func play() throws(RecordingError) -> RecordingPlayer.Step? {
        guard let mark = marks.popFirst() else { return nil }
        var notifications: [KernelNotification] = []
        var (isOverrun, hasDumped) = (false, false)
        for _ in 0..<mark.entryCount {
            let effect = stream.next { entry in
                if let notification = replay.notification(entry) { notifications.append(notification) }
                return replay.apply(entry)
            }
            switch effect {
            case .dumpEnded: hasDumped = true
            case .gap: isOverrun = true
            case .some(.none), nil: break
            }
        }
        // After a dump anything can have changed.
        if hasDumped || replay.isInsideUnmarkedDump, notifications.isEmpty { notifications.append(.settings) }
        return RecordingPlayer.Step(
            routing: RecordedRouting(replay),
            notifications: notifications,
            isOverrun: isOverrun
        )
    }
}

/// Finds the steps of a recording.
private struct StepFinder {
    private(set) var marks: [RecordingPlayer.Mark] = []
    private var start: Recording.Time?
    /// The number of entries of the step so far, and the last known time of an entry.
    private var count = 0
    private var time: Recording.Time?
    /// Whether the step contains parts of a dump without annotations, which the next notification ends.
    private var hasDumped = false

    /// Adds the next entry.
    mutating func read(_ entry: RecordingEntry, isInsideMarkedDump: Bool) {
        switch entry.content {
        case .annotation(.dumpEnds):
            add(entry)
            endStep()
        case .message(let message) where isInsideMarkedDump || message.isDumped:
            hasDumped = hasDumped || !isInsideMarkedDump
            add(entry)
        case .message:
            if hasDumped { endStep() }
            add(entry)
            endStep()
        case .annotation, .fileEnd:
            add(entry)
        }
    }

    private mutating func add(_ entry: RecordingEntry) {
        count += 1
        time = entry.time ?? time
    }

    /// Ends a step, unless it has no entries.
    mutating func endStep() {
        hasDumped = false
        guard count > 0 else { return }
        start = start ?? time
        var microseconds = marks.last?.microseconds ?? 0
        if let start, let time {
            microseconds = time.microsecondsSince1970 - start.microsecondsSince1970
        }
        marks.append(RecordingPlayer.Mark(microseconds: microseconds, entryCount: count))
        count = 0
    }
}
