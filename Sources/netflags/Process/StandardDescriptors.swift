// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The descriptors 0, 1 and 2.
enum StandardDescriptors {
    /// Occupies each of the three that is closed.
    ///
    /// Otherwise the next socket would get its number, and the answers would be written into that socket. The
    /// placeholder is opened with O_PATH: reading and writing it fail with EBADF, as with a closed descriptor.
    ///
    /// Call this before anything else opens a descriptor.
    static func occupyClosed() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest free number is the one that is closed.
            _ = open("/", pathOnly)
        }
    }

    /// Whether a descriptor was closed when the process started.
    static func wasClosed(_ descriptor: Int32) -> Bool {
        let flags = fcntl(descriptor, F_GETFL)
        return flags < 0 || flags & pathOnly != 0
    }

    /// O_PATH of `fcntl.h`, which the Glibc module does not import.
    private static let pathOnly: Int32 = 0o10000000
}
