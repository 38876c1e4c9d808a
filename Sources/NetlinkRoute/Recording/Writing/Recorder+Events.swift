// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import RoutingModel

/// When a recorder that follows events stops.
package struct RecordingStop: Hashable, Sendable {
    /// Stops when this descriptor can be read or is hung up; `nil` for none.
    ///
    /// It is not read from.
    package var descriptor: Int32?
    /// Stops after this time, counted from when the first dump was written; `nil` for never.
    package var duration: Duration?

    /// Describes a condition; without any it never holds.
    package init(descriptor: Int32? = nil, duration: Duration? = nil) {
        self.descriptor = descriptor
        self.duration = duration
    }
}

/// What a recording came to hold.
package struct RecordingSummary: Hashable, Sendable {
    /// Messages of the last dump.
    package var messages = 0
    /// Bytes written.
    package var bytes: UInt64 = 0
    /// How often announcements were lost and a fresh dump followed.
    package var overruns = 0
    /// Tables of the last dump that changed in each attempt.
    package var changingTables: [RecordingAnnotation.Table] = []
    /// Tables of the last dump that the kernel does not have or refused.
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

    /// Writes a dump, then each announcement as it comes, then a closing dump.
    ///
    /// The closing dump is there because not all changes are announced: IPv4 routes vanish with their link without
    /// a word. Lost announcements are marked, and a fresh dump is taken. At each pause of the announcements all of
    /// them are in the file.
    package mutating func record(
        into writer: inout RecordingWriter,
        until stop: RecordingStop
    ) throws(RoutingFault) -> RecordingSummary {
        if let watchFault { throw watchFault }
        var summary = RecordingSummary()
        try attempt { () throws(RecordingFault) in try writer.write(.origin(Self.origin)) }
        try recordDump(into: &writer, &summary)
        var wait = RecordingWait(stop)
        while try wait.isOver(events: events?.descriptor ?? -1) == false {
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

    /// Writes the announcements read so far, then a dump.
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
        // Under endless change each dump would only cause the next overrun.
        guard try !wait.backOff() else { return }
        _ = takePending()
        try recordDump(into: &writer, &summary)
    }

    /// Marks the place where announcements were lost; those around it are dropped for the dump that follows.
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

    private func attempt(_ body: () throws(RecordingFault) -> Void) throws(RoutingFault) {
        do {
            try body()
        } catch {
            throw RoutingFault(error)
        }
    }

    /// The operating system, its release and the machine, as `uname -srm` prints them.
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
    fileprivate mutating func take(_ snapshot: RecordedSnapshot, _ length: UInt64) {
        messages = snapshot.messageCount
        bytes = length
        changingTables = snapshot.changingTables
        missingTables = snapshot.missingTables
    }
}
