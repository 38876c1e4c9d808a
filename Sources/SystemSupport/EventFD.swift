// SPDX-License-Identifier: Apache-2.0

internal import CSystemSupport
internal import Glibc

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
