// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The time that the monitor goes by: the system's, or one that is moved by hand.
package protocol MonitorClock: Sendable {
    /// The present.
    var now: MonitorInstant { get }
    /// How long the machine has slept since it started, as far as that is known.
    var timeAsleep: Duration { get }
    /// How long a thread has to wait for an instant; `nil` when it is to wait until it is woken up.
    func delay(until instant: MonitorInstant) -> Duration?
    /// Has something called whenever the clock is moved by hand.
    func onMove(_ wake: @escaping @Sendable () -> Void)
    /// Waits on this clock; ends with the task's cancellation.
    func sleep(for duration: Duration) async throws
}

extension MonitorClock {
    /// Waits on the system's clock.
    package func sleep(for duration: Duration) async throws {
        try await Task.sleep(for: duration)
    }
}

/// The system's clocks: CLOCK_MONOTONIC, and CLOCK_BOOTTIME for the time asleep.
struct SystemClock: MonitorClock {
    var now: MonitorInstant {
        MonitorInstant(nanoseconds: Self.read(CLOCK_MONOTONIC))
    }

    var timeAsleep: Duration {
        .nanoseconds(Self.read(CLOCK_BOOTTIME) - Self.read(CLOCK_MONOTONIC))
    }

    func delay(until instant: MonitorInstant) -> Duration? {
        instant - now
    }

    func onMove(_ wake: @escaping @Sendable () -> Void) {
        // Nobody moves it.
    }

    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
