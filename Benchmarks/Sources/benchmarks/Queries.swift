// SPDX-License-Identifier: Apache-2.0

import CBaseline
import NetlinkReachability
import RoutingModel

/// What a query to the live kernel costs above the same round trip in C.
struct Queries {
    /// Addresses of each kind in the benchmarks' network namespace.
    private static let places: [(name: String, address: UInt32)] = [
        ("own address", 0x7f00_0001), ("address on a link", 0xc000_0209),
        ("address behind a gateway", Host.behind),
    ]

    private let host: Host

    init(_ host: Host) {
        self.host = host
    }

    func run() throws {
        for (name, address) in Self.places {
            try flags(name, address)
            try together("many, \(name)", address)
            try report(name, address)
        }
        try order()
    }

    /// `flags()` alone, as a place on an axis of growth.
    func grow() throws {
        try flags("one query", Host.behind)
    }

    /// A number of addresses in one call, as a place on an axis of growth.
    func grow(together count: Int) throws {
        try together("queries together, each", Host.behind, count: count)
    }

    /// Our side of one query.
    static func flags(_ address: UInt32) throws -> Side {
        let reachability = NetworkReachability(address: IPAddress(v4: address))
        return Side("flags()") { count in
            for _ in 0..<count { keep(try reachability.blockingFlags()) }
        }
    }

    private func flags(_ name: String, _ address: UInt32) throws {
        let theirs = Side("C, 2 RTM_GETROUTE in a send") { [host] count in
            try checked("RTM_GETROUTE", baseline_packets(host.socket, address, 0, 1, Int32(count)))
        }
        try Duel(name: name, ours: try Self.flags(address), theirs: theirs, goal: .flags).run()
    }

    private func together(_ name: String, _ address: UInt32, count: Int = 100) throws {
        let source = NetworkSource.kernel
        let ours = Side("values(of: flags)") { count in
            // With the queries, which each take an allocation.
            let queries = (0..<count).map { _ in NetworkQuery.flags(of: .address(IPAddress(v4: address))) }
            keep(source.blockingValues(of: queries))
        }
        let theirs = Side("C, 2 RTM_GETROUTE each, 64 a send") { [host] count in
            try checked("RTM_GETROUTE", baseline_packets(host.socket, address, 0, 32, Int32(count)))
        }
        try Duel(
            name: name, ours: ours, theirs: theirs, goal: .manyFlags, batch: count,
            rounds: max(12, 4_000 * 100 / max(count, 100))
        ).run()
    }

    /// A set of addresses is their entries and source addresses, and once the addresses of this host.
    private func order() throws {
        let (source, count) = (NetworkSource.kernel, 64)
        let addresses = (0..<UInt32(count)).map { IPAddress(v4: Host.behind + $0) }
        let ours = Side("order(of:), 64 addresses") { _ in
            keep(try source.blockingValue(of: .order(of: addresses)))
        }
        let theirs = Side("C, 2 RTM_GETROUTE each, 64 a send") { [host] count in
            try checked("RTM_GETROUTE", baseline_packets(host.socket, Host.behind, 1, 32, Int32(count)))
        }
        try Duel(
            name: "which address first", ours: ours, theirs: theirs, goal: .ordered, batch: count
        ).run()
    }

    /// A full report is the entry, the source address, and the interface.
    private func report(_ name: String, _ address: UInt32) throws {
        let reachability = NetworkReachability(address: IPAddress(v4: address))
        let ours = Side("report()") { count in
            for _ in 0..<count { keep(try reachability.blockingReport()) }
        }
        let interface = try checked("RTM_GETROUTE", baseline_route(host.socket, address, true))
        let theirs = Side("C, 2 RTM_GETROUTE, 1 GETLINK") { [host] count in
            try checked("RTM_GETROUTE", baseline_routes(host.socket, address, true, Int32(count)))
            try checked("RTM_GETROUTE", baseline_routes(host.socket, address, false, Int32(count)))
            try checked("RTM_GETLINK", baseline_links(host.socket, interface, Int32(count)))
        }
        try Duel(name: name, ours: ours, theirs: theirs, goal: .report).run()
    }
}
