// SPDX-License-Identifier: Apache-2.0

internal import CSystemSupport
internal import Glibc

/// A set of descriptors that one thread waits for.
///
/// The kernel's counterpart is an epoll instance. Unlike poll(2), a wait does not scan all descriptors.
package final class EpollSet: Sendable {
    /// The tokens of the descriptors that can be read.
    ///
    /// Not an `OptionSet`, whose generic functions would slow down the delivery of events.
    package struct Ready: Sendable {
        fileprivate let bits: UInt32

        /// Whether the descriptor with a token can be read.
        package func contains(_ token: UInt32) -> Bool {
            bits >> token & 1 != 0
        }
    }

    private let set: Int32

    /// Opens a set without descriptors.
    package init() throws(SystemCallError) {
        set = csys_epoll_open()
        guard set >= 0 else { throw SystemCallError(operation: "open an epoll instance", number: -set) }
    }

    deinit {
        if set >= 0 { close(set) }
    }

    /// Adds a descriptor.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor, which the caller keeps open and closes.
    ///   - token: A number from 0 to 31 that identifies it.
    /// - Returns: Whether the kernel accepted it.
    package func add(_ descriptor: Int32, as token: UInt32) -> Bool {
        csys_epoll_add(set, descriptor, token) == 0
    }

    /// Adds a descriptor whose changes are exceptional conditions (EPOLLPRI), as those of `/proc/self/mountinfo` are.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor, which the caller keeps open and closes.
    ///   - token: A number from 0 to 31 that identifies it; several descriptors can have the same.
    /// - Returns: Whether the kernel accepted it.
    package func add(changesOf descriptor: Int32, as token: UInt32) -> Bool {
        csys_epoll_add_priority(set, descriptor, token) == 0
    }

    /// Removes a descriptor; call this before closing it.
    package func remove(_ descriptor: Int32) {
        csys_epoll_remove(set, descriptor)
    }

    /// Waits until a descriptor can be read.
    ///
    /// - Parameter milliseconds: The longest time to wait; -1 for no limit.
    /// - Returns: The descriptors that can be read; none after a time-out.
    package func wait(milliseconds: Int32) -> Ready {
        Ready(bits: csys_epoll_wait(set, milliseconds))
    }
}
