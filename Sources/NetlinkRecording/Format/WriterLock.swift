// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The lock by which readers see that a recorder writes to a file.
///
/// It is one of fcntl(2) for the open file (F_OFD_SETLK), and ends when the recorder closes the file or is killed. A
/// reader tests it and takes none, so that it never keeps a recorder from its file.
enum WriterLock {
    /// Locks a file that is open for writing.
    ///
    /// Where the file system has no locks, readers take the file for one that is complete.
    static func take(_ descriptor: Int32) {
        var lock = whole(F_WRLCK)
        _ = fcntl(descriptor, setLock, &lock)
    }

    /// Whether a recorder has locked the file.
    static func isTaken(_ descriptor: Int32) -> Bool {
        var lock = whole(F_RDLCK)
        return fcntl(descriptor, getLock, &lock) == 0 && lock.l_type != Int16(F_UNLCK)
    }

    /// F_OFD_GETLK and F_OFD_SETLK of `fcntl.h`, which the Glibc module does not import.
    private static let (getLock, setLock): (Int32, Int32) = (36, 37)

    private static func whole(_ type: Int32) -> flock {
        flock(l_type: Int16(type), l_whence: Int16(SEEK_SET), l_start: 0, l_len: 0, l_pid: 0)
    }
}
