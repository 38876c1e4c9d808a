// SPDX-License-Identifier: Apache-2.0

import Glibc
import SystemSupport

/// A file that is written as a whole or not at all.
///
/// The text goes to a new file of the same folder, which only its owner can read, and then takes the name. No link of
/// that name is followed, and a reader sees the old file or the new one. The folder is that of ``FilePlace``, also if
/// a folder above is renamed meanwhile.
enum OutputFile {
    /// Writes a file, `-` to standard output.
    ///
    /// - Parameters:
    ///   - buffer: The text.
    ///   - path: The file.
    ///   - beginning: How a file begins that may be replaced, beside an empty one; empty for any.
    /// - Throws: A ``FileFailure`` when it cannot be written, or would replace a file of another kind.
    static func write(
        _ buffer: inout ByteBuffer, to path: String, replacing beginning: String = ""
    ) throws(FileFailure) {
        guard path != "-" else { return try Output.standard.write(&buffer) }
        // A file that reaches its largest size fails the write instead, and the new file goes.
        signal(SIGXFSZ, SIG_IGN)
        let place = try place(of: path, "write")
        guard place.begins(with: beginning) else {
            throw FileFailure("write \(path)", "a file of another kind has this name: give another name")
        }
        let (descriptor, name) = try create(beside: place, path)
        var (isOpen, isInPlace) = (true, false)
        defer {
            if isOpen { close(descriptor) }
            if !isInPlace { unlinkat(place.folder, name.fileName, 0) }
        }
        try Output(descriptor: descriptor, name: path).write(&buffer)
        // After a power cut, the name stands for the old file or the new one. A file system without it is no error.
        _ = fsync(descriptor)
        isOpen = false
        // Some file systems report a full disk only here.
        guard close(descriptor) == 0 || errno == EINTR,
            renameat(place.folder, name.fileName, place.folder, place.name.fileName) == 0
        else { throw FileFailure("write \(path)", errno) }
        isInPlace = true
    }

    /// Reads a file that ``write(_:to:)`` writes; `nil` where there is none.
    ///
    /// No link is followed. Where other users can put something in the place of the file, it is this user's.
    static func read(_ path: String) throws(FileFailure) -> [UInt8]? {
        let place = try place(of: path, "read")
        let descriptor = openat(
            place.folder, place.name.fileName, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        if descriptor < 0, errno == ENOENT { return nil }
        defer { if descriptor >= 0 { close(descriptor) } }
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
            throw FileFailure("read \(path)", errno)
        }
        guard !place.isShared || status.st_uid == geteuid() else { throw FileFailure("read \(path)", EPERM) }
        let limit = 16 << 20
        let (bytes, number) = FileBytes.read(descriptor, upTo: limit + 1)
        guard number == 0, bytes.count <= limit else {
            throw FileFailure("read \(path)", number == 0 ? EFBIG : number)
        }
        return bytes
    }

    /// The place of a file.
    ///
    /// Refuses what a rename would take the place of: a link, a device or a pipe.
    private static func place(of path: String, _ verb: String) throws(FileFailure) -> FilePlace {
        let place: FilePlace
        do throws(SystemCallError) {
            place = try FilePlace(path, followsLast: false)
        } catch {
            throw FileFailure("\(verb) \(path)", error.number)
        }
        var status = stat()
        guard fstatat(place.folder, place.name.fileName, &status, AT_SYMLINK_NOFOLLOW) == 0,
            case let type = status.st_mode & S_IFMT, type != S_IFREG
        else { return place }
        let kind =
            type == S_IFLNK
            ? "a symbolic link: give the file itself" : "not a regular file: give another name"
        throw FileFailure("\(verb) \(path)", "it is \(kind)\(verb == "write" ? ", or - for stdout" : "")")
    }

    /// Creates a file with a name of its own in the folder of another.
    private static func create(
        beside place: FilePlace, _ path: String
    ) throws(FileFailure) -> (descriptor: Int32, name: String) {
        var name = ""
        var descriptor: Int32 = -1
        repeat {
            name = "\(place.name).\(String(UInt32.random(in: .min ... .max), radix: 36))"
            descriptor = openat(place.folder, name.fileName, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        } while descriptor < 0 && errno == EEXIST
        guard descriptor >= 0 else { throw FileFailure("write \(path)", errno) }
        return (descriptor, name)
    }
}

extension FilePlace {
    /// Whether a file begins with a text; `true` for one that is empty, not there or not readable.
    fileprivate func begins(with text: String) -> Bool {
        let descriptor = openat(folder, name.fileName, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return true }
        defer { close(descriptor) }
        let (bytes, _) = FileBytes.read(descriptor, upTo: text.utf8.count)
        return bytes.isEmpty || bytes.elementsEqual(text.utf8)
    }
}
