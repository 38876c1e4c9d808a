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
        let tables: [DumpRequest.Table] = [.links, .addresses, .nexthops, .routes, .rules, .neighbours]
        let settings = IPAddress.Family.allCases.map { DumpRequest(.settings, family: $0) }
        for request in tables.map({ DumpRequest($0) }) + settings {
            do {
                _ = try socket.dump(request) { message in
                    if let change = message.change { snapshot.apply(change) }
                }
            } catch {
                // Before Linux 5.3 there are no nexthop objects.
                guard request.table == .nexthops, error.number == EOPNOTSUPP else { throw error }
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
            quiet = next.isEqual(to: last) ? quiet + 1 : 0
            if quiet == 2 { return next }
            last = next
        }
        throw NetworkFailure("the network does not settle")
    }

    /// Whether nothing that can decide a question has changed.
    func isEqual(to other: NetworkSnapshot) -> Bool {
        links == other.links && addresses == other.addresses && nexthopObjects == other.nexthopObjects
            && neighbours == other.neighbours && settings == other.settings && rules == other.rules
            && routes == other.routes
    }
}
