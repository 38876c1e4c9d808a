// SPDX-License-Identifier: Apache-2.0

internal import NetlinkRoute
package import RoutingModel
package import RoutingSimulation

/// Applies the entries of a recording one after the other, and holds the network after the last one.
package struct RecordingReplay: Sendable {
    /// What the entries since the last dump began have described.
    struct State: Sendable {
        fileprivate(set) var routing = SnapshotRouting(NetworkSnapshot())
        /// The tables that the recording describes.
        fileprivate(set) var coverage = RecordingCoverage()
    }

    /// What is known of the network.
    package enum Phase: Hashable, Sendable {
        /// No dump is complete, and none has begun that is marked.
        case unknown
        /// A marked dump has begun and has not ended.
        case dumping
        /// The network is known.
        case known
        /// The network is not known until the next dump ends.
        case gap(Recording.Mark.Kind)
    }

    private(set) var state = State()
    /// What is known of the network.
    package private(set) var phase = Phase.unknown
    /// The damage, in the order of the entries.
    package private(set) var damage: [Recording.Damage] = []
    /// Whether a dump was complete at any time.
    package private(set) var hasBegun = false

    private var start: Recording.Time?
    /// The time of the last entry that has one.
    private var time: Recording.Time?
    /// The state to restore if the current dump turns out to be incomplete.
    private var earlier: (state: State, phase: Phase)?
    /// Whether the last entry announced a dump: the network is that of before until the next one, which has its time.
    private var isBeforeMarkedDump = false
    /// Whether a file has ended, and the next one has not said that it continues it.
    private var isBetweenFiles = false
    /// Who ports stand for since the last dump.
    private var requesters: [UInt32: Recording.Event.Requester] = [:]
    /// The most ports that are kept, and that a recorder states between two dumps.
    private static let requesterLimit = 1_024
    /// Parts of dumps without annotations that ``settle()`` has not seen.
    private var openParts = 0

    /// Starts with an empty network.
    package init() {}

    /// The network after the entries taken so far.
    package var snapshot: NetworkSnapshot {
        _read { yield state.routing.snapshot }
        _modify { yield &state.routing.snapshot }
    }

    /// What an entry means, besides the change of the network.
    package enum Effect: Sendable {
        /// A part of a dump, or nothing.
        case none
        /// A marked dump is complete; it ends a gap if there was one.
        case dumpEnded(isResumed: Bool)
        /// A gap begins.
        case gap(Recording.Mark.Kind)
    }

    /// The gap that begins before an entry is applied, and when; `nil` for an entry that does not begin one.
    ///
    /// A malformed message is found when it is applied.
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

    /// Whether the recording ends between two files without a word of its recorder.
    package var isInterrupted: Bool {
        if case .gap = phase { return false }
        return isBetweenFiles
    }

    /// Checks that a dump was complete, if the recording is damaged: otherwise nothing of it can be used.
    ///
    /// - Throws: The first damage.
    package func checkBegin() throws(RecordingError) {
        if !hasBegun, let first = damage.first { throw first.error }
    }

    /// Applies the next entry.
    @discardableResult
    package mutating func take(_ entry: RecordingEntry) -> Effect {
        beginDump()
        let gap = statedGap(entry)
        if let gap { begin(gap) }
        if let time = entry.time {
            moveClock(to: time)
            self.time = time
        }
        switch entry.content {
        case .message(let message): return take(message, of: entry)
        case .fileEnd:
            abandonDump()
            isBetweenFiles = true
        case .annotation(let annotation):
            if take(annotation) { return endDump() }
        }
        return gap.map(Effect.gap) ?? .none
    }

    /// Begins a gap that follows the entries so far: nothing counts until the next dump.
    package mutating func begin(_ gap: Recording.Mark.Kind) {
        abandonDump()
        if phase == .known { endUnmarkedDump() }
        openParts = 0
        phase = .gap(gap)
        if let damage = gap.damage { self.damage.append(damage) }
    }

    /// The notification that the next entry is; `nil` for a part of a dump, an annotation, and a message that no route
    /// can depend on.
    package func notification(_ entry: RecordingEntry) -> KernelNotification? {
        guard case .message(let message) = entry.content, !message.isDumped, !isBeforeMarkedDump else {
            return nil
        }
        switch phase {
        case .unknown, .known: return message.notification
        case .dumping, .gap: return nil
        }
    }

    /// Who a port stood for, as the recorder saw it; `nil` if it did not look, or saw nothing.
    package func requester(of port: UInt32) -> Recording.Event.Requester? { requesters[port] }

    /// Drops the previous network if a dump was announced.
    package mutating func beginDump() {
        guard isBeforeMarkedDump else { return }
        isBeforeMarkedDump = false
        let (clock, kernel) = (snapshot.clock, snapshot.kernel)
        if phase != .dumping { earlier = (state, phase) }
        state = State()
        (snapshot.clock, snapshot.kernel) = (clock, kernel)
        phase = .dumping
        openParts = 0
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
        // A dump of them that is not complete says nothing.
        if !state.coverage.knowsNeighbours { snapshot.neighbours = nil }
    }

    // MARK: Messages

    private mutating func take(_ message: NetlinkMessage, of entry: RecordingEntry) -> Effect {
        if case .gap = phase { return .none }
        let isDumped = message.isDumped
        if !isDumped, openParts > 0, openParts >= snapshot.routeCount / 4 {
            // Settling visits each route: after a few parts it waits for more.
            settle()
        }
        switch message.content {
        case .change(let change):
            state.routing.snapshot.apply(change)
            // A marked dump is one of all tables, and states which of them changed.
            if isDumped, phase != .dumping {
                state.coverage.took(message)
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

    private mutating func settle() {
        openParts = 0
        (phase, hasBegun) = (.known, true)
        snapshot.dumpEnded(knowsNeighbours: false)
    }

    // MARK: Annotations

    /// Applies an annotation; returns whether a dump is complete.
    private mutating func take(_ annotation: RecordingAnnotation) -> Bool {
        switch annotation {
        case .dumpBegins:
            (isBeforeMarkedDump, isBetweenFiles) = (true, false)
            requesters = [:]
        case .dumpEnds: return phase == .dumping
        case .wirelessInterfaces(let indexes): state.routing.wirelessIndexes.formUnion(indexes)
        case .cellularInterfaces(let indexes): state.routing.cellularIndexes.formUnion(indexes)
        case .changingTables(let tables): state.coverage.changed(tables)
        case .origin(let text): snapshot.kernel = KernelRelease(text)
        case .requester(let port, let requester):
            guard requesters[port] != nil || requesters.count < Self.requesterLimit else { return false }
            requesters[port] = requester
        case .continued: isBetweenFiles = false
        case .overrun, .suspended, .unwritten, .end, .clock, .follows: break
        // A table that the kernel does not have is empty. A dump without a listener counts as it is.
        case .missingTables, .unwatched: break
        }
        return false
    }

    // MARK: Marked dumps

    private mutating func endDump() -> Effect {
        var isResumed = false
        if case .gap = earlier?.phase { isResumed = true }
        earlier = nil
        (phase, hasBegun) = (.known, true)
        state.coverage.dumpEnded()
        snapshot.dumpEnded(knowsNeighbours: true)
        return .dumpEnded(isResumed: isResumed)
    }

    /// Returns to the network before a dump that is not complete.
    private mutating func abandonDump() {
        isBeforeMarkedDump = false
        guard phase == .dumping, let earlier else { return }
        let clock = snapshot.clock
        (state, phase) = earlier
        snapshot.clock = clock
        self.earlier = nil
    }

    // MARK: Time

    /// Moves the snapshot's clock forward, and never back.
    package mutating func moveClock(to time: Recording.Time) {
        let start = self.start ?? time
        self.start = start
        let ticks = (time.microsecondsSince1970 - start.microsecondsSince1970) / 10_000
        snapshot.clock = max(snapshot.clock, ticks)
    }
}
