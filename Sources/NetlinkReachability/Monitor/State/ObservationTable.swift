// SPDX-License-Identifier: Apache-2.0

/// Values by the numbers of observations.
///
/// The lower half of a number is a place in an array, which later observations use again; the upper half is never the
/// same. There can be a hundred thousand observations, for which a dictionary takes two to three times the memory.
struct ObservationTable<Value: Sendable>: Sendable {
    typealias ID = MonitorState.ID

    private struct Entry: Sendable {
        var id: ID
        var value: Value?
    }

    private var entries: [Entry] = []
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// The numbers that have a value, in the order of their places.
    var ids: [ID] {
        entries.compactMap { $0.value == nil ? nil : $0.id }
    }

    /// The value of a number; `nil` if it has none.
    ///
    /// A value takes the place of one with another number.
    subscript(id: ID) -> Value? {
        get {
            let place = Self.place(of: id)
            guard place < entries.count, entries[place].id == id else { return nil }
            return entries[place].value
        }
        set {
            let place = Self.place(of: id)
            if newValue == nil, place >= entries.count || entries[place].id != id { return }
            while entries.count <= place { entries.append(Entry(id: 0, value: nil)) }
            count += (newValue == nil ? 0 : 1) - (entries[place].value == nil ? 0 : 1)
            entries[place] = Entry(id: id, value: newValue)
        }
    }

    /// Removes and returns a value.
    mutating func remove(_ id: ID) -> Value? {
        let value = self[id]
        self[id] = nil
        return value
    }

    private static func place(of id: ID) -> Int {
        Int(UInt32(truncatingIfNeeded: id))
    }
}
