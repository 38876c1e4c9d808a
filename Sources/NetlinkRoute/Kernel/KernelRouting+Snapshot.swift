// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import RoutingModel

extension KernelRouting {
    /// The network of now, from one dump of each table.
    ///
    /// A table that changed while it was dumped makes all begin anew, at most five times; then what came is
    /// taken: under endless change no dump is ever quiet. What changes between two dumps, or in a dump that
    /// does not say so, can be missing or doubled.
    ///
    /// - Parameter family: The family whose routes are wanted; `nil` for both.
    /// - Returns: The snapshot, with the neighbours.
    /// - Throws: A fault when the kernel could not be asked.
    package func snapshot(family: IPAddress.Family? = nil) throws(RoutingFault) -> NetworkSnapshot {
        try withSocket { (socket) throws(RoutingFault) in
            var intake = try SnapshotIntake.settled { (intake) throws(RoutingFault) in
                try socket.dump(into: &intake, family: family)
            }
            intake.dumpEnded(knowsNeighbours: true)
            return intake.snapshot
        }
    }
}

extension QuerySocket {
    /// Dumps all tables and tells whether none of them changed meanwhile.
    fileprivate mutating func dump(
        into intake: inout SnapshotIntake,
        family: IPAddress.Family?
    ) throws(RoutingFault) -> Bool {
        // Nexthop objects and interfaces come before the routes through them.
        let tables: [DumpRequest.Table] = [.links, .addresses, .rules, .nexthops, .neighbours]
        var isQuiet = true
        for table in tables where try dump(DumpRequest(table), into: &intake) { isQuiet = false }
        for family in IPAddress.Family.allCases {
            if try dump(DumpRequest(.settings, family: family), into: &intake) { isQuiet = false }
        }
        if try dump(DumpRequest(.routes, family: family), into: &intake) { isQuiet = false }
        return isQuiet
    }

    /// Dumps one table and tells whether it changed meanwhile.
    ///
    /// Nexthop objects are newer than Linux 5.3: an older kernel has none. One that does not tell settings, or
    /// has no IPv6, may refuse to dump those.
    private mutating func dump(
        _ request: DumpRequest,
        into intake: inout SnapshotIntake
    ) throws(RoutingFault) -> Bool {
        do {
            return try dump(request) { intake.take($0) }
        } catch {
            let mayBeMissing = request.table == .nexthops || request.table == .settings
            guard mayBeMissing, error.number == EOPNOTSUPP || error.number == EAFNOSUPPORT else {
                throw error
            }
            return false
        }
    }
}
