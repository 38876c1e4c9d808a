// SPDX-License-Identifier: Apache-2.0

internal import NetlinkRoute
internal import RoutingModel

/// The tables that a recording describes.
///
/// A table without a dump is unknown, not empty. The annotations of a recording mark dumps of all tables. Without them
/// a table counts as described once a part of its dump has come: a dump of an empty table leaves no trace.
struct RecordingCoverage: Hashable, Sendable {
    private typealias Table = RecordingAnnotation.Table

    /// A network that is known whole.
    static let complete = RecordingCoverage(isComplete: true)

    /// Whether all tables are described.
    private var isComplete = false
    private var dumped: Set<RecordingAnnotation.Table> = []
    private var changing: Set<RecordingAnnotation.Table> = []

    // MARK: Reading

    /// Completes a marked dump: each table was dumped, or the kernel does not have it.
    mutating func dumpEnded() {
        isComplete = true
    }

    /// Notes tables that changed while they were dumped.
    mutating func changed(_ tables: [RecordingAnnotation.Table]) {
        for table in tables { changing.insert(Table(table.table, family: table.family)) }
    }

    /// Notes a part of a dump.
    mutating func add(_ message: NetlinkMessage) {
        guard message.flags & RecordingFormat.isFiltered == 0, let table = DumpRequest.Table(of: message)
        else { return }
        var part = Table(table)
        if table != .links, table != .nexthops {
            guard let family = message.family.flatMap(IPAddress.Family.init(rawValue:)) else { return }
            part = Table(table, family: family)
        }
        dumped.insert(part)
        if message.flags & RecordingFormat.isInterrupted != 0 { changing.insert(part) }
    }

    // MARK: Asking

    /// Whether the neighbours of both families are known and did not change during their dump.
    var knowsNeighbours: Bool {
        IPAddress.Family.allCases.allSatisfy { blocker(.neighbours, $0) == nil }
    }

    /// Why no query about interfaces can be answered; `nil` when it can.
    var blockerForInterfaces: String? {
        blocker(.links)
    }

    /// Why no query about an address of this family can be answered; `nil` when it can.
    func blocker(for family: IPAddress.Family) -> String? {
        blockerForInterfaces ?? blocker(.addresses, family) ?? blocker(.routes, family)
            ?? blocker(.rules, family) ?? change(.nexthops)
    }

    private func blocker(_ table: DumpRequest.Table, _ family: IPAddress.Family? = nil) -> String? {
        guard isComplete || dumped.contains(Table(table, family: family)) else {
            return "the recording holds no dump of the \(Self.name(table, family)): "
                + "record with `netflags record`, which dumps all tables"
        }
        return change(table, family)
    }

    private func change(_ table: DumpRequest.Table, _ family: IPAddress.Family? = nil) -> String? {
        guard changing.contains(Table(table, family: family)) else { return nil }
        return "the \(Self.name(table, family)) changed while they were recorded: record again"
    }

    private static func name(_ table: DumpRequest.Table, _ family: IPAddress.Family?) -> String {
        let name =
            switch table {
            case .links: "interfaces"
            case .nexthops: "nexthop objects"
            default: "\(table)"
            }
        return family.map { "\($0) \(name)" } ?? name
    }
}
