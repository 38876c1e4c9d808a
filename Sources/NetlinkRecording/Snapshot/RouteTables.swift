// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// A route of a prefix.
struct RouteEntry: Hashable, Sendable {
    /// The number of its attributes.
    var attributes: UInt32
    /// When the route expires, in ticks of the snapshot's clock; `.max` for never, `.min` if it had already expired
    /// in the dump.
    var expiry: Int64 = .max

    /// The time at which a route expires, computed from the time of its message.
    static func expiry(_ expires: Int32?, _ clock: Int64) -> Int64 {
        guard let expires else { return .max }
        return expires < 0 ? .min : clock + Int64(expires)
    }

    /// The remaining lifetime at a time; negative if it is over, `nil` without a lifetime.
    func expires(_ clock: Int64) -> Int32? {
        switch expiry {
        case .max: nil
        case .min: .min
        // A lifetime that ends right now is over: 0 would mean that there is no lifetime.
        default: expiry == clock ? -1 : Int32(clamping: max(expiry - clock, Int64(Int32.min) + 1))
        }
    }
}

/// The routes of a prefix in one table, in the kernel's order.
enum RouteChain: Sendable {
    // The first case, whose reference is stored unchanged. In references of other cases the runtime sets a bit, and
    // the leak checker does not recognise them.
    case many([RouteEntry])
    /// A single route without a lifetime. Nearly every prefix has only such a route.
    case one(attributes: UInt32)

    /// Creates a chain of routes; `nil` if there are none.
    init?(_ entries: [RouteEntry]) {
        guard let first = entries.first else { return nil }
        self =
            entries.count == 1 && first.expiry == .max ? .one(attributes: first.attributes) : .many(entries)
    }

    /// The routes.
    var entries: [RouteEntry] {
        switch self {
        case .one(let attributes): [RouteEntry(attributes: attributes)]
        case .many(let entries): entries
        }
    }
}

/// The routing tables of both families.
///
/// Each maps prefixes to routes.
struct RouteTables: Sendable {
    /// The tables.
    ///
    /// A table keeps its index.
    private(set) var tables: [PrefixTable<RouteChain>] = []
    /// The indices by the family and the number, the number in the upper bits.
    private var indices: [UInt64: Int] = [:]
    /// The number of routes.
    private(set) var count = 0

    /// The numbers of the tables.
    var numbers: [UInt32] { Set(indices.keys.map { UInt32($0 >> 8) }).sorted() }

    /// The index of a table; `nil` for a table that never had a route.
    func index(ofTable number: UInt32, _ family: IPAddress.Family) -> Int? {
        indices[Self.key(number, family)]
    }

    private static func key(_ number: UInt32, _ family: IPAddress.Family) -> UInt64 {
        UInt64(number) << 8 | UInt64(family.rawValue)
    }

    /// A table; `nil` for a table that never had a route.
    subscript(_ number: UInt32, _ family: IPAddress.Family) -> PrefixTable<RouteChain>? {
        index(ofTable: number, family).map { tables[$0] }
    }

    /// Whether there is a route of a family.
    func hasAny(_ family: IPAddress.Family) -> Bool {
        tables.contains { $0.family == family && $0.count > 0 }
    }

    /// The routes of a prefix.
    func entries(_ prefix: IPPrefix, table: UInt32) -> [RouteEntry] {
        self[table, prefix.family]?.value(at: prefix)?.entries ?? []
    }

    /// Removes and returns the routes of a prefix, so that they can be changed and set again.
    mutating func removeChain(_ prefix: IPPrefix, table: UInt32) -> [RouteEntry] {
        guard let index = index(ofTable: table, prefix.family) else { return [] }
        let entries = tables[index].remove(prefix)?.entries ?? []
        count -= entries.count
        return entries
    }

    /// Gives a prefix its first route, which has no lifetime.
    ///
    /// Returns `false` if the prefix already has a route.
    mutating func addFirst(attributes: UInt32, _ prefix: IPPrefix, table: UInt32) -> Bool {
        guard let index = index(ofTable: table, prefix.family) else { return false }
        if let old = tables[index].insert(.one(attributes: attributes), at: prefix) {
            tables[index].insert(old, at: prefix)
            return false
        }
        count += 1
        return true
    }

    /// Sets the routes of a prefix.
    ///
    /// Without routes, the prefix is removed.
    mutating func set(_ entries: [RouteEntry], _ prefix: IPPrefix, table: UInt32) {
        replace(prefix, in: make(table, prefix.family), with: entries)
    }

    /// Creates a table, unless it exists.
    ///
    /// - Returns: The index of the table.
    @discardableResult
    mutating func make(_ table: UInt32, _ family: IPAddress.Family) -> Int {
        if let index = index(ofTable: table, family) { return index }
        tables.append(PrefixTable(family))
        indices[Self.key(table, family)] = tables.count - 1
        return tables.count - 1
    }

    private mutating func replace(_ prefix: IPPrefix, in index: Int, with entries: [RouteEntry]) {
        let old =
            if let chain = RouteChain(entries) {
                tables[index].insert(chain, at: prefix)
            } else {
                tables[index].remove(prefix)
            }
        count += entries.count - (old?.entries.count ?? 0)
    }

    /// Removes the routes of a prefix with these attributes, and returns the attributes of each.
    mutating func remove(_ doomed: Set<UInt32>, _ prefix: IPPrefix, table: UInt32) -> [UInt32] {
        let entries = entries(prefix, table: table)
        let rest = entries.filter { !doomed.contains($0.attributes) }
        if rest.count < entries.count { set(rest, prefix, table: table) }
        return entries.map(\.attributes).filter(doomed.contains)
    }

    /// Removes the routes with these attributes, and returns the attributes of each.
    mutating func remove(_ doomed: Set<UInt32>) -> [UInt32] {
        var removed: [UInt32] = []
        for index in tables.indices {
            var kept: [(prefix: IPPrefix, entries: [RouteEntry])] = []
            tables[index].forEachEntry { prefix, chain in
                let rest = chain.entries.filter { !doomed.contains($0.attributes) }
                guard rest.count < chain.entries.count else { return }
                kept.append((prefix, rest))
                removed += chain.entries.map(\.attributes).filter(doomed.contains)
            }
            for (prefix, entries) in kept { replace(prefix, in: index, with: entries) }
        }
        return removed
    }
}

/// A prefix of a table, whose routes have an order among themselves.
package struct PrefixInTable: Hashable {
    /// The prefix.
    package let prefix: IPPrefix
    /// The number of the table.
    package let table: UInt32
}

extension PrefixInTable {
    /// The prefix and table of a route.
    package init(_ route: Route) {
        self.init(prefix: route.destination, table: route.table)
    }
}
