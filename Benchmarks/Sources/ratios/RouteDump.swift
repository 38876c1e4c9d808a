// SPDX-License-Identifier: Apache-2.0

import CBaseline
import Duel

/// What libnl's own route cache costs above reading the kernel's table.
struct RouteDump {
    private let socket: Int32

    init() throws {
        socket = try checked("open a netlink socket", baseline_open())
    }

    func duels() throws -> [Duel] {
        let routes = try dump()
        let cache = Side("rtnl_route_alloc_cache") { count in
            for _ in 0..<count { try checked("load libnl's cache", baseline_libnl_cache()) }
        }
        let bare = Side("C RTM_GETROUTE dump") { count in
            for _ in 0..<count { try dump() }
        }
        return [Duel("all \(routes) IPv4 routes", ours: cache, theirs: bare, batch: 1, rounds: 30)]
    }

    /// Dumps the kernel's IPv4 routes and returns their number.
    @discardableResult
    private func dump() throws -> Int64 {
        var checksum: UInt64 = 0
        return try checked("dump routes", baseline_dump(socket, &checksum))
    }
}
