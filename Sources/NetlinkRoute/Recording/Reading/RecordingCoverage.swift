// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import RoutingModel

/// The tables that a recording describes.
///
/// A table without a dump is unknown, not empty. The annotations of a recording mark dumps of all tables. Without them a table counts as described once a part
/// of its dump has come: a dump of an empty table leaves no trace.
struct RecordingCoverage: Hashable, Sendable {
    private var dumped: Tables = []
    private var changing: Tables = []
    /// Why nothing that came so far counts; `nil` when it does.
    private var gap: String?

    // MARK: Reading

    /// Starts over: an annotation marks the start of a dump of all tables.
    mutating func dumpBegan() {
        self = RecordingCoverage()
        gap = "the recording ends inside a dump"
    }

    /// Completes a marked dump: each table was dumped, or the kernel does not have it.
    mutating func dumpEnded() {
        dumped = .all
        gap = nil
    }

    /// Notes that notifications were lost: nothing counts until the next dump.
    mutating func lost() {
        gap = "notifications were lost while this was recorded, and no dump follows"
    }

    /// Notes tables that changed while they were dumped.
    mutating func changed(_ tables: [RecordingAnnotation.Table]) {
        for table in tables { changing.insert(Tables(table.table, table.family)) }
    }

    /// Notes a part of a dump.
    mutating func took(_ message: NetlinkMessage) {
        let flags = Int32(message.flags)
        guard flags & NLM_F_DUMP_FILTERED == 0, let table = DumpRequest.Table(of: message) else { return }
        var part = Tables(table, nil)
        if table != .links, table != .nexthops {
            guard let family = message.family.flatMap(IPAddress.Family.init(rawValue:)) else { return }
            part = Tables(table, family)
        }
        dumped.formUnion(part)
        if flags & NLM_F_DUMP_INTR != 0 { changing.formUnion(part) }
    }

    // MARK: Asking

    /// Whether the neighbours of both families are known and did not change during their dump.
    var knowsNeighbours: Bool {
        IPAddress.Family.allCases.allSatisfy { obstacle(.neighbours, $0) == nil }
    }

    /// Why no question about interfaces can be answered; `nil` when it can.
    var obstacleForInterfaces: String? {
        gap ?? obstacle(.links)
    }

    /// Why no question about an address of this family can be answered; `nil` when it can.
    func obstacle(for family: IPAddress.Family) -> String? {
        obstacleForInterfaces ?? obstacle(.addresses, family) ?? obstacle(.routes, family)
            ?? obstacle(.rules, family) ?? change(.nexthops)
    }

    private func obstacle(_ table: DumpRequest.Table, _ family: IPAddress.Family? = nil) -> String? {
        guard dumped.contains(Tables(table, family)) else {
            return "the recording holds no dump of the \(Self.name(table, family)): "
                + "record with `netflags record`, which dumps all tables"
        }
        return change(table, family)
    }

    private func change(_ table: DumpRequest.Table, _ family: IPAddress.Family? = nil) -> String? {
        guard changing.contains(Tables(table, family)) else { return nil }
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

/// A set of tables, each of one family or, for links and nexthop objects, without one.
private struct Tables: OptionSet, Hashable, Sendable {
    static let all = Tables(rawValue: .max)

    let rawValue: UInt32
}

extension Tables {
    fileprivate init(_ table: DumpRequest.Table, _ family: IPAddress.Family?) {
        let place: UInt32 =
            switch table {
            case .links: 0
            case .addresses: 1
            case .routes: 2
            case .neighbours: 3
            case .rules: 4
            case .settings: 5
            case .nexthops: 6
            }
        let part: UInt32 =
            switch family {
            case nil: 0
            case .v4: 1
            case .v6: 2
            }
        self.init(rawValue: 1 << (3 * place + part))
    }
}
