// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// The routing tables of one family.
struct FamilyRoutes<Key: RouteKey>: Sendable {
    /// The tables, each at a place that it keeps.
    var tables: [RouteTable<Key>] = []
    /// The place of each table by its number.
    private(set) var places: [UInt32: Int] = [:]

    /// The routes of all tables.
    var count: Int {
        tables.reduce(0) { $0 + $1.count }
    }

    /// The bytes allocated.
    var memoryFootprint: Int {
        tables.reduce(0) { $0 + $1.memoryFootprint }
    }

    /// The place of a table, which is made when it is new.
    mutating func place(ofTable number: UInt32) -> Int {
        if let place = places[number] { return place }
        tables.append(RouteTable())
        places[number] = tables.count - 1
        return tables.count - 1
    }

    /// The routes of a prefix.
    func entries(_ prefix: IPPrefix, table: UInt32) -> [RouteEntry] {
        guard let place = places[table] else { return [] }
        return tables[place].entries(key: Key(prefix.address), length: prefix.length)
    }

    /// Gives a prefix its first route, one without a lifetime; `false` when it has one already.
    mutating func addFirst(attributes: UInt32, _ prefix: IPPrefix, table: UInt32) -> Bool {
        guard let place = places[table] else { return false }
        return tables[place].addFirst(attributes: attributes, key: Key(prefix.address), length: prefix.length)
    }

    /// Gives a prefix these routes.
    mutating func set(_ entries: [RouteEntry], _ prefix: IPPrefix, table: UInt32) {
        tables[place(ofTable: table)].set(entries, key: Key(prefix.address), length: prefix.length)
    }

    /// Removes the routes with these attributes and returns the number of each.
    mutating func remove(_ doomed: Set<UInt32>) -> [UInt32: Int] {
        var removed: [UInt32: Int] = [:]
        for place in tables.indices {
            var kept: [(key: Key, length: Int, entries: [RouteEntry])] = []
            tables[place].visitPrefixes { key, length, all in
                let rest = all.filter { !doomed.contains($0.attributes) }
                guard rest.count < all.count else { return }
                kept.append((key, length, rest))
                for entry in all where doomed.contains(entry.attributes) {
                    removed[entry.attributes, default: 0] += 1
                }
            }
            for prefix in kept { tables[place].set(prefix.entries, key: prefix.key, length: prefix.length) }
        }
        return removed
    }
}

/// A prefix key that is an address.
protocol RouteKey: PrefixKey {
    /// Takes an address of the key's family.
    init(_ address: IPAddress)
    /// The address.
    var address: IPAddress { get }
}

extension UInt32: RouteKey {
    init(_ address: IPAddress) {
        self.init(truncatingIfNeeded: address.low)
    }

    var address: IPAddress { IPAddress(v4: self) }
}

extension AddressBits: RouteKey {
    init(_ address: IPAddress) {
        self.init(high: address.high, low: address.low)
    }

    var address: IPAddress { IPAddress(v6High: high, low: low) }
}
