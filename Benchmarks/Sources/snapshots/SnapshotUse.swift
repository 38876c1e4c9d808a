// SPDX-License-Identifier: Apache-2.0

import CBaseline
import Duel
import NetlinkReachability
import RoutingModel

/// What lookups in a loaded snapshot and changes of it cost.
struct SnapshotUse {
    private let snapshot: NetworkSnapshot
    private let socket: Int32
    private let source: NetworkSource
    private let keys: [UInt32]
    private let addresses: [IPAddress]
    private let routes: [PrefixEntry<UInt32>]
    private let table: IPv4PrefixTable
    private let table6: IPv6PrefixTable
    private let keys6: [AddressBits]

    init(_ snapshot: NetworkSnapshot) throws {
        self.snapshot = snapshot
        source = NetworkSource(routing: SnapshotRouting(snapshot), resolver: SystemResolver.shared)
        socket = try checked("open a netlink socket", baseline_open())
        var random = Random(seed: 7)
        keys = (0..<1_000_000).map { _ in random.nextAddress() }
        addresses = keys.map { IPAddress(v4: $0) }
        routes = snapshot.routes.lazy
            .filter { $0.table == Route.mainTable && $0.destination.family == .v4 }
            .map { route in
                let key = UInt32(truncatingIfNeeded: route.destination.address.low)
                return PrefixEntry(key: key, length: route.destination.length, value: 1)
            }
        table = IPv4PrefixTable(routes)
        let routes6 = IPv6RouteSet(count: 200_000)
        table6 = IPv6PrefixTable(routes6.entries)
        keys6 = routes6.addresses(1_000_000)
    }

    /// Lookups against questions to the kernel.
    func kernelDuels() -> [Duel] {
        [Duel("random addresses", ours: lookups, theirs: kernel, batch: 20_000, rounds: 8)]
    }

    /// Lookups, and those in the prefix table alone, against bare tables.
    func tableDuels() throws -> [Duel] {
        let direct = try DirectTable(routes)
        let theirs = Side("C direct table, 64 MiB") { [keys] count in keep(direct.count(keys.prefix(count))) }
        return [
            Duel("random addresses", ours: lookups, theirs: bare, batch: keys.count, rounds: 12),
            Duel(
                "random addresses", ours: lookups, theirs: theirs, goal: .lookup, batch: keys.count,
                rounds: 12),
            Duel(
                "random addresses", ours: bare, theirs: theirs, goal: .prefixTable, batch: keys.count,
                rounds: 12),
            Duel(
                "many random addresses", ours: flagsTogether, theirs: theirs, goal: .lookupsTogether,
                batch: keys.count, rounds: 12),
            Duel(
                "many random addresses", ours: bareTogether, theirs: theirs, batch: keys.count, rounds: 12),
            Duel(
                "IPv6 addresses, against IPv4 in C", ours: bare6, theirs: theirs, batch: keys.count,
                rounds: 12),
            Duel(
                "many IPv6 addresses, against IPv4 in C", ours: bare6Together, theirs: theirs,
                batch: keys.count, rounds: 12),
        ]
    }

    private var lookups: Side {
        Side("snapshot.summary") { count in keep(try summaries(count)) }
    }

    private var kernel: Side {
        Side("C RTM_GETROUTE, FIB_MATCH") { count in
            for key in keys.prefix(count) {
                // An address without a route is an answer too.
                keep(baseline_route(socket, key, true))
            }
        }
    }

    private var bare: Side {
        Side("bare prefix table") { count in keep(matches(count)) }
    }

    private var flagsTogether: Side {
        Side("flags(of:)") { count in keep(try source.flags(of: addresses.prefix(count))) }
    }

    private var bareTogether: Side {
        Side("bare prefix table, together") { count in keep(Self.matchesTogether(table, keys, count)) }
    }

    private var bare6Together: Side {
        Side("bare table, together") { count in keep(Self.matchesTogether(table6, keys6, count)) }
    }

    private var bare6: Side {
        Side("bare table, 200,000 prefixes") { count in keep(Self.matches(table6, keys6, count)) }
    }

    private func summaries(_ count: Int) throws -> Int {
        try Self.summaries(snapshot, keys, count)
    }

    /// Borrows the snapshot: a copy for each question would count references of all its parts.
    @inline(never)
    private static func summaries(
        _ snapshot: borrowing NetworkSnapshot,
        _ keys: [UInt32],
        _ count: Int
    ) throws -> Int {
        var found = 0
        for key in keys.prefix(count) {
            let query = RouteQuery(destination: IPAddress(v4: key))
            if case .entry = try snapshot.summary(for: query) { found += 1 }
        }
        return found
    }

    private func matches(_ count: Int) -> Int {
        Self.matches(table, keys, count)
    }

    @inline(never)
    private static func matches<Key>(_ table: borrowing PrefixTable<Key>, _ keys: [Key], _ count: Int) -> Int
    {
        var found = 0
        for key in keys.prefix(count) where table.longestMatchValue(key) != nil { found += 1 }
        return found
    }

    @inline(never)
    private static func matchesTogether<Key>(
        _ table: borrowing PrefixTable<Key>,
        _ keys: [Key],
        _ count: Int
    ) -> Int {
        var found = 0
        for first in stride(from: 0, to: count, by: 64) {
            let some = Array(keys[first..<min(first + 64, count)])
            for match in table.longestMatchValues(some) where match.value != nil { found += 1 }
        }
        return found
    }

    // MARK: Figures without a rival

    /// The bytes that the snapshot keeps for a route.
    var bytesPerRoute: Double {
        Double(snapshot.routeMemoryFootprint) / Double(snapshot.routeCount)
    }

    /// The same for the IPv6 table alone.
    var bytesPerIPv6Prefix: Double {
        Double(table6.memoryFootprint) / Double(table6.count)
    }

    /// The nanoseconds of one route's removal or addition.
    func updateTime() throws -> Double {
        let routes = snapshot.routes.filter {
            $0.table == Route.mainTable && $0.nexthops.first?.gateway != nil
        }
        var changed = snapshot
        var random = Random(seed: 9)
        return try Side("") { count in
            for _ in 0..<(count / 2) {
                let route = routes[Int(random.next() % UInt64(routes.count))]
                changed.apply(.removedRoute(route))
                changed.apply(.route(route, .last))
            }
        }.median(of: 9, batches: 50_000)
    }
}

/// Takes a value where the optimizer cannot see it, so that it has to be made.
@inline(never)
func keep<Value>(_ value: Value) {}
