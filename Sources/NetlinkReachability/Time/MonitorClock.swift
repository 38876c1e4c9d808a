// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import SystemSupport

/// The monitor's clock: the system's clock, or a clock that a test moves.
package protocol MonitorClock: Sendable {
    /// The present instant.
    var now: MonitorInstant { get }
    /// How long the machine has slept since it started; zero if the clock does not know.
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

/// A clock that stands still at the instant of one evaluation.
struct FixedClock: MonitorClock {
    let now: MonitorInstant
    var timeAsleep: Duration { .zero }

    func delay(until instant: MonitorInstant) -> Duration? { nil }

    func onMove(_ wake: @escaping @Sendable () -> Void) {}
}

/// An instant on the monitor's clock, which stops while the machine sleeps.
package struct MonitorInstant: Hashable, Comparable, Sendable {
    /// Nanoseconds since a start of the clock's choice.
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// Whole milliseconds since the same start.
    var milliseconds: Int { Int(nanoseconds / 1_000_000) }

    init(milliseconds: Int) {
        nanoseconds = Int64(milliseconds) * 1_000_000
    }

    static let distantPast = Self(nanoseconds: .min)
    static let distantFuture = Self(nanoseconds: .max)

    package static func < (left: Self, right: Self) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// The instant after a duration, at most the last representable instant.
    package static func + (instant: Self, duration: Duration) -> Self {
        let (sum, overflows) = instant.nanoseconds.addingReportingOverflow(Int64(duration.nanoseconds))
        return Self(nanoseconds: overflows ? .max : sum)
    }

    /// The time since an earlier instant; zero if that instant is not earlier.
    package static func - (later: Self, earlier: Self) -> Duration {
        // Compared first, because the difference of extreme instants overflows.
        guard later > earlier else { return .zero }
        let (difference, overflows) = later.nanoseconds.subtractingReportingOverflow(earlier.nanoseconds)
        return .nanoseconds(overflows ? .max : difference)
    }
}
