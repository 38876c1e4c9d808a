// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// Finds the observations that depend on addresses in a prefix.
///
/// The addresses are sorted, so a prefix is a range. Additions are merged at the next lookup, and removed entries stay
/// until there are many: an observation that is found needlessly costs one evaluation.
struct AddressIndex: Sendable {
    /// The addresses of one family, as numbers.
    fileprivate struct Lane<Bits: FixedWidthInteger & Sendable>: Sendable {
        struct Entry: Comparable, Sendable {
            var bits: Bits
            var id: UInt64

            static func < (left: Self, right: Self) -> Bool {
                (left.bits, left.id) < (right.bits, right.id)
            }
        }

        var sorted: [Entry] = []
        var added: [Entry] = []
    }

    private var v4 = Lane<UInt32>()
    private var v6 = Lane<UInt128>()
    private var removedCount = 0

    /// The number of entries, including removed ones that are still stored.
    var count: Int {
        v4.sorted.count + v4.added.count + v6.sorted.count + v6.added.count
    }

    /// Adds an address that an observation depends on.
    mutating func insert(_ address: IPAddress, of id: UInt64) {
        switch address.family {
        case .v4: v4.added.append(Lane.Entry(bits: UInt32(truncatingIfNeeded: address.bits), id: id))
        case .v6: v6.added.append(Lane.Entry(bits: address.bits, id: id))
        }
    }

    /// Counts entries that are no longer wanted, and drops them when there are many.
    ///
    /// - Parameters:
    ///   - number: How many more are unwanted.
    ///   - isWanted: Whether an observation still depends on an address.
    mutating func noteRemoval(of number: Int, isWanted: (UInt64, IPAddress) -> Bool) {
        removedCount += number
        guard removedCount > 64 + count / 2 else { return }
        removedCount = 0
        v4.keep { isWanted($0.id, IPAddress(v4: $0.bits)) }
        v6.keep {
            let high = UInt64(truncatingIfNeeded: $0.bits >> 64)
            return isWanted($0.id, IPAddress(v6High: high, low: UInt64(truncatingIfNeeded: $0.bits)))
        }
    }

    /// Whether any observation depends on an address in the prefix.
    mutating func hasAny(in prefix: IPPrefix) -> Bool {
        switch prefix.family {
        case .v4: !v4.range(of: prefix).isEmpty
        case .v6: !v6.range(of: prefix).isEmpty
        }
    }

    /// Calls the body with each observation that depends on an address in the prefix, once per address.
    mutating func forEach(in prefix: IPPrefix, _ body: (UInt64) -> Void) {
        switch prefix.family {
        case .v4: v4.forEach(in: prefix, body)
        case .v6: v6.forEach(in: prefix, body)
        }
    }
}

extension AddressIndex.Lane {
    mutating func forEach(in prefix: IPPrefix, _ body: (UInt64) -> Void) {
        for index in range(of: prefix) { body(sorted[index].id) }
    }

    mutating func keep(_ isWanted: (Entry) -> Bool) {
        sorted.removeAll { !isWanted($0) }
        added.removeAll { !isWanted($0) }
    }

    mutating func range(of prefix: IPPrefix) -> Range<Int> {
        merge()
        let first = Bits(truncatingIfNeeded: prefix.address.bits)
        let last = Bits(truncatingIfNeeded: prefix.lastAddress.bits)
        return sorted.partitioningIndex { $0.bits >= first }..<sorted.partitioningIndex { $0.bits > last }
    }

    /// Merges the additions into the sorted entries.
    private mutating func merge() {
        guard !added.isEmpty else { return }
        // Two sorted runs, which the sort finds and merges.
        sorted.reserveCapacity(sorted.count + added.count)
        sorted.append(contentsOf: added.sorted())
        sorted.sort()
        added = []
    }
}
