// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import RoutingModel
internal import SystemSupport

/// Observed addresses, paths and connections, which count what is delivered to them.
final class Bystanders: Sendable {
    private static let handleCount = 100
    private static let pathCount = 10
    private static let connectionCount = 100

    private let flags: NetworkObservation<ReachabilityFlags>
    private let paths: NetworkObservation<NetworkPath>
    private let connections: [Task<Void, Never>]
    private let deliveries = Deliveries()

    /// How often something was delivered to each kind.
    private final class Deliveries: Sendable {
        let counts = Locked([0, 0, 0])

        func add(_ kind: Int) {
            counts.withLock { $0[kind] += 1 }
        }
    }

    /// How many there are of each kind: addresses, paths, connections.
    static var counts: [Int] { [handleCount, pathCount, connectionCount] }

    /// Begins with addresses, and with connections from a local address to the same addresses.
    init(from local: IPAddress) throws {
        let source = NetworkSource.kernel
        let remotes = (0..<UInt32(Self.handleCount)).map { IPAddress(v4: 0xC633_6400 + $0) }
        connections = try remotes.prefix(Self.connectionCount).map { [deliveries] remote in
            let connection = try NetworkConnection(
                transport: .tcp, local: local, localPort: 40_000, remote: remote, remotePort: 443)
            return Task {
                do {
                    for try await _ in source.updates(of: .status(of: connection)) { deliveries.add(2) }
                } catch {
                    deliveries.add(2)
                }
            }
        }
        flags = try source.observe(remotes.map { .flags(of: .address($0)) }) { [deliveries] _, _ in
            deliveries.add(0)
        }
        paths = try source.observe(Array(repeating: .path(), count: Self.pathCount)) { [deliveries] _, _ in
            deliveries.add(1)
        }
    }

    deinit {
        for connection in connections { connection.cancel() }
        flags.cancel()
        paths.cancel()
    }

    /// How often something was delivered to each kind so far.
    var deliveryCounts: [Int] {
        deliveries.counts.withLock { $0 }
    }
}
