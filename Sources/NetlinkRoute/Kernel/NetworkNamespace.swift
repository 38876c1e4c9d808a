// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The identity of a network namespace.
///
/// It is the inode of `/proc/thread-self/ns/net`.
package struct NetworkNamespace: Hashable, Sendable {
    /// The inode number that `lsns` and `ls -l /proc/self/ns/net` print.
    package let inode: UInt64

    /// The calling thread's namespace; `nil` when `/proc` cannot be read.
    package static var current: NetworkNamespace? {
        at("/proc/thread-self/ns/net")
    }

    /// The namespace of a process; `nil` when it cannot be read.
    package static func of(process: Int32) -> NetworkNamespace? {
        at("/proc/\(process)/ns/net")
    }

    private static func at(_ path: String) -> NetworkNamespace? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return NetworkNamespace(inode: UInt64(status.st_ino))
    }
}
