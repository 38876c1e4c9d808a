// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NetlinkRoute
internal import RoutingModel

extension NetworkSnapshot {
    /// The number of dumps after which a changing network is an error.
    private static let patience = 400

    /// Dumps the network of this process.
    private static func dumped() throws(RoutingFault) -> NetworkSnapshot {
        var socket = try QuerySocket()
        var snapshot = NetworkSnapshot()
        snapshot.askingUser = getuid()
        for table in [DumpRequest.Table.links, .addresses, .nexthops, .routes, .rules, .neighbours] {
            _ = try socket.dump(DumpRequest(table)) { message in
                if let change = NetworkChange(message) { snapshot.apply(change) }
            }
        }
        for family in IPAddress.Family.allCases {
            _ = try socket.dump(DumpRequest(.settings, family: family)) { message in
                if let change = NetworkChange(message) { snapshot.apply(change) }
            }
        }
        snapshot.dumpEnded(knowsNeighbours: true)
        return snapshot
    }

    /// Dumps the network once it has settled: the kernel updates carriers asynchronously.
    static func settled() throws -> NetworkSnapshot {
        var last = try dumped()
        var quiet = 0
        for _ in 0..<patience {
            // Leaves the processor to the kernel's own work for a moment.
            poll(nil, 0, 3)
            let next = try dumped()
            quiet = next.tells(theSameAs: last) ? quiet + 1 : 0
            if quiet == 2 { return next }
            last = next
        }
        throw NetworkFailure("the network does not settle")
    }

    /// Whether nothing that can decide a question has changed.
    func tells(theSameAs other: NetworkSnapshot) -> Bool {
        links == other.links && addresses == other.addresses && nexthopObjects == other.nexthopObjects
            && neighbours == other.neighbours && settings == other.settings && rules == other.rules
            && routes == other.routes
    }
}
