// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import RoutingModel

/// The state of all tables at one time.
package struct RecordedSnapshot: Sendable {
    /// The clocks when the last dump ended.
    package let clock: ClockReading
    /// The indices of the interfaces that nl80211 lists as Wi-Fi.
    package let wirelessInterfaces: [UInt32]
    /// The indices of the interfaces that sysfs reports as cellular modems.
    package let cellularInterfaces: [UInt32]
    /// The settings of all interfaces that no kernel message contains.
    var settingsOfAll = RoutingSettings()
    /// Whether anything answers on the default path; `nil` if that is not recorded.
    var evidence: NetworkEvidence?
    /// Whether the recorder received notifications during the dump.
    package let isWatched: Bool
    let tables: [RecordedTable]

    /// The time when the last dump ended.
    package var time: Recording.Time { clock.time }

    /// The tables that changed during each attempt to dump them.
    package var changingTables: [RecordingAnnotation.Table] {
        tables.filter { $0.state == .changing }.map { .init($0.table, family: $0.family) }
    }

    /// The tables that the kernel does not have or refused to dump.
    package var missingTables: [RecordingAnnotation.Table] {
        tables.compactMap { table in
            guard case .missing(let number) = table.state else { return nil }
            return .init(table.table, family: table.family, number: number)
        }
    }
}

extension RecordedSnapshot {
    /// The most indices in one annotation: `ip monitor file` reads messages of at most 16 KiB.
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
            // An empty list is also written: it states that there are no such interfaces.
            for start in stride(from: 0, through: max(0, indexes.count - 1), by: Self.annotationSize) {
                bytes.append(annotation(Array(indexes[start...].prefix(Self.annotationSize))))
            }
        }
        if !settingsOfAll.annotated.isEmpty { bytes.append(.settingsOfAll(settingsOfAll.annotated)) }
        if let evidence { bytes.append(.evidence(evidence)) }
        if !isWatched { bytes.append(.unwatched) }
        if !missingTables.isEmpty { bytes.append(.missingTables(missingTables)) }
        if !changingTables.isEmpty { bytes.append(.changingTables(changingTables)) }
        bytes.append(.dumpEnds)
        return bytes
    }
}

// MARK: - Tables

/// The dump of one table of one family.
///
/// Each family is dumped separately: a kernel with strict checks then sends nothing else, and only a table that
/// changed has to be dumped again.
struct RecordedTable: Hashable, Sendable {
    /// The result of a dump.
    enum State: Hashable, Sendable {
        /// No change was noticed during the dump.
        case consistent
        /// The table changed during the dump, so that entries can be missing or duplicate.
        case changing
        /// The kernel does not have the table or refused the dump; the errno.
        case missing(Int32)
    }

    let table: DumpRequest.Table
    let family: IPAddress.Family?
    /// The messages, padded.
    var messages: [UInt8] = []
    /// The number of messages.
    var count = 0
    var state = State.changing

    init(_ table: DumpRequest.Table, _ family: IPAddress.Family? = nil) {
        self.table = table
        self.family = family
    }

    /// All tables in the order of a recording: a table comes before tables that refer to it.
    static let all: [RecordedTable] = [
        .init(.links), .init(.addresses, .v4), .init(.addresses, .v6), .init(.neighbours, .v4),
        .init(.neighbours, .v6), .init(.nexthops), .init(.routes, .v4), .init(.routes, .v6),
        .init(.rules, .v4),
        .init(.rules, .v6), .init(.settings, .v4), .init(.settings, .v6),
    ]

    /// Stores a message of the dump, unless it belongs to another family: a kernel without the family sends messages
    /// of all others.
    mutating func keep(_ message: NetlinkMessage) {
        guard family == nil || message.family == family?.rawValue else { return }
        messages.appendPadded(message.bytes)
        count += 1
    }

    /// Calls a closure with each message.
    func forEachMessage(_ body: (NetlinkMessage) -> Void) {
        NetlinkMessage.forEach(in: messages, body)
    }
}

// MARK: - Events

extension RecordedTable {
    /// Whether a dump of the table that was made around a notification may be wrong.
    func mayDiffer(after message: NetlinkMessage) -> Bool {
        let isSameFamily = family?.rawValue == message.family ?? 0
        return switch DumpRequest.Table(of: message) {
        // IPv4 routes disappear without a notification when a link goes down, and addresses when a link is removed.
        case .links: true
        case .addresses: isSameFamily && (table == .addresses || table == .routes)
        case .nexthops: table == .nexthops || table == .routes
        case .neighbours: table == .neighbours && isSameFamily
        case .routes: table == .routes && isSameFamily
        case .rules: table == .rules && isSameFamily
        // Link messages also contain settings.
        case .settings: table == .settings && isSameFamily || table == .links
        case nil: false
        }
    }
}
