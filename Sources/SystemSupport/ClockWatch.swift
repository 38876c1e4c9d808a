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
