// SPDX-License-Identifier: Apache-2.0

public import NetlinkReachability

/// What a client with one long connection does, as an MQTT client: connect, and connect again when it has to.
///
/// Without the status of its connection such a client notices a dead one when a keep-alive is not answered, after one
/// and a half intervals: 90 s with MQTT's usual minute.
public struct KeepAliveClient<Connection: Sendable>: Sendable {
    /// The network that answers.
    public let source: NetworkSource
    /// How long a connection whose packets do not leave may wait for the network.
    public var patience = Duration.seconds(20)
    /// Measures ``patience``.
    public var clock: any Clock<Duration> = ContinuousClock()
    /// Connects, once the server is reachable.
    public let connect: @Sendable () async throws -> (connection: Connection, ends: NetworkConnection)
    /// Closes a connection.
    public let close: @Sendable (Connection) -> Void

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - source: The network that answers.
    ///   - connect: Connects, once the server is reachable.
    ///   - close: Closes a connection.
    public init(
        source: NetworkSource,
        connect: @escaping @Sendable () async throws -> (connection: Connection, ends: NetworkConnection),
        close: @escaping @Sendable (Connection) -> Void
    ) {
        (self.source, self.connect, self.close) = (source, connect, close)
    }

    /// Connects again and again; runs until its task is cancelled, or a connection cannot be made.
    ///
    /// - Throws: The error of the attempt to connect.
    public func run() async throws {
        while !Task.isCancelled {
            let (connection, ends) = try await connect()
            defer { close(connection) }
            try await waitUntilUseless(ends)
        }
    }

    /// Returns when the connection is lost, or has waited for too long.
    private func waitUntilUseless(_ ends: NetworkConnection) async throws {
        let (useless, continuation) = AsyncStream.makeStream(of: Void.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                var timer: Task<Void, Never>?
                defer { timer?.cancel() }
                for try await status in source.updates(of: .status(of: ends)) {
                    if status.state == .lost { return }
                    // Answers that may not arrive are no better than packets that do not leave.
                    if status.isViable, status.reason.code != .unknownReturnPath {
                        timer?.cancel()
                        timer = nil
                    } else if timer == nil {
                        timer = Task {
                            if await (try? clock.sleep(for: patience)) != nil { continuation.finish() }
                        }
                    }
                }
            }
            group.addTask {
                for await _ in useless {}
            }
            try await group.next()
            group.cancelAll()
        }
    }
}
