// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
package import RoutingModel

/// Wakes up a thread that waits for descriptors, from any other.
///
/// The kernel's counterpart is an eventfd.
package final class WakeUp: Sendable {
    /// Readable while a wake-up is pending.
    package let descriptor: Int32

    /// Opens one with no wake-up pending.
    package init() throws(RoutingFault) {
        descriptor = cnl_wake_open()
        guard descriptor >= 0 else {
            throw RoutingFault(operation: "open an eventfd", number: -descriptor)
        }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Makes the descriptor readable.
    package func signal() {
        cnl_wake_signal(descriptor)
    }

    /// Forgets the wake-ups so far.
    package func reset() {
        cnl_wake_reset(descriptor)
    }
}

/// Becomes readable when the machine wakes up from sleep, or its clock is set.
///
/// The kernel's counterpart is a timerfd with TFD_TIMER_CANCEL_ON_SET.
package final class ClockWatch: Sendable {
    /// Readable after a wake from sleep.
    package let descriptor: Int32

    /// Opens one; `nil` where a sandbox refuses.
    package init?() {
        descriptor = cnl_clock_watch_open()
        if descriptor < 0 { return nil }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Watches on.
    package func reset() {
        cnl_clock_watch_reset(descriptor)
    }
}
