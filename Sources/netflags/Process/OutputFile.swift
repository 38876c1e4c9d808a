// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A file that is written as a whole or not at all.
///
/// The text goes to a new file of the same folder, which only its owner can read, and then takes the name. No link is
/// followed, and a reader sees the old file or the new one.
enum OutputFile {
    /// Writes a file, `-` to standard output.
    static func write(_ buffer: inout ByteBuffer, to path: String) throws(FileFailure) {
        guard path != "-" else {
            do throws(FileFailure) {
                return try Output.standard.write(&buffer)
            } catch {
                throw FileFailure("write stdout", error.number)
            }
        }
        try check(path)
        var name = Array("\(path).XXXXXX".utf8CString)
        let descriptor = mkstemp(&name)
        guard descriptor >= 0, fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else {
            throw FileFailure("write \(path)", errno)
        }
        var isInPlace = false
        defer {
            if !isInPlace { unlink(name) }
        }
        do throws(FileFailure) {
            try Output(descriptor: descriptor).write(&buffer)
        } catch {
            close(descriptor)
            throw FileFailure("write \(path)", error.number)
        }
        // Some file systems report a full disk only here.
        guard close(descriptor) == 0 || errno == EINTR, rename(name, path) == 0 else {
            throw FileFailure("write \(path)", errno)
        }
        isInPlace = true
    }

    /// Refuses what a rename would take the place of: a link, a device or a pipe.
    private static func check(_ path: String) throws(FileFailure) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return
        case S_IFLNK:
            throw FileFailure("write \(path)", "it is a symbolic link: give the file itself, or - for stdout")
        default:
            throw FileFailure("write \(path)", "it is not a regular file: give another name, or - for stdout")
        }
    }
}
