// SPDX-License-Identifier: Apache-2.0

import CBaseline
import Duel
import RoutingModel
import RoutingSimulation

/// What lookups in a loaded snapshot cost, against questions to the kernel, and how much memory it takes.
struct SnapshotUse {
    private let snapshot: NetworkSnapshot
    private let socket: Int32
    private let keys: [UInt32]

    init(_ snapshot: NetworkSnapshot) throws {
        self.snapshot = snapshot
        socket = try checked("open a netlink socket", baseline_open())
        var random = Random(seed: 7)
        keys = (0..<20_000).map { _ in random.nextAddress() }
    }

    func duel() -> Duel {
        let ours = Side("snapshot") { count in
            for key in keys.prefix(count) {
                keep(try snapshot.summary(for: RouteQuery(destination: IPAddress(v4: key))))
            }
        }
        let kernel = Side("C RTM_GETROUTE, FIB_MATCH") { count in
            for key in keys.prefix(count) {
                // An address without a route is an answer too.
                keep(baseline_route(socket, key, true))
            }
        }
        return Duel(
            "random addresses", ours: ours, theirs: kernel, goal: .lookup, batch: keys.count, rounds: 8)
    }

    /// The bytes that the snapshot keeps for a route.
    var bytesPerRoute: Double {
        Double(snapshot.routeMemoryFootprint) / Double(snapshot.routeCount)
    }
}

/// Takes a value where the optimizer cannot see it, so that it has to be made.
@inline(never)
func keep<Value>(_ value: Value) {}
