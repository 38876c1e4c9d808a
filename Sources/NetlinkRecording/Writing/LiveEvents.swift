// SPDX-License-Identifier: Apache-2.0

package import NetlinkReachability
package import RoutingModel
internal import SystemSupport

/// The events of the calling thread's network namespace as they arrive, with the requester of each, and which of them
/// changed the answers to queries.
///
/// They are the same as the events of a recording that is replayed while it is made: the recorder's notifications and
/// its statements about ports, starting from a dump. The dump provides the names of interfaces and the lifetimes of
/// routes. The memory is that of a recorded network.
package struct LiveEvents: ~Copyable {
    /// The kernel's answer to a query.
    package typealias Answer = Result<ReachabilityReport, ReachabilityError>

    /// The shortest time between two dumps: during continuous changes, each dump would cause the next overrun.
    private static let pause = Duration.seconds(1)
    /// Events before a pause of this length were evaluated before the events after it.
    ///
    /// Pauses within a burst are shorter.
    private static let burstPause = Duration.milliseconds(400)
    /// Events before a pause of this length are forgotten, even if the kernel never gave their answer.
    private static let memory = Duration.seconds(2)

    /// The descriptor of the notification socket, which is readable when there are events.
    package let descriptor: Int32
    private var recorder: Recorder
    private var replay = RecordingReplay()
    /// When the tables can be dumped again after notifications were lost; `nil` if none were lost.
    private var dumpDue: ContinuousClock.Instant?
    private var lastDump = ContinuousClock.now

    private var trace = AnswerTrace<ReachabilityReport>()
    private var search = CauseSearch(keepsTouches: true)
    /// The kernel's last answer to each query.
    private var delivered: [Int: Answer] = [:]
    /// The time of the last event.
    private var lastEvent: Recording.Time?

    /// Opens the sockets, and dumps all tables.
    ///
    /// - Throws: An error if the kernel or a sandbox refuses notifications or dumps.
    package init() throws(ReachabilityError) {
        var recorder = try Recorder(neighbours: false)
        if let error = recorder.watchError { throw error }
        replay.apply(try recorder.takeSnapshot())
        descriptor = recorder.events?.descriptor ?? -1
        self.recorder = recorder
    }

    // MARK: Events

    /// Reads the available events.
    ///
    /// Events between a loss of notifications and the next dump are dropped.
    package mutating func read() throws(ReachabilityError) {
        _ = recorder.clock.follow()
        if try recorder.readEvents() == .overrun { dumpDue = dumpDue ?? max(.now, lastDump + Self.pause) }
        if let due = dumpDue {
            recorder.dropPending()
            guard due <= .now else { return }
            dumpDue = nil
            replay.apply(try recorder.takeSnapshot())
            lastDump = .now
            settle()
            evaluate(trace.evaluated)
        }
        let bytes = recorder.drainPending()
        guard !bytes.isEmpty else { return }
        var stream = RecordingStream(bytes: bytes)
        while stream.next({ read($0) }) != nil {}
    }

    private mutating func read(_ entry: RecordingEntry) {
        if replay.notification(entry) != nil, case .message(let message) = entry.content,
            let time = entry.time, let change = message.change
        {
            if let pause = lastEvent?.duration(to: time), pause > Self.burstPause { settle(after: pause) }
            lastEvent = time
            let queries = search.touched(by: change, &trace, in: replay.snapshot)
            if !queries.isEmpty || CauseSearch.isRoot(change), let event = replay.event(message, at: time) {
                search.record(event, touching: queries)
            }
        }
        replay.apply(entry)
        guard search.isPending else { return }
        // The copy of the network is released before the next entry changes the network.
        let replay = replay
        search.evaluate(&trace, on: RecordedRouting(replay))
    }

    private mutating func evaluate(_ queries: [Int]) {
        let replay = replay
        trace.evaluate(queries, on: RecordedRouting(replay))
    }

    /// Forgets the events before a pause, except those whose answer the kernel has not given yet.
    private mutating func settle(after pause: Duration) {
        for number in trace.evaluated {
            let isGiven = delivered[number].map { trace.isNewest($0, of: number) } ?? true
            guard isGiven || pause > Self.memory else { continue }
            trace.settle(number)
            search.forget(number)
        }
        if trace.isSettled, search.isSettled { search.forget() }
    }

    /// Forgets the events so far, because their effects are settled.
    private mutating func settle() {
        trace.settle()
        search.forget()
    }

    // MARK: Queries

    /// Adds a query, and returns its number.
    package mutating func follow(_ query: NetworkQuery<ReachabilityReport>) -> Int {
        let number = trace.add(query)
        evaluate([number])
        return number
    }

    /// Replaces a query by another one.
    package mutating func follow(_ query: NetworkQuery<ReachabilityReport>, insteadOf number: Int) {
        trace.replace(number, with: query)
        search.forget(number)
        evaluate([number])
    }

    /// Whether the events so far explain an answer of the kernel: after one of them, the recorded network gives it.
    package func explains(_ answer: Answer, to number: Int) -> Bool {
        trace.lastStep(of: number, to: answer).map { search.isWhole($0.event) } ?? false
    }

    /// The event after which a query had an answer of the kernel, or the candidates for it; empty if none is known.
    package mutating func causes(of answer: Answer, to number: Int) -> [Recording.Event] {
        delivered[number] = answer
        return search.causes(of: answer, to: number, &trace)
    }
}

// MARK: - The present network

extension RecordedRouting {
    /// Dumps the calling thread's network namespace, as for a recording.
    ///
    /// - Returns: The network.
    /// - Throws: An error if the kernel does not answer. A table that the kernel does not have is empty.
    package static func live() throws(ReachabilityError) -> RecordedRouting {
        var recorder = try Recorder()
        var replay = RecordingReplay()
        replay.apply(try recorder.takeSnapshot())
        if !UserNamespace.hasMachineRoot { replay.snapshot.inputUser = .max }
        return RecordedRouting(replay)
    }
}

extension RecordingReplay {
    /// Applies a dump of this machine, as for a recording.
    mutating func apply(_ dump: RecordedSnapshot) {
        func add(_ content: RecordingEntry.Content) {
            apply(RecordingEntry(path: "live", offset: 0, time: dump.time, content: content))
        }
        add(.annotation(.currentOrigin))
        add(.annotation(.dumpBegins))
        for table in dump.tables { table.forEachMessage { add(.message($0)) } }
        add(.annotation(.wirelessInterfaces(dump.wirelessInterfaces)))
        add(.annotation(.cellularInterfaces(dump.cellularInterfaces)))
        add(.annotation(.settingsOfAll(dump.settingsOfAll.annotated)))
        add(.annotation(.changingTables(dump.changingTables)))
        add(.annotation(.dumpEnds))
    }
}
