// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The identity of a network namespace.
///
/// The kernel's counterpart is the inode that `/proc/thread-self/ns/net` leads to.
package struct NetworkNamespace: Hashable, Sendable {
    /// The inode's number, as `lsns` and `ls -l /proc/self/ns/net` print it.
    package let inode: UInt64

    /// The calling thread's namespace; `nil` where `/proc` does not tell.
    package static var current: NetworkNamespace? {
        var status = stat()
        guard stat("/proc/thread-self/ns/net", &status) == 0 else { return nil }
        return NetworkNamespace(inode: UInt64(status.st_ino))
    }
}
