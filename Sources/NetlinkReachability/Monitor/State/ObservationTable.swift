// SPDX-License-Identifier: Apache-2.0

/// The number of an observation, from 1; not used again.
///
/// The lower half is an index, which later observations use again; the upper half is never the same.
typealias ObservationID = UInt64

/// Values by the numbers of observations.
///
/// The lower halves are the indices of an array. There can be a hundred thousand observations, for which a dictionary
/// takes two to three times the memory.
struct ObservationTable<Value: Sendable>: Sendable {
    typealias ID = ObservationID

    private struct Entry: Sendable {
        var value: Value?
        /// The upper half of the number; behind the value, where it fills a gap.
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

    /// The value of a number; `nil` if it has none.
    ///
    /// A value takes the place of one with another number.
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
    /// Not later than the earliest instant; `nil` if there are none.
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

    /// Removes and returns the observations that are due.
    mutating func take(at now: MonitorInstant) -> [ObservationID] {
        guard let earliest, earliest <= now else { return [] }
        let due = times.filter { $0.value <= now }.map(\.key)
        for id in due { times[id] = nil }
        self.earliest = times.values.min()
        return due
    }
}
