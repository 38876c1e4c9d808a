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
