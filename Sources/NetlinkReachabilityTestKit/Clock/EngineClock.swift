// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability

/// A manual clock as the monitor reads it.
struct EngineClock: MonitorClock {
    let clock: ManualClock

    var now: MonitorInstant { MonitorInstant(clock.now) }

    var timeAsleep: Duration { clock.timeAsleep }

    /// What is not due is waited for until somebody moves the clock.
    func delay(until instant: MonitorInstant) -> Duration? {
        instant <= now ? .zero : nil
    }

    func onMove(_ wake: @escaping @Sendable () -> Void) {
        clock.onMove(wake)
    }

    func sleep(for duration: Duration) async throws {
        try await clock.sleep(for: duration)
    }
}

extension MonitorInstant {
    init(_ instant: ManualClock.Instant) {
        self.init(nanoseconds: Int64(instant.offset.nanoseconds))
    }
}

extension ManualClock.Instant {
    init(_ instant: MonitorInstant) {
        self.init(offset: .nanoseconds(instant.nanoseconds))
    }
}
