// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import SystemSupport

/// The monitor's time: the system's, or one that a test moves.
package protocol MonitorClock: Sendable {
    /// The present.
    var now: MonitorInstant { get }
    /// How long the machine has slept since it started, if the clock knows.
    var timeAsleep: Duration { get }
    /// How long a thread has to wait for an instant; `nil` to wait until it is woken.
    func delay(until instant: MonitorInstant) -> Duration?
    /// Calls a closure whenever the clock is moved by hand.
    func onMove(_ wake: @escaping @Sendable () -> Void)
}

/// The system's clocks: CLOCK_MONOTONIC, and CLOCK_BOOTTIME for the time asleep.
struct SystemClock: MonitorClock {
    var now: MonitorInstant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MonitorInstant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    var timeAsleep: Duration {
        SleepWatch.systemTimeAsleep
    }

    func delay(until instant: MonitorInstant) -> Duration? {
        instant - now
    }

    func onMove(_ wake: @escaping @Sendable () -> Void) {
        // The system's clock is never moved by hand.
    }
}

/// The clock of one evaluation.
struct FixedClock: MonitorClock {
    let now: MonitorInstant
    var timeAsleep: Duration { .zero }

    func delay(until instant: MonitorInstant) -> Duration? { nil }

    func onMove(_ wake: @escaping @Sendable () -> Void) {}
}

/// A point in time on the monitor's clock, which stops while the machine sleeps.
package struct MonitorInstant: Hashable, Comparable, Sendable {
    /// Nanoseconds since a start that the clock chooses.
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// Whole milliseconds since that start.
    var milliseconds: Int { Int(nanoseconds / 1_000_000) }

    init(milliseconds: Int) {
        nanoseconds = Int64(milliseconds) * 1_000_000
    }

    static let distantPast = Self(nanoseconds: .min)
    static let distantFuture = Self(nanoseconds: .max)

    package static func < (left: Self, right: Self) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// The instant some time later, at most the last representable one.
    package static func + (instant: Self, duration: Duration) -> Self {
        let (sum, overflows) = instant.nanoseconds.addingReportingOverflow(Int64(duration.nanoseconds))
        return Self(nanoseconds: overflows ? .max : sum)
    }

    /// The time since an earlier instant; zero if that is not earlier.
    package static func - (later: Self, earlier: Self) -> Duration {
        // Compared first: the difference of the extreme instants overflows.
        guard later > earlier else { return .zero }
        let (difference, overflows) = later.nanoseconds.subtractingReportingOverflow(earlier.nanoseconds)
        return .nanoseconds(overflows ? .max : difference)
    }
}
