// SPDX-License-Identifier: Apache-2.0

/// The most, or the least, that a row is meant to come to.
package struct Goal: Sendable {
    private enum Bound: String {
        case atMost = "<="
        case atLeast = ">="
    }

    private let bound: Bound
    package let number: Double

    package static func atMost(_ number: Double) -> Goal {
        Goal(bound: .atMost, number: number)
    }

    package static func atLeast(_ number: Double) -> Goal {
        Goal(bound: .atLeast, number: number)
    }

    package func isReached(by number: Double) -> Bool {
        bound == .atMost ? number <= self.number : number >= self.number
    }

    /// The comparison, as text: `<=` or `>=`.
    var comparison: String { bound.rawValue }
}

/// All goals in one place. A new row adds its goal here and names it in its ``Duel`` or ``Row``.
extension Goal {
    // MARK: Library calls

    /// `flags()`, against the round trip in C with the same question.
    package static let flags = atMost(1.15)
    /// `report()`, against two round trips and one question about a link.
    package static let report = atMost(1)
    /// `flags(of:)`, against the pipelined loop of the same width in C.
    package static let manyFlags = atMost(1.3)

    // MARK: The monitor

    /// Event to callback on a dispatch queue, against a loop in C that calls on a dispatch queue.
    package static let callbackOnQueue = atMost(1.2)
    /// Event to callback on the monitor's thread, against the bare loop in C.
    package static let callbackOnMonitorThread = atMost(1.25)
    /// The time to read a queued notification, against a bare `recv` loop.
    package static let draining = atMost(2)
    /// `currentFlags`, in nanoseconds.
    package static let currentFlags = atMost(25)
    /// The memory of each of 100,000 started handles, in bytes.
    package static let handleMemory = atMost(512)
    /// A change that touches 100,000 handles, against the same questions pipelined in C.
    package static let burst = atMost(2)
    /// From a change that touches a few of 100,000 targets to the last callback, in microseconds.
    package static let fewOfMany = atMost(1_000)
    /// From the default route to the end of `netflags wait`, in milliseconds.
    package static let waiting = atMost(300)

    // MARK: Snapshots and replays

    /// Lookups in the prefix table, against a direct table of 64 MiB in C.
    package static let prefixTable = atMost(3)
    /// Lookups of many addresses at once, against the direct table.
    package static let lookupsTogether = atMost(3)
    /// Whole lookups, one after the other, against the direct table.
    package static let lookup = atMost(5)
    /// The memory that a snapshot keeps for a route, in bytes.
    package static let routeMemory = atMost(16)
    /// One route comes or goes, in nanoseconds.
    package static let update = atMost(2_000)
    /// A snapshot loaded from the kernel, against the bare dump in C.
    package static let load = atMost(1.25)
    /// A recording loaded as `--replay` does, against the bare dump in C.
    package static let replayLoad = atMost(0.4)
    /// The events that a replay reads in a second of a processor.
    package static let replayRate = atLeast(1_000_000)

    // MARK: Processes

    /// `netflags 127.0.0.1`, against `ip route get 127.0.0.1`.
    package static let cold = atMost(1.25)
    /// The same for an executable without shared libraries.
    package static let coldStatic = atMost(1)
    /// The peak memory of `netflags 127.0.0.1`, in megabytes.
    package static let coldMemory = atMost(5)
    /// `netflags -`, against `ip -force -batch`: half the time is twice the rate.
    package static let batch = atMost(0.5)
    /// `netflags --json -`, against `ip -force -batch`.
    package static let jsonBatch = atMost(0.67)
}
