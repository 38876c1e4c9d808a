// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import RoutingModel

/// When a recorder that follows notifications stops.
package struct RecordingStop: Hashable, Sendable {
    /// Stops when this descriptor becomes readable or is hung up; `nil` for none.
    ///
    /// The recorder does not read from it.
    package var descriptor: Int32?
    /// Stops this long after the first dump was written; `nil` for never.
    package var duration: Duration?

    /// Creates a condition.
    ///
    /// Without arguments the recorder does not stop.
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
    /// How often notifications were lost, each time with a new dump.
    package var overruns = 0
    /// The tables of the last dump that changed in each attempt.
    package var changingTables: [RecordingAnnotation.Table] = []
    /// The tables of the last dump that the kernel lacks or refused.
    package var missingTables: [RecordingAnnotation.Table] = []
}

extension Recorder {
    /// Writes one dump of all tables.
    package mutating func record(into writer: inout RecordingWriter) throws(RoutingFault) -> RecordingSummary
    {
        let snapshot = try takeSnapshot()
        var summary = RecordingSummary()
        try attempt { () throws(RecordingFault) in
            try writer.write(.origin(Self.origin))
            try writer.write(snapshot)
            try writer.write(.end)
            try writer.flush()
        }
        summary.take(snapshot, writer.length)
        return summary
    }

    /// Writes a dump, then each notification, then a closing dump.
    ///
    /// The closing dump includes changes without a notification: IPv4 routes disappear with their link silently.
    /// After lost notifications the recording has a mark and a new dump. Whenever the queue is empty, all
    /// notifications are in the file.
    package mutating func record(
        into writer: inout RecordingWriter,
        until stop: RecordingStop
    ) throws(RoutingFault) -> RecordingSummary {
        if let watchFault { throw watchFault }
        var summary = RecordingSummary()
        try attempt { () throws(RecordingFault) in try writer.write(.origin(Self.origin)) }
        try recordDump(into: &writer, &summary)
        var wait = RecordingWait(stop)
        while try wait.next(events: events?.descriptor ?? -1) != .stop {
            try recordEvents(into: &writer, &summary, &wait)
        }
        if try readEvents() == .overrun { try markOverrun(in: &writer, &summary) }
        try recordDump(into: &writer, &summary)
        try attempt { () throws(RecordingFault) in
            try writer.write(.end)
            try writer.flush()
        }
        summary.bytes = writer.length
        return summary
    }

    /// Writes the notifications read so far, then a dump.
    private mutating func recordDump(
        into writer: inout RecordingWriter,
        _ summary: inout RecordingSummary
    ) throws(RoutingFault) {
        let before = takePending()
        let snapshot = try takeSnapshot()
        let after = takePending()
        try attempt { () throws(RecordingFault) in
            try writer.write(padded: before)
            try writer.write(snapshot)
            try writer.write(padded: after)
            try writer.flush()
        }
        summary.take(snapshot, writer.length)
    }

    private mutating func recordEvents(
        into writer: inout RecordingWriter,
        _ summary: inout RecordingSummary,
        _ wait: inout RecordingWait
    ) throws(RoutingFault) {
        guard try readEvents() == .overrun else {
            let events = takePending()
            return try attempt { () throws(RecordingFault) in
                try writer.write(padded: events)
                try writer.flush()
            }
        }
        try markOverrun(in: &writer, &summary)
        // While the changes continue each dump would cause the next overrun.
        guard try !wait.backOff() else { return }
        _ = takePending()
        try recordDump(into: &writer, &summary)
    }

    /// Marks lost notifications.
    ///
    /// Those around the mark are dropped, as a dump follows.
    private mutating func markOverrun(
        in writer: inout RecordingWriter,
        _ summary: inout RecordingSummary
    ) throws(RoutingFault) {
        _ = takePending()
        summary.overruns += 1
        try attempt { () throws(RecordingFault) in
            try writer.write(.now)
            try writer.write(.overrun)
            try writer.flush()
        }
    }

    func attempt(_ body: () throws(RecordingFault) -> Void) throws(RoutingFault) {
        do {
            try body()
        } catch {
            throw RoutingFault(error)
        }
    }

    /// The operating system, its release and the machine: the output of `uname -srm`.
    package static var origin: String {
        var name = utsname()
        guard uname(&name) == 0 else { return "Linux" }
        return [
            String(fixedBytes: name.sysname), String(fixedBytes: name.release),
            String(fixedBytes: name.machine),
        ].joined(separator: " ")
    }
}

extension RecordingSummary {
    mutating func take(_ snapshot: RecordedSnapshot, _ length: UInt64) {
        messages = snapshot.messageCount
        bytes = length
        changingTables = snapshot.changingTables
        missingTables = snapshot.missingTables
    }
}
