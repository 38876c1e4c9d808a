// SPDX-License-Identifier: Apache-2.0

internal import CSystemSupport
internal import Glibc

/// Descriptors that one thread waits for, made known to the kernel once.
///
/// The kernel's counterpart is an epoll instance. A poll over the same descriptors would look at each of them
/// whenever one is ready.
package final class EpollSet: Sendable {
    /// The places of descriptors that can be read.
    ///
    /// No `OptionSet`, whose functions are generic: this lies between an event and whoever waits for it.
    package struct Ready: Sendable {
        fileprivate let bits: UInt32

        /// Whether the descriptor at a place can be read.
        package func contains(_ place: UInt32) -> Bool {
            bits >> place & 1 != 0
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
    ///   - descriptor: What becomes readable; it stays its owner's.
    ///   - place: A number from 0 to 31 that stands for it.
    /// - Returns: Whether the kernel took it.
    package func add(_ descriptor: Int32, as place: UInt32) -> Bool {
        csys_epoll_add(set, descriptor, place) == 0
    }

    /// Takes a descriptor out, before its owner closes it.
    package func remove(_ descriptor: Int32) {
        csys_epoll_remove(set, descriptor)
    }

    /// Waits until some can be read.
    ///
    /// - Parameter milliseconds: How long at the most; -1 for ever.
    /// - Returns: Those that can; none when time ran out.
    package func wait(milliseconds: Int32) -> Ready {
        Ready(bits: csys_epoll_wait(set, milliseconds))
    }
}
