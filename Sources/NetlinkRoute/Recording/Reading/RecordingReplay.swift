// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// Turns the entries of a recording, one after the other, into the network at its end.
package struct RecordingReplay: Sendable {
    private let path: String
    /// The network as far as it has been told.
    package var snapshot = NetworkSnapshot()
    /// Which tables that is.
    private(set) var coverage = RecordingCoverage()
    /// The interfaces that are known as Wi-Fi.
    private(set) var wirelessIndexes: Set<UInt32> = []
    /// The interfaces that are known as cellular modems.
    private(set) var cellularIndexes: Set<UInt32> = []
    /// The first message that does not hold together, and how many there are.
    package private(set) var fault: RecordingFault?

    private var start: RecordingTime?
    /// Whether a dump is between its annotations.
    package private(set) var isInsideMarkedDump = false
    /// Parts of dumps without annotations whose end has not been noted.
    private var openParts = 0

    /// Begins with an empty network.
    package init(path: String) {
        self.path = path
    }

    /// Takes the next entry.
    package mutating func take(_ entry: RecordingEntry) {
        if let time = entry.time { moveClock(to: time) }
        switch entry.content {
        case .annotation(let annotation): take(annotation)
        case .message(let message):
            if let change = NetworkChange(message) {
                take(change, message)
            } else if message.content == .malformed {
                noteFault(entry, message)
            }
        }
    }

    /// Notes the end of the recording.
    package mutating func finish() {
        if openParts > 0 { settle() }
        if !coverage.knowsNeighbours { snapshot.forgetNeighbours() }
    }

    // MARK: Messages

    private mutating func take(_ change: NetworkChange, _ message: NetlinkMessage) {
        if message.isDumped {
            coverage.took(message)
            if !isInsideMarkedDump { openParts += 1 }
        } else if openParts > 0, openParts >= snapshot.routeCount / 4 {
            // Noting the end takes time for each route: after parts that are few it waits.
            settle()
        }
        snapshot.apply(change)
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

    private mutating func take(_ annotation: RecordingAnnotation) {
        switch annotation {
        case .dumpBegins: startOver()
        case .dumpEnds where isInsideMarkedDump:
            isInsideMarkedDump = false
            coverage.dumpEnded()
            snapshot.dumpEnded(knowsNeighbours: true)
        case .wirelessInterfaces(let indexes): wirelessIndexes.formUnion(indexes)
        case .cellularInterfaces(let indexes): cellularIndexes.formUnion(indexes)
        case .changingTables(let tables): coverage.changed(tables)
        case .overrun: coverage.lost()
        // A table that the kernel does not have is empty. Where nobody could listen, a dump counts as it is.
        case .dumpEnds, .missingTables, .unwatched, .origin, .end: break
        }
    }

    private mutating func startOver() {
        let clock = snapshot.clock
        snapshot = NetworkSnapshot()
        snapshot.clock = clock
        wirelessIndexes = []
        cellularIndexes = []
        coverage.dumpBegan()
        isInsideMarkedDump = true
        openParts = 0
    }

    // MARK: Time

    /// Moves the snapshot's clock on, never back: a host's time can be set.
    private mutating func moveClock(to time: RecordingTime) {
        let start = self.start ?? time
        self.start = start
        let seconds = Int64(time.seconds) - Int64(start.seconds)
        let ticks = (Int64(time.microseconds) - Int64(start.microseconds)) / 10_000
        snapshot.clock = max(snapshot.clock, seconds * 100 + ticks)
    }
}
