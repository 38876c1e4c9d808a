// SPDX-License-Identifier: Apache-2.0

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

    /// Drops the network of before if a dump was announced.
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
        switch fault?.reason {
        case .malformed(let type): fault?.reason = .severalMalformed(type: type, count: 2)
        case .severalMalformed(let type, let count):
            fault?.reason = .severalMalformed(type: type, count: count + 1)
        default: fault = entry.malformed(path: path)
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
