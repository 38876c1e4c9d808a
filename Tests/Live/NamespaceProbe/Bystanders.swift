// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import NetlinkReachability
internal import RoutingModel
internal import Synchronization

/// Started handles, path monitors and followed connections, which count what is delivered to them.
final class Bystanders: Sendable {
    private static let handleCount = 100
    private static let pathCount = 10
    private static let connectionCount = 100

    private let handles: [NetworkReachability]
    private let paths: [NetworkPathMonitor]
    private let connections: [Task<Void, Never>]
    private let deliveries = Deliveries()

    private final class Deliveries: Sendable {
        let count = Atomic(0)

        func add() {
            count.add(1, ordering: .relaxed)
        }
    }

    /// How many there are.
    static var count: Int { handleCount + pathCount + connectionCount }

    /// Starts them: handles of addresses, and connections from a local address to the same addresses.
    init(from local: IPAddress) throws {
        let source = try NetworkSource.kernel()
        let remotes = (0..<UInt32(Self.handleCount)).map { IPAddress(v4: 0xC633_6400 + $0) }
        handles = try remotes.map { try NetworkReachability(address: $0, source: source) }
        paths = (0..<Self.pathCount).map { _ in NetworkPathMonitor(source: source) }
        connections = try remotes.prefix(Self.connectionCount).map { [deliveries] remote in
            let connection = try NetworkConnection(
                transport: .tcp, local: local, localPort: 40_000, remote: remote, remotePort: 443)
            return Task {
                do {
                    for try await _ in source.updates(of: connection) { deliveries.add() }
                } catch {
                    deliveries.add()
                }
            }
        }
        for handle in handles { try handle.start(.flags) { [deliveries] _ in deliveries.add() } }
        for path in paths {
            path.pathUpdateHandler = { [deliveries] _ in deliveries.add() }
            path.start(queue: DispatchQueue(label: "paths"))
        }
    }

    deinit {
        for connection in connections { connection.cancel() }
        for path in paths { path.cancel() }
    }

    /// How often something was delivered so far.
    var deliveryCount: Int {
        deliveries.count.load(ordering: .relaxed)
    }
}
