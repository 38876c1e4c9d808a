// SPDX-License-Identifier: Apache-2.0

// The functions that docs/ordering.md and docs/connections.md show.

import Glibc
import NetlinkReachability

let source = NetworkSource.kernel

func connectSocket(host: String, port: UInt16) async throws -> Int32? {
    for entry in try await source.value(of: .order(of: .host(host))) where entry.isReachable {
        let descriptor = socket(Int32(entry.address.family.rawValue), Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor != -1 else { continue }
        // It throws where the interface of a link-local address is gone: the next address can be connected.
        if (try? entry.address.withSockaddr(port: port, { connect(descriptor, $0, $1) })) == 0 {
            return descriptor
        }
        close(descriptor)
    }
    return nil
}

/// Waits until a connection is lost, or has waited for as long as the program can.
func end(of connection: NetworkConnection, patience: Duration) async throws -> ConnectionStatus {
    let query = NetworkQuery.status(of: connection)
    while true {
        let status = try await source.wait(for: query) { !$0.isViable }
        do {
            let next = try await source.wait(for: query, timeout: patience) { $0.state != .waiting }
            if !next.isViable { return next }
        } catch let error as ReachabilityError where error.code == .timedOut {
            return status
        }
    }
}

/// Connects again whenever a connection ends, until the task is cancelled.
func stayConnected(
    to host: String, port: UInt16, patience: Duration, log: @escaping @Sendable (String) -> Void,
    talk: @escaping @Sendable (Int32) async -> Void
) async throws {
    let target = try NetworkReachability(host: host)
    while true {
        do {
            try await target.waitUntilReachable()
            if let descriptor = try await connectSocket(host: host, port: port) {
                defer { close(descriptor) }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    defer { shutdown(descriptor, Int32(SHUT_RDWR)) }  // a read that blocks returns
                    let connection = try NetworkConnection(fileDescriptor: descriptor)
                    group.addTask { await talk(descriptor) }
                    group.addTask { log("\(try await end(of: connection, patience: patience))") }
                    try await group.next()
                    group.cancelAll()
                }
            }
        } catch let error as ReachabilityError {
            log("\(error)")
        }
        try await Task.sleep(for: .seconds(1))
    }
}
