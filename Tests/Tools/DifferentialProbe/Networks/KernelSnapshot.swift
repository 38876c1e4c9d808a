// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NetlinkRecording

extension NetworkSnapshot {
    /// The number of dumps after which a changing network is an error.
    private static let patience = 400

    /// Dumps the network once it has settled: the kernel updates carriers asynchronously.
    static func settled() throws -> NetworkSnapshot {
        var last = try RecordedRouting.live().routing.snapshot
        var quiet = 0
        for _ in 0..<patience {
            // Leaves the processor to the kernel's own work for a moment.
            poll(nil, 0, 3)
            let next = try RecordedRouting.live().routing.snapshot
            quiet = next.isEqual(to: last) ? quiet + 1 : 0
            if quiet == 2 { return next }
            last = next
        }
        throw NetworkFailure("the network does not settle")
    }

    /// Whether nothing that can decide a query has changed.
    func isEqual(to other: NetworkSnapshot) -> Bool {
        links == other.links && addresses == other.addresses && nexthopObjects == other.nexthopObjects
            && neighbours == other.neighbours && settings == other.settings && rules == other.rules
            && routes == other.routes
    }
}
