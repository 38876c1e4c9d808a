// SPDX-License-Identifier: Apache-2.0

import Glibc
import SystemSupport

/// A file that is written completely or not at all.
///
/// The text is written to a new file in the same folder, which only its owner can read. The new file is then renamed. A
/// symbolic link of that name is not followed, and a reader sees the old file or the new file. The folder is that of
/// ``FilePlace``, also if a folder above it is renamed meanwhile.
enum OutputFile {
    /// Writes a file; the path `-` is standard output.
    ///
    /// - Parameters:
    ///   - buffer: The text.
    ///   - path: The file.
    ///   - beginning: The text with which a file must begin to be replaced, unless it is empty; empty replaces any
    ///     file.
    /// - Throws: A ``FileFailure`` if the file cannot be written, or a file of another kind has its name.
    static func write(
        _ buffer: inout ByteBuffer, to path: String, replacing beginning: String = ""
    ) throws(FileFailure) {
        guard path != "-" else { return try Output.standard.write(&buffer) }
        // Without the signal, a file that would exceed the size limit fails the write, and the new file is removed.
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
        // After a power failure, the name refers to the old file or the new file. A file system without fsync is no
        // error.
        _ = fsync(descriptor)
        isOpen = false
        // Some file systems report a full disk only here.
        guard close(descriptor) == 0 || errno == EINTR,
            renameat(place.folder, name.fileName, place.folder, place.name.fileName) == 0
        else { throw FileFailure("write \(path)", errno) }
        isInPlace = true
    }

    /// Reads a file that ``write(_:to:)`` writes; `nil` if there is no file.
    ///
    /// No link is followed. If other users can replace the file, the file must belong to this user.
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

    /// The folder and the name of a file.
    ///
    /// Throws for a file that a rename would wrongly replace: a link, a device or a pipe.
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

    /// Creates a file with a unique name in the folder of another file.
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
    /// Whether a file begins with a text; `true` if the file is empty, missing or not readable.
    fileprivate func begins(with text: String) -> Bool {
        let descriptor = openat(folder, name.fileName, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return true }
        defer { close(descriptor) }
        let (bytes, _) = FileBytes.read(descriptor, upTo: text.utf8.count)
        return bytes.isEmpty || bytes.elementsEqual(text.utf8)
    }
}
