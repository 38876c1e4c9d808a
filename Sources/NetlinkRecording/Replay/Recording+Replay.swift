// SPDX-License-Identifier: Apache-2.0

public import NetlinkReachability
internal import SystemSupport

extension Recording {
    /// Queries evaluated over recorded time: what an observation would have received, and why.
    ///
    /// ```swift
    /// var replay = try recording.replay(of: [.report()])
    /// while let step = try replay.next() {
    ///     switch step {
    ///     case .change(let change): print(change.time, change.result, change.cause?.description ?? "")
    ///     case .mark(let mark): print(mark.time, mark)
    ///     case .resumed, .event: break
    ///     }
    /// }
    /// ```
    ///
    /// The monitor's own state machine decides which results are changes, on a clock that follows the recorded times:
    /// those that an observation would have received. A result that did not last until the monitor looked is none of
    /// them. The time of a change is that of the event that made it. After a mark, nothing is evaluated until the next
    /// dump ends.
    public struct Replay<Value: Sendable>: ~Copyable {
        /// One step of a replay.
        public enum Step: Sendable {
            /// A query has another value or another error than before, or was evaluated first.
            case change(Change<Value>)
            /// A statement about the recording itself.
            case mark(Mark)
            /// After a mark, the network is known again since this time: the results from before the mark hold, unless
            /// changes follow.
            case resumed(Time)
            /// A notification of the kernel; only in a replay of events.
            case event(Event)
        }

        private var stream: RecordingStream
        private var monitor: ReplayMonitor<Value>
        private var isOver = false

        init(_ stream: consuming RecordingStream, _ monitor: ReplayMonitor<Value>) {
            self.stream = stream
            self.monitor = monitor
        }

        /// The time of the first evaluation; `nil` before.
        public var start: Time? { monitor.start }
        /// The time of the last entry that was read; `nil` before the first with a time.
        ///
        /// After the last step, this is the end of the recording, or of the span that was asked for. A recording that
        /// is being written ends a second before it was opened: without an entry, nothing has changed up to then.
        public var end: Time? { monitor.end }

        /// The time of the last entry that was read, also where nothing was evaluated since; `nil` if none has one.
        package var lastEntry: Time? { monitor.lastEntry }

        /// Whether a recorder was writing to the recording when it was opened.
        package var isBeingWritten: Bool { stream.isBeingWritten }

        /// The start of the host that the last entry is from; `nil` where it is not known.
        package var boot: Boot? { stream.boot }

        /// Returns the next step; `nil` at the end of the recording.
        ///
        /// - Throws: `ReachabilityError` with the code `ReachabilityError.Code.unreadableRecording` if the
        ///   recording is damaged and has no whole dump before the damage.
        public mutating func next() throws(ReachabilityError) -> Step? {
            do {
                while monitor.steps.isEmpty || monitor.holdsSteps, !isOver {
                    if stream.next({ monitor.take($0) }) == nil || monitor.isOver {
                        isOver = true
                        try monitor.finish(writtenUntil: stream.writtenUntil)
                    }
                }
            } catch {
                monitor.steps = []
                throw ReachabilityError(error)
            }
            return monitor.steps.popFirst()
        }
    }

    /// What a replay found about a query.
    public struct Change<Value: Sendable>: Sendable {
        /// When ``cause`` changed the result; without one, when the monitor would have noticed it.
        public let time: Time
        /// The place of the query among those of the replay.
        public let index: Int
        /// The value, or why the query could not be answered.
        public let result: Result<Value, ReachabilityError>
        /// Whether this is the first result of the query, and not a change; `false` for events.
        public let isFirst: Bool
        /// The event that led to the result; `nil` for a first result, after a mark, and where a lifetime ended.
        ///
        /// Of the events since the monitor evaluated the query before, it is the first after which the query had the
        /// result, counted as a change is. Where the kernel did that by itself as a part of another change, it is the
        /// event of that.
        public let cause: Event?
        /// The result just before the cause; `nil` without one.
        package let before: Result<Value, ReachabilityError>?
    }
}

extension Recording.Replay.Step: Equatable where Value: Equatable {}

extension Recording.Change: Equatable where Value: Equatable {}

extension Recording {
    /// A query over the recorded time, as the sequence that a live network has.
    ///
    /// ```swift
    /// func follow(_ paths: NetworkUpdates<NetworkPath>) async throws {
    ///     for try await path in paths { print(path) }
    /// }
    ///
    /// try await follow(NetworkSource.kernel.updates(of: .path()))     // the kernel
    /// try await follow(recording.updates(of: .path()))                // what it would have seen
    /// ```
    ///
    /// Nothing waits: the values come as fast as the recording is read. A ``Replay`` has the times, the causes and
    /// the gaps of the recording too.
    ///
    /// - Parameter query: The query. About a name, the sequence fails: a recording contains none.
    /// - Returns: The sequence.
    public func updates<Value>(of query: NetworkQuery<Value>) -> NetworkUpdates<Value> {
        updates([query])
    }

    /// Many queries over the recorded time, as one sequence: see ``updates(of:)-(NetworkQuery<Value>)``.
    ///
    /// - Parameter queries: The queries.
    /// - Returns: The sequence.
    public func updates<Value>(
        of queries: [NetworkQuery<Value>]
    ) -> NetworkUpdates<(index: Int, value: Value)> {
        updates(queries.enumerated().map { NetworkQuery($1, index: $0) })
    }

    private func updates<Value>(_ queries: [NetworkQuery<Value>]) -> NetworkUpdates<Value> {
        NetworkUpdates(queries) { () throws(ReachabilityError) in
            let replay = Locked(try replay(of: queries))
            return { () throws(ReachabilityError) in
                try replay.withLock { (replay) throws(ReachabilityError) in
                    while let step = try replay.next() {
                        if case .change(let change) = step { return (change.index, change.result) }
                    }
                    return nil
                }
            }
        }
    }
}
