// SPDX-License-Identifier: Apache-2.0

internal import CSystemSupport
package import Glibc

/// Waits for descriptors with poll(2); if a sandbox refuses the call, pauses, so that a loop does not spin.
///
/// - Parameters:
///   - entries: The descriptors; negative ones are ignored.
///   - milliseconds: The longest time to wait; -1 for no limit.
/// - Returns: The number of ready descriptors; 0 after a time-out or a signal, -1 after a refusal.
package func waitForDescriptors(_ entries: inout [pollfd], milliseconds: Int32) -> Int {
    let count = poll(&entries, nfds_t(entries.count), milliseconds)
    guard count < 0 else { return Int(count) }
    let isRefused = errno != EINTR
    for index in entries.indices { entries[index].revents = 0 }
    if isRefused { usleep(100_000) }
    return isRefused ? -1 : 0
}

/// Waits for one descriptor.
///
/// - Returns: Whether it is ready.
@discardableResult
package func waitForDescriptor(_ descriptor: Int32, _ events: Int32, atMost limit: Duration) -> Bool {
    var entries = [pollfd(fd: descriptor, events: Int16(truncatingIfNeeded: events), revents: 0)]
    return waitForDescriptors(&entries, milliseconds: limit.milliseconds) > 0
}

/// Wakes a thread that waits for descriptors.
///
/// The kernel's counterpart is an eventfd.
package final class EventFD: Sendable {
    /// Readable while a signal is pending.
    package let descriptor: Int32

    /// Opens an eventfd without a pending signal.
    package init() throws(SystemCallError) {
        descriptor = csys_eventfd_open()
        guard descriptor >= 0 else {
            throw SystemCallError(operation: "open an eventfd", number: -descriptor)
        }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Makes the descriptor readable, from any thread.
    package func signal() {
        csys_eventfd_signal(descriptor)
    }

    /// Clears the pending signals.
    package func reset() {
        csys_eventfd_reset(descriptor)
    }
}

/// Detects that the machine has slept.
///
/// The kernel's counterpart is a timerfd with TFD_TIMER_CANCEL_ON_SET.
package final class SleepWatch: Sendable {
    /// Becomes readable when the machine resumes from sleep, or its clock is set.
    package let descriptor: Int32
    /// Returns how long the machine has slept since it started.
    package let timeAsleep: @Sendable () -> Duration

    /// Creates a watch from its parts, which closes the descriptor at its end.
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

extension Duration {
    /// Whole nanoseconds, at least 0; at most `Int.max`, about three centuries.
    package var nanoseconds: Int {
        // Up to nine seconds, no 128-bit division is needed.
        if let attoseconds = Int64(exactly: attoseconds) { return Int(max(attoseconds / 1_000_000_000, 0)) }
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (whole, isTooLong) = Int(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        guard !isTooLong else { return .max }
        let (sum, isTooLongNow) = whole.addingReportingOverflow(Int(attoseconds / 1_000_000_000))
        return isTooLongNow ? .max : sum
    }

    /// Whole milliseconds, rounded up, that poll(2) can wait.
    package var milliseconds: Int32 {
        let (sum, isTooLong) = nanoseconds.addingReportingOverflow(999_999)
        return Int32(clamping: (isTooLong ? .max : sum) / 1_000_000)
    }
}
