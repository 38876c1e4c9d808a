// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// What of a network a recording tells, so that silence is never taken for an empty table.
///
/// A recording with annotations says when all tables were dumped. Of any other a table counts as told once a
/// part of its dump has come: a table that was dumped and empty cannot be told from one that was not dumped.
struct RecordingCoverage: Hashable, Sendable {
    /// NLM_F_DUMP_INTR: the table changed while the kernel dumped it.
    private static let isInterrupted: UInt16 = 0x10
    /// NLM_F_DUMP_FILTERED: the kernel left out what was not asked for.
    private static let isFiltered: UInt16 = 0x20

    /// One table; links and nexthop objects have no family.
    private struct Part: Hashable {
        let table: DumpRequest.Table
        let family: IPAddress.Family?
    }

    private var told: Set<Part> = []
    private var changing: Set<Part> = []
    /// Why nothing counts that came so far; `nil` when it does.
    private var hole: String?

    // MARK: Reading

    /// A marked dump of all tables begins.
    mutating func dumpBegan() {
        self = RecordingCoverage()
        hole = "the recording ends inside a dump"
    }

    /// A marked dump is over: each table was dumped, or the kernel does not have it.
    mutating func dumpEnded() {
        told = Set(RecordedTable.all.map { Part(table: $0.table, family: $0.family) })
        hole = nil
    }

    /// Announcements were lost: nothing counts until the next dump.
    mutating func lost() {
        hole = "announcements were lost while this was recorded, and no dump follows"
    }

    /// Tables did not hold still while they were dumped.
    mutating func changed(_ tables: [RecordingAnnotation.Table]) {
        changing.formUnion(tables.map { Part(table: $0.table, family: $0.family) })
    }

    /// A part of a dump has come.
    mutating func took(_ message: NetlinkMessage) {
        guard message.flags & Self.isFiltered == 0,
            let table = DumpRequest.Table(rawValue: message.type & ~3 | 2)
        else { return }
        let hasFamily = table != .links && table != .nexthops
        let family = hasFamily ? message.family.flatMap(IPAddress.Family.init(rawValue:)) : nil
        guard hasFamily == (family != nil) else { return }
        told.insert(Part(table: table, family: family))
        if message.flags & Self.isInterrupted != 0 { changing.insert(Part(table: table, family: family)) }
    }

    // MARK: Asking

    /// Whether the neighbours are known: those of both families, at rest.
    var knowsNeighbours: Bool {
        IPAddress.Family.allCases.allSatisfy { obstacle(.neighbours, $0) == nil }
    }

    /// Why no question about interfaces can be answered; `nil` when it can.
    var obstacleForInterfaces: String? {
        hole ?? obstacle(.links)
    }

    /// Why no question about an address of this family can be answered; `nil` when it can.
    func obstacle(for family: IPAddress.Family) -> String? {
        obstacleForInterfaces ?? obstacle(.addresses, family) ?? obstacle(.routes, family)
            ?? obstacle(.rules, family) ?? change(.nexthops)
    }

    private func obstacle(_ table: DumpRequest.Table, _ family: IPAddress.Family? = nil) -> String? {
        guard told.contains(Part(table: table, family: family)) else {
            return "the recording holds no dump of the \(Self.name(table, family)): "
                + "record with `netflags record`, which dumps all tables"
        }
        return change(table, family)
    }

    private func change(_ table: DumpRequest.Table, _ family: IPAddress.Family? = nil) -> String? {
        guard changing.contains(Part(table: table, family: family)) else { return nil }
        return "the \(Self.name(table, family)) changed while they were recorded: record again"
    }

    private static func name(_ table: DumpRequest.Table, _ family: IPAddress.Family?) -> String {
        let name =
            switch table {
            case .links: "interfaces"
            case .addresses: "addresses"
            case .routes: "routes"
            case .neighbours: "neighbours"
            case .rules: "rules"
            case .nexthops: "nexthop objects"
            case .settings: "settings"
            }
        return family.map { "\($0) \(name)" } ?? name
    }
}
