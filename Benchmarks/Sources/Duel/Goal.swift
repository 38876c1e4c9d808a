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
    package static let flags = atMost(1.35)
    /// `report()`, against two round trips and one question about a link.
    package static let report = atMost(1.1)
    /// `flags(of:)`, against the pipelined loop of the same width in C.
    package static let manyFlags = atMost(1.5)

    // MARK: The monitor

    /// Event to callback on a dispatch queue, against a loop in C that calls on a dispatch queue.
    package static let callbackOnQueue = atMost(1.3)
    /// The memory of each of 100,000 started handles, in bytes.
    package static let handleMemory = atMost(1_024)
    /// A change that touches 100,000 handles, against the same questions pipelined in C.
    package static let burst = atMost(2.5)

    // MARK: Snapshots and replays

    /// Lookups of random addresses, against the kernel's.
    package static let lookup = atMost(0.1)
    /// The memory that a snapshot keeps for a route, in bytes.
    package static let routeMemory = atMost(64)
    /// A snapshot loaded from the kernel, against the bare dump in C.
    package static let load = atMost(1.8)
    /// A recording loaded as `--replay` does, against the bare dump in C.
    package static let replayLoad = atMost(0.8)
    /// The events that a replay reads in a second of a processor.
    package static let replayRate = atLeast(500_000)

    // MARK: Processes

    /// `netflags 127.0.0.1`, against `ip route get 127.0.0.1`.
    package static let cold = atMost(2)
    /// `netflags -`, against `ip -force -batch`.
    package static let batch = atMost(0.8)
    /// `netflags --json -`, against `ip -force -batch`.
    package static let jsonBatch = atMost(0.8)
}
