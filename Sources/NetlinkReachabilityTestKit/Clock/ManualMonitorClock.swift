// SPDX-License-Identifier: Apache-2.0

package import NetlinkReachability
internal import SystemSupport

/// A manual clock as the clock of a monitor.
package struct ManualMonitorClock: MonitorClock {
    private let clock: ManualClock

    /// Adapts a clock.
    package init(_ clock: ManualClock) {
        self.clock = clock
    }

    package var now: MonitorInstant {
        MonitorInstant(nanoseconds: Int64(clock.now.offset.nanoseconds))
    }

    package var timeAsleep: Duration { clock.timeAsleep }

    /// Returns `nil` for a future instant: the monitor waits until the clock moves.
    package func delay(until instant: MonitorInstant) -> Duration? {
        instant <= now ? .zero : nil
    }

    package func onMove(_ wake: @escaping @Sendable () -> Void) {
        clock.onMove(wake)
    }
}
