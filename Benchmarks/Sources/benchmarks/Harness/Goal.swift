// SPDX-License-Identifier: Apache-2.0

/// The most, or the least, that a row is meant to come to.
struct Goal {
    /// The comparison, as text: `<=` or `>=`.
    let bound: String
    let number: Double

    private static func atMost(_ number: Double) -> Goal { Goal(bound: "<=", number: number) }

    private static func atLeast(_ number: Double) -> Goal { Goal(bound: ">=", number: number) }

    func isReached(by number: Double) -> Bool {
        bound == "<=" ? number <= self.number : number >= self.number
    }
}

/// All goals in one place. A new row adds its goal here and names it in its ``Duel`` or ``Row``.
extension Goal {
    // MARK: Library calls

    /// `flags()`, against the round trip in C with the same two queries.
    static let flags = atMost(1.4)
    /// `report()`, against two round trips and one query about a link.
    static let report = atMost(1.1)
    /// `flags(of:)`, against the pipelined loop of the same width in C.
    static let manyFlags = atMost(1.5)

    /// `ordered(_:)` of 64 addresses, against the same two queries about each in C.
    static let ordered = atMost(1.6)

    // MARK: The monitor

    /// Event to callback on a dispatch queue, against a loop in C that calls on a dispatch queue.
    static let callbackOnQueue = atMost(1.5)
    /// The same for a connection, against four queries in one send.
    static let connectionCallback = atMost(1.8)
    /// The memory of each of 100,000 started handles, in bytes.
    static let handleMemory = atMost(1_024)
    /// A change that touches 100,000 handles, against the same queries pipelined in C.
    static let burst = atMost(2.5)

    // MARK: Snapshots and replays

    /// Lookups of random addresses, against the kernel's.
    static let lookup = atMost(0.15)
    /// The memory that a snapshot keeps for a route, in bytes.
    static let routeMemory = atMost(64)
    /// A snapshot loaded from the kernel, against the bare dump in C.
    static let load = atMost(1.8)
    /// A recording loaded as `--replay` does, against the bare dump in C.
    static let replayLoad = atMost(0.9)
    /// A change of a link predicted for 1,000 targets, against the loading of the recording.
    static let prediction = atMost(2)
    /// The events that a replay reads in a second of a processor.
    static let replayRate = atLeast(500_000)

    // MARK: Processes

    /// `netflags 127.0.0.1`, against `ip route get 127.0.0.1`.
    static let cold = atMost(3)
    /// `netflags -` and `netflags --json -`, against `ip -force -batch` with the same two lookups.
    static let batch = atMost(0.8)
    /// `netflags sockets`, against `ss -tunH`.
    static let sockets = atMost(3)
}
