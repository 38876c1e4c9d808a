// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// One of the two that a ``Duel`` compares.
package struct Side {
    package let name: String
    /// Does the work a number of times and returns the nanoseconds that all of it took.
    package let nanoseconds: (_ count: Int) throws -> Double

    /// A side whose work is timed from outside.
    package init(_ name: String, _ work: @escaping (_ count: Int) throws -> Void) {
        self.name = name
        nanoseconds = { count in
            let began = Self.now()
            try work(count)
            return Double(Self.now() - began)
        }
    }

    /// A side that has a clock of its own.
    package init(selfTimed name: String, nanoseconds: @escaping (_ count: Int) throws -> Double) {
        self.name = name
        self.nanoseconds = nanoseconds
    }

    /// The median of several batches, in nanoseconds for one piece of work; a first one is not counted.
    package func median(of rounds: Int, batches count: Int) throws -> Double {
        _ = try nanoseconds(count)
        let times = try (0..<rounds).map { _ in try nanoseconds(count) / Double(count) }.sorted()
        return times[rounds / 2]
    }

    /// Nanoseconds of the monotonic clock.
    private static func now() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}
