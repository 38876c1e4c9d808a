// SPDX-License-Identifier: Apache-2.0

internal import NetlinkRoute
package import RoutingModel
internal import RoutingSimulation
internal import SystemSupport

/// The events of the calling thread's network namespace as they come, each with who asked for it.
///
/// They are those of a recording that is made and replayed at once: the recorder's notifications and what it states of
/// ports, over its dump. That names interfaces and holds lifetimes, and takes the memory of a recorded network.
package struct LiveEvents: ~Copyable {
    /// The shortest time between two dumps: while the changes continue each would cause the next overrun.
    private static let pause = Duration.seconds(1)

    /// The socket of the notifications, which is readable when there are events.
    package let descriptor: Int32
    private var recorder: Recorder
    private var replay = RecordingReplay()
    /// When the tables can be read again, after notifications were lost; `nil` while none were.
    private var dumpDue: ContinuousClock.Instant?
    private var lastDump = ContinuousClock.now

    /// Opens the sockets, and reads all tables.
    ///
    /// - Throws: An error if the kernel or a sandbox refuses notifications or dumps.
    package init() throws(ReachabilityError) {
        var recorder = try Recorder(neighbours: false)
        if let error = recorder.watchError { throw error }
        replay.take(try recorder.takeSnapshot())
        descriptor = recorder.events?.descriptor ?? -1
        self.recorder = recorder
    }

    /// Reads the events that are there; none of those between a loss of notifications and the next dump.
    package mutating func read() throws(ReachabilityError) -> [Recording.Event] {
        _ = recorder.clock.follow()
        if try recorder.readEvents() == .overrun { dumpDue = dumpDue ?? max(.now, lastDump + Self.pause) }
        if let due = dumpDue {
            recorder.dropPending()
            guard due <= .now else { return [] }
            dumpDue = nil
            replay.take(try recorder.takeSnapshot())
            lastDump = .now
        }
        var events: [Recording.Event] = []
        let bytes = recorder.takePending()
        guard !bytes.isEmpty else { return events }
        var stream = RecordingStream(bytes: bytes)
        while stream.next({ take($0, &events) }) != nil {}
        return events
    }

    private mutating func take(_ entry: RecordingEntry, _ events: inout [Recording.Event]) {
        if replay.notification(entry) != nil, case .message(let message) = entry.content,
            let time = entry.time, let event = replay.event(message, at: time)
        {
            events.append(event)
        }
        replay.take(entry)
    }
}

// MARK: - The network now

extension RecordedRouting {
    /// Dumps the calling thread's network namespace, as a recording of this moment would.
    ///
    /// - Returns: The network.
    /// - Throws: An error when the kernel does not answer; a table that it lacks is empty.
    package static func live() throws(ReachabilityError) -> RecordedRouting {
        var recorder = try Recorder()
        var replay = RecordingReplay()
        replay.take(try recorder.takeSnapshot())
        return RecordedRouting(replay)
    }
}

extension RecordingReplay {
    /// Applies a dump of this machine, as a recording of it would.
    mutating func take(_ dump: RecordedSnapshot) {
        func take(_ content: RecordingEntry.Content) {
            self.take(RecordingEntry(path: "live", offset: 0, time: dump.time, content: content))
        }
        take(.annotation(.currentOrigin))
        take(.annotation(.dumpBegins))
        for table in dump.tables { table.forEachMessage { take(.message($0)) } }
        take(.annotation(.wirelessInterfaces(dump.wirelessInterfaces)))
        take(.annotation(.cellularInterfaces(dump.cellularInterfaces)))
        take(.annotation(.settingsOfAll(dump.settingsOfAll.annotated)))
        take(.annotation(.changingTables(dump.changingTables)))
        take(.annotation(.dumpEnds))
    }
}
