// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import RoutingModel
package import SystemSupport

/// When a recorder that writes notifications stops.
package struct RecordingStop: Hashable, Sendable {
    /// Stops when this descriptor becomes readable or is hung up; `nil` to stop without one.
    ///
    /// The recorder does not read from it.
    package var descriptor: Int32?
    /// Stops this long after the first dump was written; `nil` for never.
    package var duration: Duration?

    /// Creates a condition.
    ///
    /// Without arguments, the recorder does not stop.
    package init(descriptor: Int32? = nil, duration: Duration? = nil) {
        self.descriptor = descriptor
        self.duration = duration
    }
}

/// The contents of a recording.
package struct RecordingSummary: Hashable, Sendable {
    /// The number of messages in the last dump.
    package var messages = 0
    /// The number of bytes written.
    package var bytes: UInt64 = 0
    /// How often notifications were lost, or the recorder could not read them.
    ///
    /// A new dump follows each time.
    package var overruns = 0
    /// The tables of the last dump that changed during each attempt.
    package var changingTables: [RecordingAnnotation.Table] = []
    /// The tables of the last dump that the kernel does not have or refused to dump.
    package var missingTables: [RecordingAnnotation.Table] = []

    /// Updates the summary after a dump was written.
    fileprivate mutating func update(with snapshot: RecordedSnapshot) {
        messages = snapshot.tables.reduce(0) { $0 + $1.count }
        changingTables = snapshot.changingTables
        missingTables = snapshot.missingTables
    }
}

extension Recorder {
    /// Writes a dump.
    ///
    /// If there is a stop condition, also writes all notifications until then and a closing dump.
    ///
    /// The closing dump includes changes without a notification: IPv4 routes disappear with their link silently.
    /// After lost notifications, the recording has a mark and a new dump. Whenever the queue is empty, all
    /// notifications are in the file. If the reader of a pipe is gone, the recording ends with a write error, even
    /// while nothing changes.
    package mutating func record(
        into writer: inout RecordingWriter,
        until stop: RecordingStop? = nil,
        sleep: SleepWatch? = SleepWatch()
    ) throws(ReachabilityError) -> RecordingSummary {
        if stop != nil, let watchError { throw watchError }
        let snapshot = try takeSnapshot()
        summary = RecordingSummary()
        try attempt { () throws(RecordingError) in
            try writer.append(.currentOrigin)
            try writer.append(.clock(snapshot.clock))
            try writer.append(snapshot)
        }
        writer.setCurrent(true)
        summary.update(with: snapshot)
        if let stop {
            var wait = RecordingWait(stop, output: writer.descriptor, sleep)
            var wake: RecordingWait.Wake
            repeat {
                try recordEvents(into: &writer, &wait)
                wake = try wait.next(events: eventDescriptors, until: dumpDue, &lastLook)
                if wake == .timeout {
                    try recordEvents(into: &writer, &wait)
                    try recordDump(into: &writer)
                }
                if wake == .hangUp { throw ReachabilityError(writer.brokenPipe) }
                if case .resumed(let duration) = wake { try recordSleep(duration, into: &writer) }
            } while wake != .stop
            try recordClosingDump(into: &writer)
        }
        try attempt { () throws(RecordingError) in try writer.append(.end) }
        summary.bytes = writer.byteCount
        return summary
    }

    /// Writes the queued notifications.
    ///
    /// If some were lost, marks the loss and writes a dump.
    ///
    /// - Returns: Whether nothing was lost.
    @discardableResult
    mutating func recordEvents<Output: RecordingOutput & ~Copyable>(
        into output: inout Output,
        _ wait: inout RecordingWait
    ) throws(ReachabilityError) -> Bool {
        // A slow disk delays the received notifications.
        output.setCurrent(false)
        defer { output.setCurrent(true) }
        guard try !markLoss(in: &output) else {
            // During continuous changes, each dump would cause the next overrun.
            guard try !wait.backOff() else { return false }
            dropPending()
            try recordDump(into: &output)
            return false
        }
        recordEvidence()
        let events = drainPending()
        try attempt { () throws(RecordingError) in try output.append(events) }
        try stateClock(into: &output)
        return true
    }

    /// Marks that the machine slept, and writes a dump.
    mutating func recordSleep<Output: RecordingOutput & ~Copyable>(
        _ duration: Duration,
        into output: inout Output
    ) throws(ReachabilityError) {
        let milliseconds = UInt64(duration / .milliseconds(1))
        let now = clock.now
        try attempt { () throws(RecordingError) in
            try output.append(.suspended(milliseconds: milliseconds), at: now)
        }
        try recordDump(into: &output)
        try stateClock(into: &output)
    }

    /// Marks that the host's clock was set, if it was.
    ///
    /// The notifications that were read must be written before, because they have the previous offset.
    private mutating func stateClock<Output: RecordingOutput & ~Copyable>(
        into output: inout Output
    ) throws(ReachabilityError) {
        let now = clock.now
        guard clock.follow() else { return }
        let reading = clock.reading
        try attempt { () throws(RecordingError) in try output.append(.clock(reading), at: now) }
    }

    /// Writes the queued notifications and a dump.
    mutating func recordClosingDump<Output: RecordingOutput & ~Copyable>(
        into output: inout Output
    ) throws(ReachabilityError) {
        _ = try markLoss(in: &output)
        try recordDump(into: &output)
        try stateClock(into: &output)
    }

    /// Makes a dump, and writes it between the earlier and the later notifications.
    mutating func recordDump<Output: RecordingOutput & ~Copyable>(
        into output: inout Output,
        _ write: (inout Output, RecordedSnapshot) throws(RecordingError) -> Void = {
            (output, snapshot) throws(RecordingError) in try output.append(snapshot)
        }
    ) throws(ReachabilityError) {
        output.setCurrent(false)
        var before = drainPending()
        hasLost = false
        let snapshot = try takeSnapshot { before += $0 }
        let after = drainPending()
        if hasLost {
            before.append(.overrun)
            summary.overruns += 1
        }
        try attempt { () throws(RecordingError) in
            try output.append(before)
            try write(&output, snapshot)
            try output.append(after)
        }
        output.setCurrent(true)
        summary.update(with: snapshot)
    }

    /// Reads the queued notifications.
    ///
    /// Writes a mark if notifications were lost, or arrived while the recorder could not read them.
    ///
    /// Notifications that arrived meanwhile have no known time, and are dropped, because a dump follows.
    ///
    /// - Returns: Whether there is a mark.
    mutating func markLoss<Output: RecordingOutput & ~Copyable>(
        in output: inout Output
    ) throws(ReachabilityError) -> Bool {
        let stall = lastLook.duration(to: .now)
        let isOverrun = try readEvents() == .overrun
        guard isOverrun || stall > Self.longestStall && !pending.isEmpty else { return false }
        dropPending()
        summary.overruns += 1
        let milliseconds = UInt64(stall / .milliseconds(1))
        let now = clock.now
        try attempt { () throws(RecordingError) in
            try output.append(isOverrun ? .overrun : .stalled(milliseconds: milliseconds), at: now)
        }
        return true
    }
}
