// SPDX-License-Identifier: Apache-2.0

internal import NetlinkRoute
package import RoutingModel
internal import SystemSupport

/// The state of all tables at one time.
package struct RecordedSnapshot: Sendable {
    /// The clocks when the last dump ended.
    package let clock: ClockReading
    /// The indexes of the interfaces that nl80211 lists.
    package let wirelessInterfaces: [UInt32]
    /// The indexes of the interfaces that sysfs describes as cellular modems.
    package let cellularInterfaces: [UInt32]
    /// Whether the recorder received notifications during the dump.
    package let isWatched: Bool
    let tables: [RecordedTable]

    /// The time when the last dump ended.
    package var time: RecordingTime { clock.time }

    /// The number of messages.
    package var messageCount: Int {
        tables.reduce(0) { $0 + $1.count }
    }

    /// The tables that changed in each attempt to dump them.
    package var changingTables: [RecordingAnnotation.Table] {
        tables.filter { $0.state == .changing }.map { $0.name() }
    }

    /// The tables that the kernel lacks or refused.
    package var missingTables: [RecordingAnnotation.Table] {
        tables.compactMap { table in
            guard case .missing(let number) = table.state else { return nil }
            return table.name(number: number)
        }
    }
}

extension RecordedSnapshot {
    /// The most numbers in one annotation: `ip monitor file` reads messages of at most 16 KiB.
    private static let annotationSize = 1_000

    /// The messages of all tables between the annotations of the dump, each padded.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(.dumpBegins)
        bytes.appendTimeStamp(time)
        for table in tables { bytes += table.messages }
        for (indexes, annotation) in [
            (wirelessInterfaces, RecordingAnnotation.wirelessInterfaces),
            (cellularInterfaces, RecordingAnnotation.cellularInterfaces),
        ] {
            // An empty list is written too: it states that there are none.
            for start in stride(from: 0, through: max(0, indexes.count - 1), by: Self.annotationSize) {
                bytes.append(annotation(Array(indexes[start...].prefix(Self.annotationSize))))
            }
        }
        if !isWatched { bytes.append(.unwatched) }
        if !missingTables.isEmpty { bytes.append(.missingTables(missingTables)) }
        if !changingTables.isEmpty { bytes.append(.changingTables(changingTables)) }
        bytes.append(.dumpEnds)
        return bytes
    }
}

// MARK: - The live kernel

extension RecordedRouting {
    /// Dumps the calling thread's network namespace, as a recording of this moment would.
    ///
    /// - Returns: The network.
    /// - Throws: A fault when the kernel does not answer; a table that it lacks is empty.
    package static func live() throws(RoutingFault) -> RecordedRouting {
        var recorder = try Recorder()
        let dump = try recorder.takeSnapshot()
        var replay = RecordingReplay()
        func take(_ content: RecordingEntry.Content) {
            replay.take(RecordingEntry(path: "live", offset: 0, time: dump.time, content: content))
        }
        take(.annotation(.origin(Recorder.origin)))
        take(.annotation(.dumpBegins))
        for table in dump.tables { table.forEachMessage { take(.message($0)) } }
        take(.annotation(.wirelessInterfaces(dump.wirelessInterfaces)))
        take(.annotation(.cellularInterfaces(dump.cellularInterfaces)))
        take(.annotation(.changingTables(dump.changingTables)))
        take(.annotation(.dumpEnds))
        return RecordedRouting(replay)
    }
}

extension RecordedRouting {
    /// Has this process look up in a copy of the tables what the kernel cannot be asked.
    ///
    /// That is the route of a bound IPv6 socket with a source address, where another interface's route serves the
    /// destination, and a rule or a route compares the source. Without this, such a question is undecided.
    package static func answerStrictQuestions() {
        KernelRouting.strictTables.withLock { $0 = { () throws(RoutingFault) in try live() } }
    }
}
