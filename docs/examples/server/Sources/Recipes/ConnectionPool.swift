// SPDX-License-Identifier: Apache-2.0

public import NetlinkReachability

/// Idle connections, without those that the network has cut off.
///
/// A lost connection is closed at once, and one that waits is not lent until it is viable again. After a sleep of the
/// machine, or a change of the resolver's configuration, all idle connections are closed: the servers may have given
/// them up, or have other addresses.
public actor ConnectionPool<Connection: Sendable> {
    private struct Entry {
        let connection: Connection
        let observation: NetworkObservation<ConnectionStatus>
        var isLent: Bool
    }

    private let source: NetworkSource
    private let close: @Sendable (Connection) -> Void
    private var entries: [Int: Entry] = [:]
    private var lastNumber = 0

    /// Creates a pool without connections.
    ///
    /// - Parameters:
    ///   - source: The network that answers.
    ///   - close: Closes a connection.
    public init(source: NetworkSource, close: @escaping @Sendable (Connection) -> Void) {
        self.source = source
        self.close = close
    }

    /// The number of connections.
    public var count: Int { entries.count }

    /// Adds a connection that is in use.
    ///
    /// - Parameters:
    ///   - connection: The connection.
    ///   - ends: Its ends.
    /// - Returns: Its number.
    /// - Throws: `ReachabilityError` if it cannot be monitored.
    public func add(_ connection: Connection, _ ends: NetworkConnection) throws -> Int {
        lastNumber += 1
        let number = lastNumber
        let observation = try source.observe(.status(of: ends)) { [weak self] result in
            guard case .success(let status) = result, status.state == .lost else { return }
            Task { [weak self] in await self?.remove(number) }
        }
        entries[number] = Entry(connection: connection, observation: observation, isLent: true)
        return number
    }

    /// Lends an idle connection whose packets leave; `nil` if there is none: connect then.
    public func lend() -> (number: Int, connection: Connection)? {
        let found = entries.first {
            $0.value.isLent == false && $0.value.observation.current?.isViable ?? true
        }
        guard let (number, entry) = found else { return nil }
        entries[number]?.isLent = true
        return (number, entry.connection)
    }

    /// Takes a connection back.
    public func takeBack(_ number: Int) {
        entries[number]?.isLent = false
    }

    /// Closes idle connections after the machine's events; runs until its task is cancelled.
    ///
    /// - Throws: `ReachabilityError` if the monitor cannot run.
    public func run() async throws {
        for try await event in source.updates(of: .events) {
            switch event {
            case .slept(let duration) where duration < .seconds(60): break
            case .slept, .resolverConfigurationChanged:
                for (number, entry) in entries where !entry.isLent { remove(number) }
            case .notificationsLost: break
            }
        }
    }

    private func remove(_ number: Int) {
        guard let entry = entries.removeValue(forKey: number) else { return }
        close(entry.connection)
    }
}
