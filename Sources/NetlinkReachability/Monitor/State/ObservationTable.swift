// SPDX-License-Identifier: Apache-2.0

/// Values by the numbers of observations.
///
/// The lower half of a number is a place in an array, which later observations use again; the upper half is never the
/// same. There can be a hundred thousand observations, for which a dictionary takes two to three times the memory.
struct ObservationTable<Value: Sendable>: Sendable {
    typealias ID = MonitorState.ID

    private struct Entry: Sendable {
        var value: Value?
        /// The upper half of the number; behind the value, where it fills a gap.
        var generation: UInt32
    }

    private var entries: [Entry] = []
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// The numbers that have a value, in the order of their places.
    var ids: [ID] {
        entries.enumerated().compactMap { place, entry in
            entry.value == nil ? nil : ID(entry.generation) << 32 | ID(place)
        }
    }

    /// The value of a number; `nil` if it has none.
    ///
    /// A value takes the place of one with another number.
    subscript(id: ID) -> Value? {
        get {
            let (place, generation) = Self.parts(of: id)
            guard place < entries.count, entries[place].generation == generation else { return nil }
            return entries[place].value
        }
        set {
            let (place, generation) = Self.parts(of: id)
            if newValue == nil, place >= entries.count || entries[place].generation != generation { return }
            while entries.count <= place { entries.append(Entry(value: nil, generation: 0)) }
            count += (newValue == nil ? 0 : 1) - (entries[place].value == nil ? 0 : 1)
            entries[place] = Entry(value: newValue, generation: generation)
        }
    }

    /// Removes and returns a value.
    mutating func remove(_ id: ID) -> Value? {
        let value = self[id]
        self[id] = nil
        return value
    }

    private static func parts(of id: ID) -> (place: Int, generation: UInt32) {
        (Int(UInt32(truncatingIfNeeded: id)), UInt32(id >> 32))
    }
}
