// SPDX-License-Identifier: Apache-2.0

internal import CSystemSupport
internal import Glibc

/// Notices that the machine has slept.
///
/// The kernel's counterpart is a timerfd with TFD_TIMER_CANCEL_ON_SET.
package final class SleepWatch: Sendable {
    /// Becomes readable when the machine resumes from sleep, or its clock is set.
    package let descriptor: Int32
    /// Returns how long the machine has slept since it started.
    package let timeAsleep: @Sendable () -> Duration

    /// Creates a watch from its parts, and closes the descriptor at its end.
    package init(descriptor: Int32, timeAsleep: @escaping @Sendable () -> Duration) {
        self.descriptor = descriptor
        self.timeAsleep = timeAsleep
    }

    /// Opens a watch of the system's clocks; `nil` if the kernel refuses.
    package convenience init?() {
        let descriptor = csys_clock_watch_open()
        if descriptor < 0 { return nil }
        self.init(descriptor: descriptor) { Self.systemTimeAsleep }
    }

    deinit {
        close(descriptor)
    }

    /// Makes the descriptor unreadable until the next change.
    package func reset() {
        csys_clock_watch_reset(descriptor)
    }

    /// The difference of CLOCK_BOOTTIME and CLOCK_MONOTONIC.
    package static var systemTimeAsleep: Duration {
        var (boot, monotonic) = (timespec(), timespec())
        clock_gettime(CLOCK_BOOTTIME, &boot)
        clock_gettime(CLOCK_MONOTONIC, &monotonic)
        return .seconds(boot.tv_sec - monotonic.tv_sec) + .nanoseconds(boot.tv_nsec - monotonic.tv_nsec)
    }
}
