// SPDX-License-Identifier: Apache-2.0

import CBaseline
import Duel
import NetlinkReachability

/// What a question to the live kernel costs above the same round trip in C.
struct LiveLookup {
    /// The addresses asked about, each of another kind in the benchmarks' network namespace.
    private static let places: [(name: String, address: UInt32)] = [
        ("own address", 0x7f00_0001),
        ("address on a link", 0xc000_0209),
        ("address behind a gateway", 0xc633_6409),
    ]

    private let socket: Int32

    init() throws {
        socket = try checked("open a netlink socket", baseline_open())
    }

    func duels() throws -> [Duel] {
        var duels: [Duel] = []
        for (name, address) in Self.places {
            duels.append(try flags(name, address))
        }
        for (name, address) in Self.places {
            duels.append(try together("many, \(name)", address))
            duels.append(try report(name, address))
        }
        return duels
    }

    /// One question about an address behind the gateway.
    func question() throws -> Duel {
        try flags("one question", Self.places[2].address)
    }

    /// One call for a number of addresses, all behind the gateway.
    func together(targets number: Int) throws -> Duel {
        try together("questions together, each", Self.places[2].address, count: number)
    }

    private func flags(_ question: String, _ address: UInt32) throws -> Duel {
        let reachability = try NetworkReachability(address: IPAddress(address))
        let ours = Side("flags()") { count in
            for _ in 0..<count { keep(try reachability.flags()) }
        }
        let theirs = Side("C RTM_GETROUTE, FIB_MATCH") { [socket] count in
            try checked("RTM_GETROUTE", baseline_routes(socket, address, true, Int32(count)))
        }
        return Duel(question, ours: ours, theirs: theirs, goal: .flags)
    }

    /// Asks about a number of addresses in one call.
    private func together(_ question: String, _ address: UInt32, count: Int = 100) throws -> Duel {
        let source = try NetworkSource.kernel()
        let ours = Side("flags(of:)") { count in
            keep(try source.flags(of: Array(repeating: IPAddress(address), count: count)))
        }
        let theirs = Side("C RTM_GETROUTE, FIB_MATCH, 64 a send") { [socket] count in
            try checked("RTM_GETROUTE", baseline_routes_together(socket, address, 0, true, Int32(count)))
        }
        return Duel(
            question, ours: ours, theirs: theirs, goal: .manyFlags, batch: count,
            rounds: max(12, 4_000 * 100 / max(count, 100)))
    }

    /// A full report is the entry, the source address, and the interface.
    private func report(_ question: String, _ address: UInt32) throws -> Duel {
        let reachability = try NetworkReachability(address: IPAddress(address))
        let ours = Side("report()") { count in
            for _ in 0..<count { keep(try reachability.report()) }
        }
        let interface = try checked("RTM_GETROUTE", baseline_route(socket, address, true))
        let theirs = Side("C, 2 RTM_GETROUTE, 1 GETLINK") { [socket] count in
            try checked("RTM_GETROUTE", baseline_routes(socket, address, true, Int32(count)))
            try checked("RTM_GETROUTE", baseline_routes(socket, address, false, Int32(count)))
            try checked("RTM_GETLINK", baseline_links(socket, interface, Int32(count)))
        }
        return Duel(question, ours: ours, theirs: theirs, goal: .report)
    }
}

extension IPAddress {
    /// An IPv4 address as a number.
    init(_ number: UInt32) {
        self.init(
            UInt8(truncatingIfNeeded: number >> 24), UInt8(truncatingIfNeeded: number >> 16),
            UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)
        )
    }
}

/// Takes a value where the optimizer cannot see it, so that it has to be made.
@inline(never)
func keep<Value>(_ value: Value) {}
