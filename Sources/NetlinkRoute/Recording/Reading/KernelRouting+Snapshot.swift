// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import RoutingModel

extension KernelRouting {
    /// Returns all tables of the namespace.
    package func snapshot() throws(RoutingFault) -> NetworkSnapshot {
        try withSocket { (socket) throws(RoutingFault) in try socket.snapshot() }
    }
}

extension QuerySocket {
    /// Returns all tables of the namespace.
    mutating func snapshot() throws(RoutingFault) -> NetworkSnapshot {
        let tables: [DumpRequest.Table] = [.links, .addresses, .nexthops, .routes, .rules, .neighbours]
        let settings = IPAddress.Family.allCases.map { DumpRequest(.settings, family: $0) }
        var snapshotReader = SnapshotReader()
        for attempt in 1...5 {
            snapshotReader = SnapshotReader()
            // Settings are applied by the rules of the kernel.
            snapshotReader.snapshot.kernel = KernelRelease(RecordingOrigin.current)
            var isInterrupted = false
            for request in tables.map({ DumpRequest($0) }) + settings {
                do throws(RoutingFault) {
                    if try dump(request, { _ = snapshotReader.take($0) }) { isInterrupted = true }
                } catch {
                    // Before Linux 5.3 there are no nexthop objects.
                    guard request.table == .nexthops, error.number == EOPNOTSUPP else { throw error }
                }
            }
            if !isInterrupted || attempt == 5 { break }
        }
        snapshotReader.snapshot.askingUser = getuid()
        snapshotReader.snapshot.dumpEnded(knowsNeighbours: true)
        return snapshotReader.snapshot
    }
}
