// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// A route of a prefix.
struct RouteEntry: Hashable, Sendable {
    /// The number of its attributes.
    var attributes: UInt32
    /// When it ends, in ticks of the snapshot's clock; `.max` for never, `.min` when it had ended already in the dump.
    var expiry: Int64 = .max

    /// The time at which a route ends, from the time of its message.
    static func expiry(_ expires: Int32?, _ clock: Int64) -> Int64 {
        guard let expires else { return .max }
        return expires < 0 ? .min : clock + Int64(expires)
    }

    /// What is left of the lifetime at a time; negative when over, `nil` for ever.
    func expires(_ clock: Int64) -> Int32? {
        switch expiry {
        case .max: nil
        case .min: .min
        // A lifetime that ends right now is over: 0 would say that there is none.
        default: expiry == clock ? -1 : Int32(clamping: max(expiry - clock, Int64(Int32.min) + 1))
        }
    }
}

/// The routes of one table of one family: a prefix leads to its routes, in the kernel's order.
///
/// Nearly every prefix has one route without a lifetime. Its value in the prefix table is then the number of
/// the route's attributes and nothing else is kept. Other prefixes lead to a chain of routes.
struct RouteTable<Key: PrefixKey>: Sendable {
    /// What the prefixes lead to: attributes or a chain.
    private(set) var prefixes = PrefixTable<Key>()
    private var chains: [[RouteEntry]] = []
    private var freeChains: [UInt32] = []
    /// How many routes there are.
    private(set) var count = 0

    /// Set in a value that leads to a chain.
    private static var chainBit: UInt32 { 1 << 31 }

    /// The bytes allocated.
    var memoryFootprint: Int {
        chains.reduce(prefixes.memoryFootprint) {
            $0 + MemoryLayout<[RouteEntry]>.stride + 32 + $1.capacity * MemoryLayout<RouteEntry>.stride
        }
    }
}

// MARK: - Reading

extension RouteTable {
    /// The attributes of a value's only route, or `nil` when it leads to a chain.
    @inline(__always)
    static func onlyAttributes(_ value: UInt32) -> UInt32? {
        value & chainBit == 0 ? value : nil
    }

    /// The routes behind a value that a match gave.
    func entries(_ value: UInt32) -> [RouteEntry] {
        Self.onlyAttributes(value).map { [RouteEntry(attributes: $0)] } ?? chains[Int(value ^ Self.chainBit)]
    }

    /// The routes of exactly this prefix.
    func entries(key: Key, length: Int) -> [RouteEntry] {
        prefixes.value(key: key, length: length).map(entries) ?? []
    }

    /// Calls `body` with every prefix and its routes.
    func visitPrefixes(_ body: (_ key: Key, _ length: Int, _ entries: [RouteEntry]) -> Void) {
        prefixes.forEachEntry { key, length, value in body(key, length, entries(value)) }
    }
}

// MARK: - Writing

extension RouteTable {
    /// Gives a prefix its first route, one without a lifetime.
    ///
    /// - Returns: Whether that was possible: the prefix had no route yet.
    mutating func addFirst(attributes: UInt32, key: Key, length: Int) -> Bool {
        guard attributes & Self.chainBit == 0 else { return false }
        if let old = prefixes.insert(attributes, key: key, length: length) {
            prefixes.insert(old, key: key, length: length)
            return false
        }
        count += 1
        return true
    }

    /// Gives a prefix these routes; none removes it.
    mutating func set(_ entries: [RouteEntry], key: Key, length: Int) {
        let old = prefixes.value(key: key, length: length)
        if let old { count -= free(old) }
        count += entries.count
        guard let first = entries.first else {
            if old != nil { prefixes.remove(key: key, length: length) }
            return
        }
        let isPlain = entries.count == 1 && first.expiry == .max && first.attributes & Self.chainBit == 0
        let value = isPlain ? first.attributes : store(entries)
        if value != old { prefixes.insert(value, key: key, length: length) }
    }

    /// Frees the chain of a value and returns the number of its routes.
    private mutating func free(_ value: UInt32) -> Int {
        let count = entries(value).count
        if Self.onlyAttributes(value) == nil {
            let place = value ^ Self.chainBit
            chains[Int(place)] = []
            freeChains.append(place)
        }
        return count
    }

    /// Stores a chain and returns the value that leads to it.
    private mutating func store(_ chain: [RouteEntry]) -> UInt32 {
        let place = freeChains.popLast() ?? UInt32(chains.count)
        if Int(place) == chains.count { chains.append(chain) } else { chains[Int(place)] = chain }
        return place | Self.chainBit
    }
}
