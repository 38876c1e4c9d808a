// SPDX-License-Identifier: Apache-2.0

public import NetlinkReachability

extension Recording {
    /// The reports of a target over the recorded time, as the sequence that a live handle has.
    ///
    /// ```swift
    /// func follow(_ reports: some AsyncSequence<ReachabilityReport, ReachabilityError>) async throws {
    ///     for try await report in reports { print(report.flags.letters, report.reason) }
    /// }
    ///
    /// try await follow(reachability.updates(of: .reports()))          // the kernel
    /// try await follow(recording.updates(of: .defaultPath))           // what it would have seen
    /// ```
    ///
    /// Nothing waits: the elements come as fast as the recording is read. A ``Replay`` has the times, the causes and
    /// the gaps of the recording too.
    ///
    /// - Parameters:
    ///   - target: An address or the default path. A recording contains no names.
    ///   - options: The socket that the query is about.
    ///   - detail: How much a report contains.
    ///   - change: What counts as a change of a report.
    /// - Returns: The sequence.
    public func updates(
        of target: ReachabilityTarget,
        options: ReachabilityOptions = ReachabilityOptions(),
        detail: ReachabilityReport.Detail = .brief,
        onChangeOf change: ReachabilityReport.Change = .flags
    ) -> Updates {
        Updates { () throws(ReachabilityError) in
            ReplayBox(try replay(targets: [target], options: options, detail: detail, onChangeOf: change))
        }
    }

    /// The reports of a target over recorded time: see ``updates(of:options:detail:onChangeOf:)``.
    ///
    /// Each iteration reads the recording anew. It ends with the recording, and fails if the recording cannot be read
    /// or an evaluation fails, as the live sequence does.
    public struct Updates: AsyncSequence, Sendable {
        /// A report that differs from the one before.
        public typealias Element = ReachabilityReport
        /// Why the recording cannot be read, or the target could not be evaluated.
        public typealias Failure = ReachabilityError

        fileprivate let begin: @Sendable () throws(ReachabilityError) -> ReplayBox

        /// Begins at the first dump.
        public func makeAsyncIterator() -> Iterator {
            Iterator(replay: Result { () throws(ReachabilityError) in try begin() })
        }

        /// One reading of the recording.
        public struct Iterator: AsyncIteratorProtocol {
            /// A failure is that of opening the recording; `nil` after a failure and at the end.
            fileprivate var replay: Result<ReplayBox, ReachabilityError>?

            /// Reads up to the next change.
            ///
            /// - Returns: The report; `nil` at the end of the recording.
            /// - Throws: `ReachabilityError` if the recording cannot be read, or the target not be evaluated.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(ReachabilityError) -> ReachabilityReport? {
                guard let box = try replay.take()?.get() else { return nil }
                while let step = try box.replay.next() {
                    guard case .change(let change) = step else { continue }
                    let report = try change.result.get()
                    replay = .success(box)
                    return report
                }
                return nil
            }
        }
    }
}

/// A replay that an iterator refers to, because it cannot be copied.
private final class ReplayBox {
    var replay: Recording.Replay

    init(_ replay: consuming Recording.Replay) {
        self.replay = replay
    }
}
