// SPDX-License-Identifier: Apache-2.0

internal import NetlinkRoute
internal import RoutingModel
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
    package var time: Recording.Time { clock.time }

    /// The tables that changed in each attempt to dump them.
    package var changingTables: [RecordingAnnotation.Table] {
        tables.filter { $0.state == .changing }.map { .init($0.table, family: $0.family) }
    }

    /// The tables that the kernel lacks or refused.
    package var missingTables: [RecordingAnnotation.Table] {
        tables.compactMap { table in
            guard case .missing(let number) = table.state else { return nil }
            return .init(table.table, family: table.family, number: number)
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
