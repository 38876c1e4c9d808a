// SPDX-License-Identifier: Apache-2.0

internal import CSystemSupport
internal import Glibc

/// Wakes up a thread that waits for descriptors, from any other.
///
/// The kernel's counterpart is an eventfd.
package final class EventFD: Sendable {
    /// Readable while a wake-up is pending.
    package let descriptor: Int32

    /// Opens one with no wake-up pending.
    package init() throws(SystemCallError) {
        descriptor = csys_eventfd_open()
        guard descriptor >= 0 else {
            throw SystemCallError(operation: "open an eventfd", number: -descriptor)
        }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Makes the descriptor readable.
    package func signal() {
        csys_eventfd_signal(descriptor)
    }

    /// Forgets the wake-ups so far.
    package func reset() {
        csys_eventfd_reset(descriptor)
    }
}
