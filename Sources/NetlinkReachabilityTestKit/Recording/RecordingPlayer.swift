// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import NetlinkRoute
internal import RoutingModel
internal import SystemSupport

/// Hands a recording out step by step: the first dump, then each notification, each later dump as one.
final class RecordingPlayer: Sendable {
    /// The network after a step, and what was reported on the way.
    struct Step: Sendable {
        let routing: RecordedRouting
        let notifications: [KernelNotification]
        /// Whether the kernel dropped notifications here.
        let isOverrun: Bool
    }

    /// A step that is yet to come: when, in microseconds from the first dump, and how many entries long.
    fileprivate struct Mark {
        let microseconds: Int64
        let entryCount: Int
    }

    fileprivate struct State: ~Copyable {
        var reader: RecordingReader
        var replay: RecordingReplay
        var marks: ArraySlice<Mark>
    }

    private let state: Locked<State>

    /// Reads a recording once from start to end, and stands before its first step.
    init(path: String) throws(SimulationError) {
        do {
            let marks = try Self.marks(path: path)
            let state = State(
                reader: try RecordingReader(path: path),
                replay: RecordingReplay(path: path),
                marks: marks[...]
            )
            self.state = Locked(state)
        } catch {
            throw Self.unreadable(error)
        }
    }

    /// How many steps are left.
    var count: Int { state.withLock { $0.marks.count } }

    /// When the next step is due, from the first dump; `nil` after the last.
    var nextOffset: Duration? {
        state.withLock { $0.marks.first.map { .microseconds($0.microseconds) } }
    }

    /// Plays the next step; `nil` after the last.
    func play() throws(SimulationError) -> Step? {
        do {
            return try state.withLock { (state) throws(RecordingFault) -> Step? in try state.play() }
        } catch {
            throw Self.unreadable(error)
        }
    }

    private static func unreadable(_ fault: RecordingFault) -> SimulationError {
        SimulationError(.unreadableRecording, "the recording cannot be played: \(fault)")
    }

    private static func marks(path: String) throws(RecordingFault) -> [Mark] {
        var reader = try RecordingReader(path: path)
        var replay = RecordingReplay(path: path)
        var bounds = StepBounds()
        var start: RecordingTime?
        var last: Int64 = 0
        var marks: [Mark] = []
        func add(_ count: Int, _ time: RecordingTime?) {
            guard count > 0 else { return }
            start = start ?? time
            // A host's time can be set back: the recording goes on.
            if let start, let time { last = max(last, time.microseconds(since: start)) }
            marks.append(Mark(microseconds: last, entryCount: count))
        }
        do {
            try reader.readAll { entry in
                replay.take(entry)
                for (count, time) in bounds.take(entry) { add(count, time) }
            }
        } catch {
            throw replay.fault ?? error
        }
        if let fault = replay.fault { throw fault }
        for (count, time) in bounds.finish() { add(count, time) }
        return marks
    }
}

extension RecordingPlayer.State {
    mutating func play() throws(RecordingFault) -> RecordingPlayer.Step? {
        guard let mark = marks.popFirst() else { return nil }
        var notifications: [KernelNotification] = []
        var isOverrun = false
        for _ in 0..<mark.entryCount {
            let entry = try reader.next { entry in
                replay.take(entry)
                return PlayedEntry(entry)
            }
            switch entry {
            case .notification(let notification): notifications.append(notification)
            // Everything may be another now.
            case .dumped where notifications.isEmpty: notifications.append(.settings)
            case .overrun: isOverrun = true
            case .dumped, .other, nil: break
            }
        }
        if let fault = replay.fault { throw fault }
        return RecordingPlayer.Step(
            routing: RecordedRouting(replay),
            notifications: notifications,
            isOverrun: isOverrun
        )
    }
}

/// What an entry of a recording is to whoever plays it.
private enum PlayedEntry {
    case notification(KernelNotification)
    case dumped
    case overrun
    case other

    init(_ entry: RecordingEntry) {
        switch entry.content {
        case .annotation(.overrun): self = .overrun
        case .annotation: self = .other
        case .message(let message) where message.isDumped: self = .dumped
        case .message(let message): self = message.announcement.map(Self.notification) ?? .other
        }
    }
}

/// Finds out where the steps of a recording end.
private struct StepBounds {
    private var count = 0
    private var time: RecordingTime?
    private var isInsideMarkedDump = false
    private var hasDumped = false

    /// Takes the next entry in; returns the steps that are over now, with their times.
    mutating func take(_ entry: RecordingEntry) -> [(Int, RecordingTime?)] {
        switch entry.content {
        case .annotation(let annotation):
            add(entry)
            if annotation == .dumpBegins { isInsideMarkedDump = true }
            guard annotation == .dumpEnds else { return [] }
            isInsideMarkedDump = false
            return [end()]
        case .message(let message):
            if isInsideMarkedDump || message.isDumped {
                hasDumped = hasDumped || !isInsideMarkedDump
                add(entry)
                return []
            }
            // A dump without annotations is over with the first notification.
            let dump = hasDumped ? [end()] : []
            add(entry)
            return dump + [end()]
        }
    }

    mutating func finish() -> [(Int, RecordingTime?)] {
        [end()]
    }

    private mutating func add(_ entry: RecordingEntry) {
        count += 1
        time = entry.time ?? time
    }

    private mutating func end() -> (Int, RecordingTime?) {
        defer { (count, hasDumped) = (0, false) }
        return (count, time)
    }
}

extension RecordingTime {
    fileprivate func microseconds(since start: RecordingTime) -> Int64 {
        (Int64(seconds) - Int64(start.seconds)) * 1_000_000 + Int64(microseconds) - Int64(start.microseconds)
    }
}
