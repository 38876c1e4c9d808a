// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// The state of all tables at one time.
package struct RecordedSnapshot: Sendable {
    /// The time when the last dump ended.
    package let time: RecordingTime
    /// The indexes of the interfaces that nl80211 lists.
    package let wirelessInterfaces: [UInt32]
    /// The indexes of the interfaces that sysfs describes as cellular modems.
    package let cellularInterfaces: [UInt32]
    /// Whether the recorder received notifications during the dump.
    package let isWatched: Bool
    let tables: [RecordedTable]

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

extension RecordingWriter {
    /// Writes a dump of all tables between its annotations.
    package mutating func write(_ snapshot: RecordedSnapshot) throws(RecordingFault) {
        var bytes: [UInt8] = []
        bytes.append(snapshot)
        try write(padded: bytes)
    }
}

/// The most numbers in one annotation: `ip monitor file` reads messages of at most 16 KiB.
private let annotationSize = 1_000

/// Messages of a recording, each padded.
extension [UInt8] {
    /// Appends a dump of all tables between its annotations.
    mutating func append(_ snapshot: RecordedSnapshot) {
        append(.dumpBegins)
        appendTimeStamp(snapshot.time)
        for table in snapshot.tables { append(contentsOf: table.messages) }
        appendIndexes(snapshot.wirelessInterfaces, RecordingAnnotation.wirelessInterfaces)
        appendIndexes(snapshot.cellularInterfaces, RecordingAnnotation.cellularInterfaces)
        if !snapshot.isWatched { append(.unwatched) }
        if !snapshot.missingTables.isEmpty { append(.missingTables(snapshot.missingTables)) }
        if !snapshot.changingTables.isEmpty { append(.changingTables(snapshot.changingTables)) }
        append(.dumpEnds)
    }

    /// Appends an empty list too, which states that there are none.
    private mutating func appendIndexes(_ indexes: [UInt32], _ annotation: ([UInt32]) -> RecordingAnnotation)
    {
        var rest = indexes[...]
        repeat {
            append(annotation([UInt32](rest.prefix(annotationSize))))
            rest = rest.dropFirst(annotationSize)
        } while !rest.isEmpty
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
        return RecordedRouting(try recorder.takeSnapshot(), origin: Recorder.origin)
    }

    /// Takes the network of one dump.
    private init(_ dump: RecordedSnapshot, origin: String) {
        var replay = RecordingReplay(path: "live")
        func take(_ content: RecordingEntry.Content) {
            replay.take(RecordingEntry(offset: 0, time: dump.time, content: content))
        }
        take(.annotation(.origin(origin)))
        take(.annotation(.dumpBegins))
        for table in dump.tables {
            table.messages.withUnsafeBytes { bytes in
                var rest = bytes[...]
                while let message = NetlinkMessage(UnsafeRawBufferPointer(rebasing: rest)) {
                    take(.message(message))
                    rest = rest.dropFirst(RecordingFormat.padded(message.bytes.count))
                }
            }
        }
        take(.annotation(.wirelessInterfaces(dump.wirelessInterfaces)))
        take(.annotation(.cellularInterfaces(dump.cellularInterfaces)))
        take(.annotation(.changingTables(dump.changingTables)))
        take(.annotation(.dumpEnds))
        self.init(replay)
    }
}
