// SPDX-License-Identifier: Apache-2.0

internal import CSystemSupport
internal import Glibc

/// Becomes readable when the machine wakes up from sleep, or its clock is set.
///
/// The kernel's counterpart is a timerfd with TFD_TIMER_CANCEL_ON_SET.
package final class ClockWatch: Sendable {
    /// Readable after a wake from sleep.
    package let descriptor: Int32

    /// Opens one; `nil` where a sandbox refuses.
    package init?() {
        descriptor = csys_clock_watch_open()
        if descriptor < 0 { return nil }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Watches on.
    package func reset() {
        csys_clock_watch_reset(descriptor)
    }
}
