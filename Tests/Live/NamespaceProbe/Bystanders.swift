// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import RoutingModel
internal import Synchronization

/// Observed addresses, paths and connections, which count what is delivered to them.
final class Bystanders: Sendable {
    private static let handleCount = 100
    private static let pathCount = 10
    private static let connectionCount = 100

    private let flags: NetworkObservation<ReachabilityFlags>
    private let paths: NetworkObservation<NetworkPath>
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

    /// Begins with addresses, and with connections from a local address to the same addresses.
    init(from local: IPAddress) throws {
        let source = NetworkSource.kernel
        let remotes = (0..<UInt32(Self.handleCount)).map { IPAddress(v4: 0xC633_6400 + $0) }
        connections = try remotes.prefix(Self.connectionCount).map { [deliveries] remote in
            let connection = try NetworkConnection(
                transport: .tcp, local: local, localPort: 40_000, remote: remote, remotePort: 443)
            return Task {
                do {
                    for try await _ in source.updates(of: .status(of: connection)) { deliveries.add() }
                } catch {
                    deliveries.add()
                }
            }
        }
        flags = try source.observe(remotes.map { .flags(of: .address($0)) }) { [deliveries] _, _ in
            deliveries.add()
        }
        paths = try source.observe(Array(repeating: .path(), count: Self.pathCount)) { [deliveries] _, _ in
            deliveries.add()
        }
    }

    deinit {
        for connection in connections { connection.cancel() }
        flags.cancel()
        paths.cancel()
    }

    /// How often something was delivered so far.
    var deliveryCount: Int {
        deliveries.count.load(ordering: .relaxed)
    }
}
