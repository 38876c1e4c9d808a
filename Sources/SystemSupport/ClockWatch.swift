// SPDX-License-Identifier: Apache-2.0

internal import CSystemSupport
internal import Glibc

/// A descriptor that becomes readable when the machine resumes from sleep, or its clock is set.
///
/// The kernel's counterpart is a timerfd with TFD_TIMER_CANCEL_ON_SET.
package final class ClockWatch: Sendable {
    /// The descriptor.
    package let descriptor: Int32

    /// Opens a clock watch; `nil` if the kernel refuses.
    package init?() {
        descriptor = csys_clock_watch_open()
        if descriptor < 0 { return nil }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Makes the descriptor unreadable until the next change.
    package func reset() {
        csys_clock_watch_reset(descriptor)
    }
}

/// How the machine's sleep is noticed.
package struct SleepWatch: Sendable {
    /// Becomes readable when the machine resumes from sleep, or its clock is set.
    package let descriptor: Int32
    /// Makes the descriptor unreadable until the next time.
    package let reset: @Sendable () -> Void
    /// How long the machine has slept since it started.
    package let timeAsleep: @Sendable () -> Duration

    /// Creates a watch from its parts.
    package init(
        descriptor: Int32,
        reset: @escaping @Sendable () -> Void,
        timeAsleep: @escaping @Sendable () -> Duration
    ) {
        self.descriptor = descriptor
        self.reset = reset
        self.timeAsleep = timeAsleep
    }

    /// The system's; `nil` if the kernel refuses.
    package static var system: SleepWatch? {
        guard let watch = ClockWatch() else { return nil }
        return SleepWatch(
            descriptor: watch.descriptor, reset: { watch.reset() }, timeAsleep: { Self.systemTimeAsleep })
    }

    /// The difference of CLOCK_BOOTTIME and CLOCK_MONOTONIC.
    package static var systemTimeAsleep: Duration {
        var (boot, monotonic) = (timespec(), timespec())
        clock_gettime(CLOCK_BOOTTIME, &boot)
        clock_gettime(CLOCK_MONOTONIC, &monotonic)
        return .seconds(boot.tv_sec - monotonic.tv_sec) + .nanoseconds(boot.tv_nsec - monotonic.tv_nsec)
    }
}
