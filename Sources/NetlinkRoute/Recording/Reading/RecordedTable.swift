// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// One table of one family, as far as it has been dumped.
///
/// Each family is asked for alone: a strictly checking kernel then sends nothing else, and only the table that
/// changed has to be dumped again.
struct RecordedTable: Hashable, Sendable {
    /// How a dump went.
    enum State: Hashable, Sendable {
        /// Nothing changed meanwhile, as far as it can be known.
        case settled
        /// It changed meanwhile: entries can be missing or doubled.
        case changing
        /// The kernel has no such table, or refuses it: errno.
        case missing(Int32)
    }

    let table: DumpRequest.Table
    let family: IPAddress.Family?
    /// The messages, padded.
    var messages: [UInt8] = []
    /// How many there are.
    var count = 0
    var state = State.changing

    init(_ table: DumpRequest.Table, _ family: IPAddress.Family? = nil) {
        self.table = table
        self.family = family
    }

    /// All tables, in the order in which a recording holds them: what others refer to comes first.
    static let all: [RecordedTable] = [
        .init(.links), .init(.addresses, .v4), .init(.addresses, .v6), .init(.neighbours, .v4),
        .init(.neighbours, .v6), .init(.nexthops), .init(.routes, .v4), .init(.routes, .v6),
        .init(.rules, .v4),
        .init(.rules, .v6), .init(.settings, .v4), .init(.settings, .v6),
    ]

    /// The table's name for an annotation.
    func name(number: Int32 = 0) -> RecordingAnnotation.Table {
        RecordingAnnotation.Table(table, family: family, number: number)
    }

    /// Keeps a message of a dump, unless it is of another family: a kernel without the family asked for answers
    /// with all that it has.
    mutating func keep(_ message: NetlinkMessage) {
        guard family == nil || message.family == family?.rawValue else { return }
        messages.appendPadded(message.bytes)
        count += 1
    }
}

extension NetlinkMessage {
    /// The address family, which each of rtnetlink's headers begins with; `nil` for a message without payload.
    var family: UInt8? {
        bytes.count > RecordingFormat.headerLength ? bytes[RecordingFormat.headerLength] : nil
    }
}

// MARK: - Events

/// Which tables an announcement may have touched, also those whose changes the kernel does not announce.
struct TouchedTables {
    private let table: DumpRequest.Table?
    private let family: UInt8

    init(_ message: NetlinkMessage) {
        table = DumpRequest.Table(of: message)
        family = message.family ?? 0
    }

    /// Whether a dump of this table, taken while the announcement came, may be wrong.
    func contains(_ other: RecordedTable) -> Bool {
        switch table {
        case .links:
            // A link that goes down takes IPv4 routes along without a word, one that leaves also addresses.
            return true
        case .addresses:
            return matches(other) || other.table == .routes && isFamily(of: other)
        case .nexthops:
            return other.table == .nexthops || other.table == .routes
        case .neighbours, .routes, .rules:
            return matches(other)
        case .settings:
            // The links show settings too.
            return matches(other) || other.table == .links
        case nil:
            return false
        }
    }

    private func matches(_ other: RecordedTable) -> Bool {
        other.table == table && isFamily(of: other)
    }

    private func isFamily(of other: RecordedTable) -> Bool {
        other.family?.rawValue == family
    }
}
