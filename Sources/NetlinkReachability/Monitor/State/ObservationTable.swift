// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// The number of an observation, from 1.
///
/// Two observations never have the same number.
///
/// The lower half is an index, which later observations reuse. The upper half is unique.
typealias ObservationID = UInt64

/// A table of values by observation number.
///
/// The lower half of the number is the index in an array. There can be a hundred thousand observations, for which a
/// dictionary would use two to three times the memory.
struct ObservationTable<Value: Sendable>: Sendable {
    typealias ID = ObservationID

    private struct Entry: Sendable {
        var value: Value?
        /// The upper half of the number.
        ///
        /// Stored after the value, where it fills the padding.
        var generation: UInt32
    }

    private var entries: [Entry] = []
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// The numbers that have a value, in the order of their indices.
    var ids: [ID] {
        entries.enumerated().compactMap { index, entry in
            entry.value == nil ? nil : ID(entry.generation) << 32 | ID(index)
        }
    }

    /// The value of an observation; `nil` if there is none.
    ///
    /// A new value replaces that of an earlier observation with the same index.
    subscript(id: ID) -> Value? {
        get {
            let (index, generation) = Self.parts(of: id)
            guard index < entries.count, entries[index].generation == generation else { return nil }
            return entries[index].value
        }
        set {
            let (index, generation) = Self.parts(of: id)
            if newValue == nil, index >= entries.count || entries[index].generation != generation { return }
            while entries.count <= index { entries.append(Entry(value: nil, generation: 0)) }
            count += (newValue == nil ? 0 : 1) - (entries[index].value == nil ? 0 : 1)
            entries[index] = Entry(value: newValue, generation: generation)
        }
    }

    private static func parts(of id: ID) -> (index: Int, generation: UInt32) {
        (Int(UInt32(truncatingIfNeeded: id)), UInt32(id >> 32))
    }
}

/// The instants at which observations are due, one for each observation.
struct Timetable: Sendable {
    private var times: [ObservationID: MonitorInstant] = [:]
    /// A lower bound of all instants; `nil` if there are none.
    private(set) var earliest: MonitorInstant?

    /// Sets the instant of an observation, or removes it.
    mutating func set(_ id: ObservationID, to time: MonitorInstant?) {
        if let time {
            times[id] = time
            earliest = min(earliest ?? time, time)
        } else if !times.isEmpty {
            times[id] = nil
            if times.isEmpty { earliest = nil }
        }
    }

    /// Sets the instant of an observation, unless it already has an earlier one.
    mutating func advance(_ id: ObservationID, to time: MonitorInstant) {
        if times[id].map({ time < $0 }) ?? true { set(id, to: time) }
    }

    /// Removes and returns the observations that are due.
    mutating func popDue(at now: MonitorInstant) -> [ObservationID] {
        guard let earliest, earliest <= now else { return [] }
        let due = times.filter { $0.value <= now }.map(\.key)
        for id in due { times[id] = nil }
        self.earliest = times.values.min()
        return due
    }
}

/// Finds the observations that depend on addresses in a prefix.
///
/// The addresses are sorted, so a prefix is a range. Additions are merged at the next lookup. Removed entries stay
/// until there are many of them: an observation that is found without need costs one evaluation.
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

    /// Replaces the addresses that an observation depends on.
    ///
    /// - Parameters:
    ///   - id: The observation.
    ///   - old: The addresses so far.
    ///   - new: The addresses from now on.
    ///   - isWanted: Whether an observation still depends on an address.
    mutating func update(
        _ id: UInt64,
        from old: SmallSet<IPAddress>,
        to new: SmallSet<IPAddress>,
        isWanted: (UInt64, IPAddress) -> Bool
    ) {
        new.each { if !old.contains($0) { insert($0, of: id) } }
        var unwanted = 0
        old.each { if !new.contains($0) { unwanted += 1 } }
        if unwanted > 0 { countRemoval(of: unwanted, isWanted: isWanted) }
    }

    /// Counts entries that are no longer wanted, and drops such entries when there are many.
    ///
    /// - Parameters:
    ///   - number: The number of entries that became unwanted.
    ///   - isWanted: Whether an observation still depends on an address.
    mutating func countRemoval(of number: Int, isWanted: (UInt64, IPAddress) -> Bool) {
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
        // The sort recognizes the two sorted runs and merges them.
        sorted.reserveCapacity(sorted.count + added.count)
        sorted.append(contentsOf: added.sorted())
        sorted.sort()
        added = []
    }
}
