// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import RoutingModel

/// The network at the end of a recording, as a source of facts.
///
/// A query that the recording does not decide throws a ``ReachabilityError`` with the code
/// ``ReachabilityError/Code/undecided``. Lifetimes of routes count up to the last time stamp.
///
/// Without annotations, it cannot know which interfaces are Wi-Fi or cellular modems without a link kind, and whether
/// the last dump of an rtmon file was complete.
package struct RecordedRouting: Sendable {
    /// The network, as far as the recording describes it.
    package private(set) var routing: SnapshotRouting
    private let coverage: RecordingCoverage
    /// Why no query can be answered; `nil` if the tables decide.
    private let blocker: String?
    /// The damage: where the recording could not be read.
    package let damage: [Recording.Damage]
    /// The time of the last entry that has one; `nil` if none has.
    package private(set) var time: Recording.Time?
    /// The end of the recording, if the requested instant is later; `nil` otherwise.
    package private(set) var endBeforeInstant: Recording.Time?
    /// The beginning of the recording, if the requested instant is earlier; `nil` otherwise.
    package private(set) var beginAfterInstant: Recording.Time?
    /// Who requested the newest changes; `nil` if that was not requested.
    package private(set) var origins: RecordedOrigins?

    /// Creates a source from a completely known network.
    package init(_ routing: SnapshotRouting) {
        self.init(routing, coverage: .complete, blocker: nil, damage: [])
    }

    /// Creates a source from the network of a recording.
    ///
    /// - Parameters:
    ///   - routing: The network, as far as the recording describes it.
    ///   - coverage: The tables that the recording describes.
    ///   - blocker: Why no query can be answered; `nil` if the tables decide.
    ///   - damage: Where the recording could not be read.
    init(
        _ routing: SnapshotRouting,
        coverage: RecordingCoverage,
        blocker: String?,
        damage: [Recording.Damage]
    ) {
        (self.routing, self.coverage, self.blocker, self.damage) = (routing, coverage, blocker, damage)
    }

    /// A copy with another network, such as the recorded network without a change.
    package func showing(_ routing: SnapshotRouting) -> RecordedRouting {
        var copy = self
        copy.routing = routing
        return copy
    }
}

extension RecordedRouting: RoutingSource {
    package func answer(_ lookups: inout [RouteLookup], from first: Int) -> [InterfaceReading] {
        lookups.answer(from: first) { (query) throws(ReachabilityError) in
            try check(blocker(for: query.destination))
            return try routing.answer(to: query)
        }
        return []
    }

    package func answer<Answer>(_ query: HostQuery<Answer>) throws(ReachabilityError) -> Answer {
        switch query {
        case .sourceAddresses(let query, _): try check(blocker(for: query.packet.destination))
        // No table has it.
        case .askingUser, .multipathHashPolicy: break
        case .answerRecord where blocker == nil && routing.evidence == nil:
            throw ReachabilityError(
                .undecided, operation: "find evidence in the recording",
                message: "the recording has none; netflags record --evidence adds it")
        default: try check(blocker ?? coverage.blockerForInterfaces)
        }
        return try routing.answer(query)
    }

    private func blocker(for destination: IPAddress) -> String? {
        blocker ?? coverage.blocker(for: destination.family)
    }

    private func check(_ blocker: String?) throws(ReachabilityError) {
        guard let blocker else { return }
        throw ReachabilityError(.undecided, operation: "find a route in the recording", message: blocker)
    }
}

// MARK: - Reading

extension RecordedRouting {
    /// Reads a recording up to a time, or up to its end.
    ///
    /// The memory depends on the size of the network, not of the recording. Damage after the first dump is a gap.
    ///
    /// - Parameters:
    ///   - stream: The recording.
    ///   - time: The instant of the network; `nil` for the end of the recording.
    ///   - askingUser: The user of a ``RouteQuery`` that names none. As in the kernel, the default is the real user
    ///     of this process. On the recorded host, that number can belong to another user.
    ///   - notesOrigins: Whether to record who requested the changes.
    /// - Throws: The first damage of a recording without a complete dump.
    package init(
        _ stream: consuming RecordingStream,
        at time: Recording.Time? = nil,
        askingUser: UInt32? = getuid(),
        notingOrigins notesOrigins: Bool = false
    ) throws(RecordingError) {
        var replay = RecordingReplay()
        var origins = notesOrigins ? RecordedOrigins() : nil
        // Whether the time has been reached; `nil` at the end.
        var isReached: Bool? = false
        var begin: Recording.Time?
        while isReached == false {
            isReached = stream.next { entry in
                if let time, let stamp = entry.time, stamp > time {
                    if replay.time == nil { begin = stamp }
                    // The time is within the gap that the entry states.
                    if let (gap, start) = replay.gap(before: entry), start.map({ $0 < time }) ?? true {
                        replay.begin(gap)
                        origins?.forget()
                    }
                    return true
                }
                origins?.record(entry, before: &replay)
                if case .gap = replay.apply(entry) { origins?.forget() }
                return false
            }
        }
        if isReached == nil {
            try replay.checkBegin()
            // After the announcement of a dump that is missing, the previous network is no longer known.
            replay.beginDump()
        }
        let end = isReached == nil ? [replay.time, stream.writtenUntil].compactMap(\.self).max() : nil
        if let time { replay.moveClock(to: time) }
        self.init(replay, isAtEnd: isReached == nil, askingUser: askingUser)
        if let time, let end, end < time { endBeforeInstant = end }
        beginAfterInstant = begin
        self.origins = origins
    }

    /// Creates a source from the network after the entries so far.
    ///
    /// - Parameters:
    ///   - replay: The entries so far.
    ///   - isAtEnd: Whether the recording ends here, so that the network before the last gap is its final state.
    ///   - askingUser: The user of a ``RouteQuery`` that names none.
    package init(_ replay: consuming RecordingReplay, isAtEnd: Bool = true, askingUser: UInt32? = getuid()) {
        replay.finish()
        replay.snapshot.askingUser = askingUser
        self.init(
            replay.state.routing,
            coverage: replay.state.coverage,
            blocker: replay.blocker(isAtEnd: isAtEnd),
            damage: replay.damage
        )
        time = replay.time
    }
}
