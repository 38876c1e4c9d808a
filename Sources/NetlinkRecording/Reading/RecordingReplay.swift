// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
package import RoutingModel

/// Applies the entries of a recording in order, and contains the network after the last applied entry.
package struct RecordingReplay: Sendable {
    /// The network according to the entries since the last dump began.
    struct State: Sendable {
        fileprivate(set) var routing = SnapshotRouting(NetworkSnapshot())
        /// The tables that the recording describes.
        fileprivate(set) var coverage = RecordingCoverage()
    }

    /// Whether the network is known.
    ///
    /// During a marked dump, whether it was known before the dump.
    private enum Knowledge: Sendable {
        /// No dump was complete.
        case unknown
        /// The network is known.
        case known
        /// The network is not known until the next dump ends.
        case gap(Recording.Mark.Kind)
    }

    /// The position of the last entry relative to files and marked dumps.
    private enum Place: Sendable {
        /// In a file, outside of a marked dump.
        case file
        /// At the end of a file, and the next file has not stated yet that it continues this one.
        case fileEnd
        /// At the announcement of a dump. The previous network applies until the next entry, which has the time of
        /// the dump.
        case announcement
        /// In a marked dump. `earlier` is the state to restore if the dump turns out to be incomplete.
        case dump(earlier: State)
    }

    private(set) var state = State()
    private var knowledge = Knowledge.unknown
    /// Whether any dump was complete.
    package private(set) var hasBegun = false
    /// The number of messages of dumps without annotations since the last complete dump; 0 in a gap.
    private var openParts = 0
    private var place = Place.file
    /// The damage, in the order of the entries.
    package private(set) var damage: [Recording.Damage] = []

    private var start: Recording.Time?
    /// The time of the last entry that has one.
    private(set) var time: Recording.Time?
    /// The owners of ports since the last dump.
    private var requesters: [UInt32: Recording.Event.Requester] = [:]

    /// Creates a replay with an empty network.
    package init() {}

    /// The network after the entries so far.
    package var snapshot: NetworkSnapshot {
        _read { yield state.routing.snapshot }
        _modify { yield &state.routing.snapshot }
    }

    /// Whether the network is known, and no marked dump has begun.
    package var isKnown: Bool {
        if case .known = knowledge { !isInsideMarkedDump } else { false }
    }

    /// Whether a marked dump has begun and has not ended.
    package var isInsideMarkedDump: Bool {
        if case .dump = place { true } else { false }
    }

    private var isInGap: Bool {
        if case .gap = knowledge { !isInsideMarkedDump } else { false }
    }

    /// The effect of an entry, besides the change of the network.
    package enum Effect: Sendable {
        /// No effect: a part of a dump, or another entry.
        case none
        /// A marked dump is complete. If there was a gap, it ends.
        case dumpEnded(isResumed: Bool)
        /// A gap begins.
        case gap(Recording.Mark.Kind)
    }

    /// The gap that begins before an entry is applied, and its start; `nil` for an entry that begins no gap.
    ///
    /// A malformed message is found only when it is applied.
    package func gap(before entry: RecordingEntry) -> (gap: Recording.Mark.Kind, start: Recording.Time?)? {
        guard let gap = statedGap(entry) else { return nil }
        return (gap, gap.start(after: time, statedAt: entry.time))
    }

    private func statedGap(_ entry: RecordingEntry) -> Recording.Mark.Kind? {
        switch entry.content {
        case .annotation(.dumpBegins): return isInterrupted ? .interrupted : nil
        case .annotation(let annotation): return Recording.Mark.Kind(annotation)
        case .fileEnd(let error): return error.map { Recording.Mark.Kind($0) }
        case .message: return nil
        }
    }

    /// Whether the recording ends between two files without a final mark.
    package var isInterrupted: Bool {
        if case .fileEnd = place { !isInGap } else { false }
    }

    /// Checks that a dump was complete if the recording is damaged.
    ///
    /// Otherwise the recording cannot be used.
    ///
    /// - Throws: The first damage.
    package func checkBegin() throws(RecordingError) {
        if !hasBegun, let first = damage.first { throw first }
    }

    /// Applies the next entry.
    @discardableResult
    package mutating func apply(_ entry: RecordingEntry) -> Effect {
        beginDump()
        let gap = statedGap(entry)
        if let gap { begin(gap) }
        if let time = entry.time {
            moveClock(to: time)
            self.time = time
        }
        switch entry.content {
        case .message(let message): return apply(message, of: entry)
        case .fileEnd:
            abandonDump()
            place = .fileEnd
        case .annotation(let annotation):
            if apply(annotation) { return endDump() }
        }
        return gap.map(Effect.gap) ?? .none
    }

    /// Begins a gap after the entries so far.
    ///
    /// Further entries have no effect until the next dump.
    package mutating func begin(_ gap: Recording.Mark.Kind) {
        abandonDump()
        if isKnown { endUnmarkedDump() }
        (knowledge, openParts) = (.gap(gap), 0)
        if let damage = gap.damage { self.damage.append(damage) }
    }

    /// The notification in the next entry; `nil` for a part of a dump, an annotation, and a message that no route can
    /// depend on.
    package func notification(_ entry: RecordingEntry) -> KernelNotification? {
        guard case .message(let message) = entry.content, !message.isDumped, !isInGap else { return nil }
        switch place {
        case .file, .fileEnd: return message.notification
        case .announcement, .dump: return nil
        }
    }

    /// Describes the next entry as an event, before it is applied; `nil` for a message about a neighbour, and for a
    /// message without a change.
    mutating func event(_ message: NetlinkMessage, at time: Recording.Time) -> Recording.Event? {
        // Lifetimes that are over by now.
        moveClock(to: time)
        return Recording.Event(message, before: snapshot, at: time, by: requesters[message.port])
    }

    /// Drops the previous network if a dump was announced.
    package mutating func beginDump() {
        guard case .announcement = place else { return }
        place = .dump(earlier: state)
        openParts = 0
        clear()
    }

    private mutating func clear() {
        let (clock, kernel) = (snapshot.clock, snapshot.kernel)
        state = State()
        (snapshot.clock, snapshot.kernel) = (clock, kernel)
    }

    /// Whether a dump without annotations, such as those of rtmon, is still open.
    package var isInsideUnmarkedDump: Bool { openParts > 0 }

    /// Completes a dump without annotations.
    package mutating func endUnmarkedDump() {
        if openParts > 0 { complete(knowsNeighbours: false) }
    }

    /// Ends the recording.
    ///
    /// The network is complete then.
    package mutating func finish() {
        endUnmarkedDump()
        // An incomplete dump of the neighbours shows nothing.
        if !state.coverage.knowsNeighbours { snapshot.neighbours = nil }
    }

    /// Returns why no query can be answered; `nil` if the tables decide.
    ///
    /// - Parameter isAtEnd: Whether the recording ends here, so that the network before the last gap is its final
    ///   state.
    /// - Returns: The reason, as a sentence.
    func blocker(isAtEnd: Bool) -> String? {
        if isInsideMarkedDump { return "the recording ends inside a dump" }
        return switch knowledge {
        case .unknown where !isAtEnd: "this time is not recorded"
        case .unknown, .known: nil
        case .gap(let gap) where isAtEnd && gap.isEnd: nil
        case .gap where isAtEnd: "notifications were lost while this was recorded, and no dump follows"
        case .gap: "this time is not recorded"
        }
    }

    // MARK: Messages

    private mutating func apply(_ message: NetlinkMessage, of entry: RecordingEntry) -> Effect {
        if isInGap { return .none }
        let isDumped = message.isDumped
        if !isDumped, openParts > 0, openParts >= snapshot.routeCount / 4 {
            // This visits each route, so after a few messages it waits for more.
            complete(knowsNeighbours: false)
        }
        switch message.content {
        case .change(let change):
            state.routing.snapshot.apply(change)
            // A marked dump contains all tables, and states which of them changed.
            if isDumped, !isInsideMarkedDump {
                state.coverage.add(message)
                openParts += 1
            }
        case .ignored: break
        case .malformed:
            let reason = RecordingError.Reason.malformed(type: message.type)
            let gap = Recording.Mark.Kind(
                RecordingError(path: entry.path, offset: entry.offset, reason: reason))
            begin(gap)
            return .gap(gap)
        }
        return .none
    }

    /// Treats the network as complete.
    private mutating func complete(knowsNeighbours: Bool) {
        (knowledge, hasBegun, openParts) = (.known, true, 0)
        snapshot.dumpEnded(knowsNeighbours: knowsNeighbours)
    }

    // MARK: Annotations

    /// Applies an annotation.
    ///
    /// Returns whether a dump is complete.
    private mutating func apply(_ annotation: RecordingAnnotation) -> Bool {
        switch annotation {
        case .dumpBegins:
            requesters = [:]
            if isInsideMarkedDump { clear() } else { place = .announcement }
        case .dumpEnds: return isInsideMarkedDump
        case .wirelessInterfaces(let indexes): state.routing.wirelessIndexes.formUnion(indexes)
        case .cellularInterfaces(let indexes): state.routing.cellularIndexes.formUnion(indexes)
        case .settingsOfAll(let settings): snapshot.settings.apply(settings)
        case .changingTables(let tables):
            state.coverage.changed(tables)
            // Outside of a dump, later changes of these tables are not recorded.
            if !isInsideMarkedDump, !state.coverage.knowsNeighbours { snapshot.neighbours = nil }
        case .origin(let text): snapshot.kernel = KernelRelease(text)
        case .requester(let port, let requester):
            guard requesters[port] != nil || requesters.count < Recording.Event.Requester.portLimit else {
                return false
            }
            requesters[port] = requester
        case .evidence(let evidence): state.routing.evidence = evidence
        case .continued: if case .fileEnd = place { place = .file }
        case .overrun, .suspended, .stalled, .unwritten, .end, .clock, .follows: break
        // A table that the kernel does not have is empty. A dump without notifications is used as it is.
        case .missingTables, .unwatched: break
        }
        return false
    }

    // MARK: Marked dumps

    private mutating func endDump() -> Effect {
        place = .file
        let isResumed = isInGap
        state.coverage.dumpEnded()
        complete(knowsNeighbours: true)
        return .dumpEnded(isResumed: isResumed)
    }

    /// Restores the network from before an incomplete dump.
    private mutating func abandonDump() {
        switch place {
        case .file, .fileEnd: return
        case .announcement: break
        case .dump(let earlier):
            let clock = snapshot.clock
            state = earlier
            state.routing.moveClock(to: clock)
        }
        place = .file
    }

    // MARK: Time

    /// Moves the snapshot's clock forward, never back.
    package mutating func moveClock(to time: Recording.Time) {
        let start = self.start ?? time
        self.start = start
        let ticks = (time.microsecondsSince1970 - start.microsecondsSince1970) / 10_000
        state.routing.moveClock(to: ticks)
    }
}

// MARK: - Gaps

// Gaps: why a part of a recording is missing. A gap begins at `start(after:statedAt:)` and ends with the next dump.
// The network in between is not known, for all kinds of gaps.

extension Recording.Mark.Kind {
    /// The gap that an annotation states; `nil` if it states none.
    init?(_ annotation: RecordingAnnotation) {
        switch annotation {
        case .overrun: self = .overrun
        case .suspended(let milliseconds): self = .suspended(.milliseconds(Int64(clamping: milliseconds)))
        case .stalled(let milliseconds): self = .stalled(.milliseconds(Int64(clamping: milliseconds)))
        case .unwritten(let number): self = .unwritten(number)
        case .end: self = .ended
        default: return nil
        }
    }

    /// The gap after the end of a file's readable part.
    init(_ error: RecordingError) {
        self = error.isCut ? .cut(error) : .damaged(error)
    }

    /// Whether the recording ends here unless another file follows, so that the network before the gap is its final
    /// state.
    var isEnd: Bool {
        switch self {
        case .overrun, .suspended, .stalled, .unwritten, .clockSet, .clockBehind: false
        case .ended, .interrupted, .cut, .damaged: true
        }
    }

    /// The time at which the gap begins.
    ///
    /// The time is that of the last message before the gap, or a later known time: when the recorder ended on
    /// request, when the recorder last read notifications, or when the machine fell asleep.
    ///
    /// - Parameters:
    ///   - last: The time of the last message before the gap; `nil` if none has a time.
    ///   - stated: The time of the statement, which the recorder can have made long after the gap began.
    /// - Returns: The time; `nil` if neither is known.
    func start(after last: Recording.Time?, statedAt stated: Recording.Time?) -> Recording.Time? {
        guard let last, let stated else { return last ?? stated }
        switch self {
        case .ended: return max(last, stated)
        case .suspended(let duration), .stalled(let duration):
            // A file can state any duration.
            let slept = Int64(min(duration / .microseconds(1), 1e16))
            return max(last, Recording.Time(limiting: stated.microsecondsSince1970 - slept))
        case .overrun, .unwritten, .interrupted, .cut, .damaged, .clockSet, .clockBehind: return last
        }
    }
}

// MARK: - Coverage

/// The tables that a recording describes.
///
/// A table without a dump is unknown, not empty. The annotations of a recording mark dumps of all tables. Without
/// annotations, a table counts as described after the first message of its dump: a dump of an empty table leaves no
/// trace.
struct RecordingCoverage: Hashable, Sendable {
    private typealias Table = RecordingAnnotation.Table

    /// The coverage of a completely known network.
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

    /// Records tables that changed while they were dumped.
    mutating func changed(_ tables: [RecordingAnnotation.Table]) {
        for table in tables { changing.insert(Table(table.table, family: table.family)) }
    }

    /// Records a message of a dump.
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

    // MARK: Queries

    /// Whether the neighbours of both families are known and did not change during their dump.
    var knowsNeighbours: Bool {
        IPAddress.Family.allCases.allSatisfy { blocker(.neighbours, $0) == nil }
    }

    /// Why no query about interfaces can be answered; `nil` if it can be answered.
    var blockerForInterfaces: String? {
        blocker(.links)
    }

    /// Why no query about an address of this family can be answered; `nil` if it can be answered.
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
        return "the \(Self.name(table, family)) changed faster than they were recorded"
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
