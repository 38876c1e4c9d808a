// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The locks that show readers whether a recorder is writing to a file, and whether the file contains everything that
/// the recorder received.
///
/// They are two fcntl(2) locks of the open file (F_OFD_SETLK), and end when the recorder releases them or is killed.
/// A reader tests the locks but never takes them, so it never blocks a recorder.
enum WriterLock {
    /// The state of the locks.
    struct State: Hashable, Sendable {
        /// Whether a recorder is writing to the file.
        var isTaken = false
        /// Whether the file contains all notifications that the recorder has received.
        ///
        /// During a dump, it does not.
        var isCurrent = false
    }

    /// Marks a file as being written, and as not containing everything yet.
    ///
    /// If the file system has no locks, readers treat the file as complete.
    static func lock(_ descriptor: Int32) {
        set(F_WRLCK, at: 0, of: descriptor)
    }

    /// Sets whether the file contains all notifications.
    static func setCurrent(_ isCurrent: Bool, _ descriptor: Int32) {
        set(isCurrent ? F_WRLCK : F_UNLCK, at: 1, of: descriptor)
    }

    /// Releases the locks and closes the file, if there is one.
    ///
    /// Closing the file is not enough: a child process that another thread has just started has the file open until
    /// it executes its program.
    static func end(closing descriptor: Int32) {
        guard descriptor >= 0 else { return }
        set(F_UNLCK, at: 0, length: 2, of: descriptor)
        close(descriptor)
    }

    /// The state of a file's locks.
    ///
    /// Closes the file. Without a file, no lock is held.
    static func state(closing descriptor: Int32?) -> State {
        guard let descriptor, descriptor >= 0 else { return State() }
        defer { close(descriptor) }
        return State(isTaken: isTaken(at: 0, of: descriptor), isCurrent: isTaken(at: 1, of: descriptor))
    }

    /// F_OFD_GETLK and F_OFD_SETLK of `fcntl.h`, which the Glibc module does not import.
    private static let (getLock, setLock): (Int32, Int32) = (36, 37)

    private static func set(_ type: Int32, at place: off_t, length: off_t = 1, of descriptor: Int32) {
        var lock = bytes(type, place, length)
        _ = fcntl(descriptor, setLock, &lock)
    }

    private static func isTaken(at place: off_t, of descriptor: Int32) -> Bool {
        var lock = bytes(F_RDLCK, place, 1)
        return fcntl(descriptor, getLock, &lock) == 0 && lock.l_type != Int16(F_UNLCK)
    }

    private static func bytes(_ type: Int32, _ place: off_t, _ length: off_t) -> flock {
        flock(l_type: Int16(type), l_whence: Int16(SEEK_SET), l_start: place, l_len: length, l_pid: 0)
    }
}
