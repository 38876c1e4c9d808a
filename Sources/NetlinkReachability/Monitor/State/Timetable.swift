// SPDX-License-Identifier: Apache-2.0

/// The instants at which observations are due, one for each observation.
struct Timetable: Sendable {
    private var times: [MonitorState.ID: MonitorInstant] = [:]
    /// Not later than the earliest instant; `nil` if there are none.
    private(set) var earliest: MonitorInstant?

    /// Sets the instant of an observation, or removes it.
    mutating func set(_ id: MonitorState.ID, to time: MonitorInstant?) {
        if let time {
            times[id] = time
            earliest = min(earliest ?? time, time)
        } else if !times.isEmpty {
            times[id] = nil
            if times.isEmpty { earliest = nil }
        }
    }

    /// Removes and returns the observations that are due.
    mutating func take(at now: MonitorInstant) -> [MonitorState.ID] {
        guard let earliest, earliest <= now else { return [] }
        let due = times.filter { $0.value <= now }.map(\.key)
        for id in due { times[id] = nil }
        self.earliest = times.values.min()
        return due
    }
}
