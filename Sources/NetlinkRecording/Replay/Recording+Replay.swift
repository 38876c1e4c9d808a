// SPDX-License-Identifier: Apache-2.0

public import NetlinkReachability
internal import SystemSupport

extension Recording {
    /// Queries evaluated over recorded time: the results that an observation would have received, and their causes.
    ///
    /// ```swift
    /// var replay = try recording.replay(of: [.report()])
    /// while let step = try replay.next() {
    ///     switch step {
    ///     case .change(let change): print(change.time, change.result, change.cause?.description ?? "")
    ///     case .mark(let mark): print(mark.time, mark)
    ///     case .resumed, .evidence, .event: break
    ///     }
    /// }
    /// ```
    ///
    /// The monitor's own state machine decides which results are changes, on a clock that follows the recorded times.
    /// The changes are therefore those that an observation would have received: a result that did not last until the
    /// monitor's evaluation is not included. The time of a change is that of the event that caused it. After a mark,
    /// nothing is evaluated until the next dump ends.
    public struct Replay<Value: Sendable>: ~Copyable {
        /// One step of a replay.
        public enum Step: Sendable {
            /// A query has another value or another error than before, or its first result.
            case change(Change<Value>)
            /// A statement about the recording itself.
            case mark(Mark)
            /// After a mark, the network is known again from this time on: the results from before the mark are
            /// valid, unless changes follow.
            case resumed(Time)
            /// The recorder states whether anything answers on the default path; `nil` if that is left out from this
            /// time on.
            ///
            /// Each dump states it again. A mark of a gap ends it.
            case evidence(NetworkEvidence?, Time)
            /// A kernel notification; only in a replay of events.
            case event(Event)
        }

        private var stream: RecordingStream
        private var monitor: ReplayMonitor<Value>
        private var isOver = false

        init(_ stream: consuming RecordingStream, _ monitor: ReplayMonitor<Value>) {
            self.stream = stream
            self.monitor = monitor
        }

        /// The time of the first evaluation; `nil` before it.
        public var start: Time? { monitor.start }
        /// The time of the last entry that was read; `nil` before the first entry with a time.
        ///
        /// After the last step, this is the end of the recording, or of the requested span. A recording that is being
        /// written ends one second before it was opened: without an entry, nothing has changed up to then.
        public var end: Time? { monitor.end }

        /// The time of the last entry that was read, even if nothing was evaluated since; `nil` if no entry has a
        /// time.
        package var lastEntry: Time? { monitor.lastEntry }

        /// Whether a recorder was writing to the recording when it was opened.
        package var isBeingWritten: Bool { stream.isBeingWritten }

        /// The boot of the last entry; `nil` if it is not known.
        package var boot: Boot? { stream.boot }

        /// Returns the next step; `nil` at the end of the recording.
        ///
        /// - Throws: `ReachabilityError` with the code `ReachabilityError.Code.unreadableRecording` if the
        ///   recording is damaged and has no whole dump before the damage.
        public mutating func next() throws(ReachabilityError) -> Step? {
            do {
                while monitor.steps.isEmpty || monitor.holdsSteps, !isOver {
                    if stream.next({ monitor.read($0) }) == nil || monitor.isOver {
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

    /// The change of a query's result in a replay.
    public struct Change<Value: Sendable>: Sendable {
        /// When ``cause`` changed the result; without a cause, when the monitor would have noticed the change.
        public let time: Time
        /// The index of the query in the replay.
        public let index: Int
        /// The value, or why the query could not be answered.
        public let result: Result<Value, ReachabilityError>
        /// Whether this is the first result of the query, and not a change; `false` for events.
        public let isFirst: Bool
        /// The event that caused the result; `nil` for a first result, after a mark, and when a lifetime ended.
        ///
        /// Of the events of a burst, it is the one after which the query keeps this result: not one that another event
        /// of the burst repaired. If the kernel made that change as a part of another change, it is the event of the
        /// other change.
        public internal(set) var cause: Event?
        /// The result just before the cause; `nil` without a cause.
        package let before: Result<Value, ReachabilityError>?
    }
}

extension Recording.Replay.Step: Equatable where Value: Equatable {}

extension Recording.Change: Equatable where Value: Equatable {}

extension Recording {
    /// A query over the recorded time, as the same kind of sequence that a live network has.
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
    /// There are no pauses: the values come as fast as the recording is read. A ``Replay`` also has the times, the
    /// causes and the gaps of the recording.
    ///
    /// - Parameter query: The query. For a query about a name, the sequence fails, because a recording contains no
    ///   names.
    /// - Returns: The sequence.
    public func updates<Value>(of query: NetworkQuery<Value>) -> NetworkUpdates<Value> {
        updates([query]) { $1 }
    }

    /// Many queries over the recorded time, as one sequence: see ``updates(of:)-(NetworkQuery<Value>)``.
    ///
    /// - Parameter queries: The queries.
    /// - Returns: The sequence.
    public func updates<Value>(
        of queries: [NetworkQuery<Value>]
    ) -> NetworkUpdates<(index: Int, value: Value)> {
        updates(queries) { ($0, $1) }
    }

    private func updates<Element, Value>(
        _ queries: [NetworkQuery<Element>],
        _ value: @escaping @Sendable (Int, Element) -> Value
    ) -> NetworkUpdates<Value> {
        let read = { @Sendable () throws(ReachabilityError) -> NetworkUpdates<Value>.Reading<Element> in
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
        return NetworkUpdates(queries, reading: read, value)
    }
}
