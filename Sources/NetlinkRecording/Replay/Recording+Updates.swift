// SPDX-License-Identifier: Apache-2.0

public import NetlinkReachability

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
            let box = ReplayBox(try replay(of: queries))
            return { () throws(ReachabilityError) in
                while let step = try box.replay.next() {
                    if case .change(let change) = step { return (change.index, change.result) }
                }
                return nil
            }
        }
    }
}

/// A replay that a closure refers to, because it cannot be copied.
private final class ReplayBox<Value: Sendable> {
    var replay: Recording.Replay<Value>

    init(_ replay: consuming Recording.Replay<Value>) {
        self.replay = replay
    }
}
