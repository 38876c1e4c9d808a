// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import RoutingModel

/// Takes recordings of the calling thread's network namespace.
///
/// A dump of the kernel is no photograph: what changes while it is taken can be missing or doubled, and only some
/// dumps say so (an IPv6 route dump does not, on Linux 6.18). So announcements are listened to meanwhile, and
/// each table that one may have touched is dumped again, at most five times in all. One that changes still is
/// kept and marked.
///
/// The dump is held in memory until it is whole: about 130 bytes a route. Needs no privilege.
package struct Recorder: ~Copyable {
    /// How often a table is dumped at most.
    static let attempts = 5
    /// How many bytes of announcements that came during a dump are kept, before they count as lost.
    private static let pendingLimit = 4 << 20
    /// How many datagrams one look at the event socket reads at most: under endless change it is never empty.
    private static let burstLimit = 4_096

    private var queries: QuerySocket
    /// Listens while dumps are taken, and afterwards; `nil` where a sandbox refuses.
    var events: EventSocket?
    /// Stamps and announcements that are newer than the last dump.
    private(set) var pending: [UInt8] = []
    /// Whether all groups of events could be joined.
    package let isWatching: Bool
    /// Why they could not; `nil` when they could.
    let watchFault: RoutingFault?

    /// Opens its sockets in the calling thread's network namespace, where they stay.
    ///
    /// - Parameter eventBuffer: The receive buffer for announcements to ask for, in bytes.
    /// - Throws: What refused the socket for questions. Without one for announcements it works on.
    package init(eventBuffer: UInt32 = 8 << 20) throws(RoutingFault) {
        queries = try QuerySocket()
        do {
            events = try Self.listen(eventBuffer)
            watchFault = nil
        } catch {
            events = nil
            watchFault = error
        }
        isWatching = watchFault == nil
    }

    private static func listen(_ buffer: UInt32) throws(RoutingFault) -> EventSocket {
        var socket = try EventSocket()
        _ = try socket.setBuffer(bytes: buffer)
        for group in EventGroup.allCases {
            do {
                try socket.join(group)
            } catch  where group == .nexthop && error.number == EINVAL {
                // Before Linux 5.3 there are no nexthop objects.
                continue
            }
        }
        try socket.joinNeighbours()
        return socket
    }

    /// Dumps all tables, again where something changed meanwhile.
    ///
    /// Announcements that came before belong to what the dump shows, and are dropped.
    package mutating func takeSnapshot() throws(RoutingFault) -> RecordedSnapshot {
        var tables = RecordedTable.all
        var stale = Set(tables.indices)
        for attempt in 0..<Self.attempts where !stale.isEmpty {
            // What is announced during a quiet moment does not have to be dumped once more.
            if attempt > 0 { usleep(5_000 << UInt32(attempt)) }
            stale.formUnion(try collectEvents(tables))
            pending.removeAll(keepingCapacity: true)
            for index in stale.sorted() {
                tables[index] = try dump(tables[index].table, tables[index].family)
            }
            stale = stale.filter { tables[$0].state == .changing }
            stale.formUnion(try collectEvents(tables))
        }
        for index in stale where tables[index].isPresent { tables[index].state = .changing }
        return RecordedSnapshot(
            time: .now,
            wirelessInterfaces: (WirelessInterfaces.indexes() ?? []).sorted(),
            cellularInterfaces: tables.first?.cellularInterfaces ?? [],
            isWatched: isWatching,
            tables: tables
        )
    }

    private mutating func dump(
        _ table: DumpRequest.Table,
        _ family: IPAddress.Family?
    ) throws(RoutingFault) -> RecordedTable {
        var dumped = RecordedTable(table, family)
        do {
            let isInterrupted = try queries.dump(DumpRequest(table, family: family)) { dumped.keep($0) }
            dumped.state = isInterrupted ? .changing : .settled
        } catch {
            // After a failure answers could still be under way in the old socket.
            queries = try QuerySocket()
            guard dumped.mayBeMissing(error.number) else { throw error }
            dumped = RecordedTable(table, family)
            dumped.state = .missing(error.number)
        }
        return dumped
    }

    // MARK: - Events

    /// Reads the announcements that are queued into ``pending``, and returns which tables they may have touched.
    private mutating func collectEvents(_ tables: [RecordedTable]) throws(RoutingFault) -> Set<Int> {
        var touched: Set<Int> = []
        let reading = try readEvents { message in
            let mark = TouchedTables(message)
            touched.formUnion(tables.indices.filter { mark.contains(tables[$0]) })
        }
        return reading == .complete ? touched : Set(tables.indices)
    }

    /// How a look at the event socket ended.
    enum EventReading: Hashable {
        /// The queue is empty.
        case complete
        /// There is more.
        case more
        /// Announcements were lost.
        case overrun
    }

    /// Reads announcements into ``pending`` until none is queued, each behind its time stamp.
    mutating func readEvents(_ look: (NetlinkMessage) -> Void = { _ in }) throws(RoutingFault) -> EventReading
    {
        guard events != nil else { return .complete }
        var isOverrun = false
        for _ in 0..<Self.burstLimit {
            var batch: [UInt8] = []
            let now = RecordingTime.now
            let reading = try events?.receive { message in
                batch.appendTimeStamp(now)
                batch.appendPadded(message.bytes)
                look(message)
            }
            switch reading {
            case .messages where pending.count + batch.count <= Self.pendingLimit: pending += batch
            case .messages, .overrun: isOverrun = true
            case .empty, nil: return isOverrun ? .overrun : .complete
            }
        }
        return isOverrun ? .overrun : .more
    }

    /// Hands over the announcements that have not been written yet.
    mutating func takePending() -> [UInt8] {
        defer { pending.removeAll(keepingCapacity: true) }
        return pending
    }
}

extension RecordedTable {
    /// Whether the kernel has the table.
    fileprivate var isPresent: Bool {
        if case .missing = state { false } else { true }
    }

    /// Whether a refusal means that the kernel was built without the table.
    fileprivate func mayBeMissing(_ number: Int32) -> Bool {
        switch number {
        case EOPNOTSUPP, EAFNOSUPPORT, EPFNOSUPPORT, EPROTONOSUPPORT: table != .links
        default: false
        }
    }

    /// The indexes in a dump of the links that the device model calls cellular modems.
    fileprivate var cellularInterfaces: [UInt32] {
        var indexes: [UInt32] = []
        var rest = 0
        messages.withUnsafeBytes { bytes in
            while let message = NetlinkMessage(UnsafeRawBufferPointer(rebasing: bytes[rest...])) {
                rest = min(rest + RecordingFormat.padded(message.bytes.count), bytes.count)
                guard case .link(let content) = message.content, content.link.mayBeModem,
                    SysfsInterface.isCellular(name: content.link.name, index: content.link.index)
                else { continue }
                indexes.append(content.link.index)
            }
        }
        return indexes
    }
}
