// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
package import RoutingModel

/// Applies the entries of a recording one after the other, and holds the network after the last one.
package struct RecordingReplay: Sendable {
    /// What the entries since the last dump began have described.
    struct State: Sendable {
        fileprivate var intake = SnapshotIntake()
        /// The tables that the recording describes.
        fileprivate(set) var coverage = RecordingCoverage()
        /// The indexes of interfaces that the recording names as Wi-Fi.
        fileprivate(set) var wirelessIndexes: Set<UInt32> = []
        /// The indexes of interfaces that the recording names as cellular modems.
        fileprivate(set) var cellularIndexes: Set<UInt32> = []
    }

    private let path: String
    private(set) var state = State()
    /// The first malformed message, and how many there are.
    package private(set) var fault: RecordingFault?

    private var start: RecordingTime?
    /// The state before the dump that is being applied, for a file that is cut inside it.
    private var earlier: State?
    /// Whether a dump has begun by its annotation and has not ended.
    package private(set) var isInsideMarkedDump = false
    /// Whether the last entry announced a dump: the network is that of before until the next one, which has its time.
    private var isBeforeMarkedDump = false
    /// Parts of dumps without annotations that ``settle()`` has not seen.
    private var openParts = 0

    /// Starts with an empty network.
    package init(path: String) {
        self.path = path
    }

    /// The network after the entries taken so far.
    package var snapshot: NetworkSnapshot {
        _read { yield state.intake.snapshot }
        _modify { yield &state.intake.snapshot }
    }

    /// What an entry means, besides the change of the network.
    package enum Effect: Sendable {
        /// A part of a dump, or nothing.
        case none
        /// A dump with annotations is complete.
        case dumpEnded
        /// Something that the recorder states about the recording itself, and the network is unknown until the next
        /// dump ends.
        case gap(RecordingAnnotation)
    }

    /// Applies the next entry.
    @discardableResult
    package mutating func take(_ entry: RecordingEntry) -> Effect {
        beginDump()
        if let time = entry.time { moveClock(to: time) }
        switch entry.content {
        case .annotation(let annotation): return take(annotation)
        case .message(let message): take(message, of: entry)
        case .fileEnd: abandonDump()
        }
        return .none
    }

    /// The notification that the next entry is; `nil` for a part of a dump, an annotation, and a message that no route
    /// can depend on.
    package func notification(_ entry: RecordingEntry) -> KernelNotification? {
        guard case .message(let message) = entry.content, !message.isDumped, !isInsideMarkedDump,
            !isBeforeMarkedDump
        else { return nil }
        return message.notification
    }

    /// Drops the previous network if a dump was announced.
    package mutating func beginDump() {
        guard isBeforeMarkedDump else { return }
        isBeforeMarkedDump = false
        startOver()
    }

    /// Whether parts of a dump without annotations came, and no notification after them.
    package var isInsideUnmarkedDump: Bool { openParts > 0 }

    /// Completes a dump without annotations.
    package mutating func endUnmarkedDump() {
        if openParts > 0 { settle() }
    }

    /// Ends the recording: the network is complete.
    package mutating func finish() {
        endUnmarkedDump()
        if !state.coverage.knowsNeighbours { snapshot.forgetNeighbours() }
    }

    // MARK: Messages

    private mutating func take(_ message: NetlinkMessage, of entry: RecordingEntry) {
        let isDumped = message.isDumped
        if !isDumped, openParts > 0, openParts >= snapshot.routeCount / 4 {
            // Settling visits each route: after a few parts it waits for more.
            settle()
        }
        switch state.intake.take(message) {
        case .applied where isDumped:
            state.coverage.took(message)
            if !isInsideMarkedDump { openParts += 1 }
        case .applied, .ignored: break
        case .malformed: noteFault(entry, message)
        }
    }

    private mutating func settle() {
        openParts = 0
        snapshot.dumpEnded(knowsNeighbours: false)
    }

    private mutating func noteFault(_ entry: RecordingEntry, _ message: NetlinkMessage) {
        if case .malformed(let type, let count) = fault?.reason {
            fault?.reason = .malformed(type: type, count: count + 1)
        } else {
            fault = RecordingFault(path: path, offset: entry.offset, reason: .malformed(type: message.type))
        }
    }

    // MARK: Annotations

    private mutating func take(_ annotation: RecordingAnnotation) -> Effect {
        switch annotation {
        case .dumpBegins: isBeforeMarkedDump = true
        case .dumpEnds where isInsideMarkedDump:
            isInsideMarkedDump = false
            earlier = nil
            state.coverage.dumpEnded()
            snapshot.dumpEnded(knowsNeighbours: true)
            return .dumpEnded
        case .wirelessInterfaces(let indexes): state.wirelessIndexes.formUnion(indexes)
        case .cellularInterfaces(let indexes): state.cellularIndexes.formUnion(indexes)
        case .changingTables(let tables): state.coverage.changed(tables)
        case .overrun, .unwritten:
            state.coverage.lost()
            return .gap(annotation)
        case .suspended, .end: return .gap(annotation)
        case .origin(let text): snapshot.kernel = KernelRelease(text)
        // A table that the kernel does not have is empty. A dump without a listener counts as it is.
        case .dumpEnds, .missingTables, .unwatched, .continued: break
        }
        return .none
    }

    private mutating func startOver() {
        let (clock, kernel) = (snapshot.clock, snapshot.kernel)
        if !isInsideMarkedDump { earlier = state }
        // With the snapshot go the templates that are valid for it.
        state = State()
        (snapshot.clock, snapshot.kernel) = (clock, kernel)
        state.coverage.dumpBegan()
        isInsideMarkedDump = true
        openParts = 0
    }

    /// Returns to the network before a dump that ends with its file.
    private mutating func abandonDump() {
        isBeforeMarkedDump = false
        guard isInsideMarkedDump, let earlier else { return }
        isInsideMarkedDump = false
        let clock = snapshot.clock
        state = earlier
        snapshot.clock = clock
        self.earlier = nil
    }

    // MARK: Time

    /// Moves the snapshot's clock forward; a host's clock that was set back does not move it.
    package mutating func moveClock(to time: RecordingTime) {
        let start = self.start ?? time
        self.start = start
        let seconds = Int64(time.seconds) - Int64(start.seconds)
        let ticks = (Int64(time.microseconds) - Int64(start.microseconds)) / 10_000
        snapshot.clock = max(snapshot.clock, seconds * 100 + ticks)
    }
}

// MARK: - The result

extension RecordedRouting {
    /// Reads a whole recording.
    ///
    /// Memory use depends on the size of the network, not of the recording.
    ///
    /// - Parameters:
    ///   - reader: The recording, from its start.
    ///   - askingUser: The user of a ``RouteQuery`` without one. As in the kernel the default is the real user of
    ///     this process; on the recorded host that number can be another user's.
    /// - Throws: The first fault of the recording, also a malformed message.
    package init(
        _ reader: consuming RecordingReader,
        askingUser: UInt32? = getuid()
    ) throws(RecordingFault) {
        var replay = RecordingReplay(path: reader.path)
        do {
            try reader.readAll { replay.take($0) }
        } catch {
            throw replay.fault ?? error
        }
        if let fault = replay.fault { throw fault }
        replay.beginDump()
        self.init(consume replay, askingUser: askingUser)
    }

    /// Takes the network after the entries so far, as if the recording ended here.
    package init(_ replay: consuming RecordingReplay, askingUser: UInt32? = getuid()) {
        replay.finish()
        replay.snapshot.askingUser = askingUser
        let coverage = replay.state.coverage
        self.init(
            SnapshotRouting(
                replay.snapshot,
                wirelessIndexes: replay.state.wirelessIndexes,
                cellularIndexes: replay.state.cellularIndexes
            ),
            obstacleForIPv4: coverage.obstacle(for: .v4),
            obstacleForIPv6: coverage.obstacle(for: .v6),
            obstacleForInterfaces: coverage.obstacleForInterfaces
        )
    }
}

// MARK: - Coverage

/// The tables that a recording describes.
///
/// A table without a dump is unknown, not empty. The annotations of a recording mark dumps of all tables. Without them
/// a table counts as described once a part of its dump has come: a dump of an empty table leaves no trace.
struct RecordingCoverage: Hashable, Sendable {
    private var dumped: Tables = []
    private var changing: Tables = []
    /// Why the entries so far are ignored; `nil` when they count.
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
            case .nexthops: "nexthop objects"
            default: "\(table)"
            }
        return family.map { "\($0) \(name)" } ?? name
    }
}

/// A set of tables, each of one family or, for links and nexthop objects, without one.
private struct Tables: OptionSet, Hashable, Sendable {
    static let all = Tables(rawValue: .max)

    let rawValue: UInt128
}

extension Tables {
    fileprivate init(_ table: DumpRequest.Table, _ family: IPAddress.Family?) {
        let part: UInt16 =
            switch family {
            case nil: 0
            case .v4: 1
            case .v6: 2
            }
        // The numbers of two tables are at least four apart, and below 128.
        self.init(rawValue: 1 << (table.rawValue + part))
    }
}
