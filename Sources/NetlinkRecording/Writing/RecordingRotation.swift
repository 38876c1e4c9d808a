// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import SystemSupport

/// Writes the files of a ``RecordingDirectory``, and deletes the oldest so that their total size stays within a
/// limit.
///
/// Each file begins with a dump. A completed file is synced to the disk before the next one is created. After an error,
/// ``isOpen`` is false, and ``reopen()`` starts again.
///
/// Others may also write to the directory. A file is created only if its name is unused, and no symbolic link is
/// followed. Only files that this user owns, that have no other name and that begin like a recorder's file are
/// counted and deleted.
package struct RecordingRotation: ~Copyable {
    /// A file of this recorder, or of an earlier one.
    private struct File {
        let number: UInt64
        let device: dev_t
        let inode: ino_t
        var length: UInt64
        /// The size of the file on the disk, in whole blocks.
        var size: UInt64 { length.addingClamped(4_095) & ~4_095 }
    }

    /// How long a written notification can be missing on the disk after a power cut.
    private static let syncDelay = Duration.seconds(2)
    /// The number of names in use that are skipped.
    private static let trials = 1_000
    /// The number of parts into which the limit is divided, if a dump is at most half of a part.
    private static let parts: UInt64 = 8

    package let path: String
    let limit: UInt64
    private var directory: Int32 = -1
    /// The files, oldest first.
    ///
    /// The last one is being written while ``isOpen``.
    private var files: [File] = []
    private var descriptor: Int32 = -1
    private var dumpSize: UInt64 = 0
    /// Whether the recording is ending.
    ///
    /// A dump may then no longer evict earlier changes.
    var isEnding = false
    /// Called with ``RecordingError/Reason/dumpTooLarge(bytes:)`` if the limit is too small for this host, and again
    /// when the needed limit has changed by a MiB.
    private let warn: (RecordingError) -> Void
    /// The limit of the last warning, in bytes.
    private var warnedLimit: UInt64 = 0
    package private(set) var byteCount: UInt64 = 0
    /// When the file has to be synced to the disk; `nil` if it is synced.
    package private(set) var syncDue: ContinuousClock.Instant?

    /// Opens or creates a directory, and locks it for this recorder.
    ///
    /// - Parameters:
    ///   - path: The directory.
    ///   - limit: The most bytes of all files together.
    ///   - warn: Called if the limit is too small for this host. The recording continues as long as there is space.
    /// - Throws: An error if the directory cannot be opened, or belongs to another recorder.
    package init(
        path: String, limit: UInt64, warn: @escaping (RecordingError) -> Void = { _ in }
    ) throws(RecordingError) {
        // With a final slash, a symbolic link would be followed.
        let end = path.lastIndex { $0 != "/" }
        self.path = end.map { String(path[...$0]) } ?? path
        self.limit = limit
        self.warn = warn
        try open()
    }

    deinit {
        WriterLock.end(closing: descriptor)
        Self.leave(directory)
    }

    /// Whether a file is being written.
    package var isOpen: Bool { descriptor >= 0 }

    /// Whether the file is long enough that the next one can begin, and the next dump fits into the limit.
    var isFull: Bool {
        isOpen && dumpSize <= largestDump && (files.last?.length ?? 0) >= fileLimit
    }

    /// The length from which on a file is full: a part of the limit, and enough for two dumps.
    ///
    /// If the limit is too small for three dumps, the file grows until the next dump just fits. If it is too small
    /// for two dumps, the file grows until the limit is nearly reached, because the next dump deletes the file.
    private var fileLimit: UInt64 {
        guard neededLimit > limit else { return min(max(limit / Self.parts, dumpSize * 2), limit / 2) }
        return limit - (dumpSize <= limit / 2 - limit / Self.parts ? dumpSize : 0) - limit / (Self.parts * 2)
    }

    /// Space for a file, the previous file, and the dump of the next one.
    private var neededLimit: UInt64 { dumpSize * 3 }

    /// The largest dump that leaves a part of the limit for changes.
    private var largestDump: UInt64 { limit - limit / Self.parts }

    /// Whether the next file can begin with a dump.
    ///
    /// Warns if the limit is too small for this host.
    mutating func hasRoom(for snapshot: RecordedSnapshot) -> Bool {
        measure(UInt64(snapshot.bytes.count))
        return dumpSize <= largestDump
    }

    private mutating func measure(_ size: UInt64) {
        dumpSize = size
        let distance = max(neededLimit, warnedLimit) - min(neededLimit, warnedLimit)
        guard neededLimit > limit, warnedLimit == 0 || distance >= 1 << 20 else { return }
        warnedLimit = neededLimit
        warn(error(.dumpTooLarge(bytes: neededLimit)))
    }

    // MARK: The directory

    private mutating func open() throws(RecordingError) {
        let place: FilePlace
        do throws(SystemCallError) {
            place = try FilePlace(path, followsLast: false)
        } catch let cause {
            throw error(.uncreatable(cause.number))
        }
        if mkdirat(place.folder, place.name.fileName, 0o700) != 0, errno != EEXIST {
            throw error(.uncreatable(errno))
        }
        directory = openat(place.folder, place.name.fileName, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
        // With O_NOFOLLOW, a symbolic link is not a directory.
        guard directory >= 0 else { throw error(.uncreatable(errno == ELOOP ? ENOTDIR : errno)) }
        guard flock(directory, LOCK_EX | LOCK_NB) == 0 else {
            throw error(errno == EWOULDBLOCK ? .inUse : .uncreatable(errno))
        }
        guard let numbers = RecordingDirectory.numbers(in: directory) else {
            throw error(.uncreatable(errno))
        }
        files = numbers.compactMap { own($0) }
    }

    /// Opens or creates the directory again after an error.
    mutating func reopen() throws(RecordingError) {
        abandon()
        Self.leave(directory)
        directory = -1
        try open()
    }

    /// Closes the directory.
    ///
    /// It is then free for another recorder, even if a child process still has it open.
    private static func leave(_ directory: Int32) {
        guard directory >= 0 else { return }
        flock(directory, LOCK_UN)
        close(directory)
    }

    /// Closes the file after an error.
    mutating func abandon() {
        WriterLock.end(closing: descriptor)
        (descriptor, syncDue) = (-1, nil)
    }

    /// The file with a number, if a recorder wrote it and this user owns it.
    private func own(_ number: UInt64) -> File? {
        guard let descriptor = RecordingDirectory.open(number, in: directory) else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_uid == geteuid(), status.st_nlink == 1 else {
            return nil
        }
        // A recorder can have ended before its first write.
        var head = [UInt8](repeating: 0, count: Self.signature.count)
        let count = pread(descriptor, &head, head.count, Self.signatureOffset)
        guard count == 0 && status.st_size == 0 || count == head.count && head == Self.signature else {
            return nil
        }
        return File(
            number: number, device: status.st_dev, inode: status.st_ino, length: UInt64(status.st_size))
    }

    /// The bytes at the start of each file, after the length of the first message: an annotation with an origin.
    private static let signature: [UInt8] = {
        var bytes: [UInt8] = []
        bytes.append(.origin(""))
        return Array(bytes.dropFirst(Int(signatureOffset)))
    }()
    private static let signatureOffset: off_t = 4

    // MARK: Files

    /// Begins the next file with a dump.
    ///
    /// - Parameters:
    ///   - reason: Why the file begins; `nil` for the first file of a recorder.
    ///   - snapshot: The dump.
    /// - Throws: An error if the file cannot be created or written. It is deleted then.
    mutating func begin(_ reason: RecordingAnnotation?, _ snapshot: RecordedSnapshot) throws(RecordingError) {
        var head: [UInt8] = []
        head.append(.currentOrigin)
        head.append(.clock(snapshot.clock))
        head.append(.follows(files.last?.number ?? 0))
        if let reason {
            // The time of a mark is the end of the gap.
            if reason != .continued { head.appendTimeStamp(snapshot.time) }
            head.append(reason)
        }
        let dump = snapshot.bytes
        let size = UInt64(head.count + dump.count)
        let fits = size <= largestDump
        // If the first dump does not fit, the recorder ends with the same message.
        if fits || reason != nil { measure(size) }
        guard fits else { throw error(.dumpTooLarge(bytes: size * 3)) }
        try end()
        try create()
        do throws(RecordingError) {
            try append(head)
            try append(dump)
            try sync()
            guard fsync(directory) == 0 else { throw error(errno) }
        } catch {
            // An incomplete dump is useless.
            abandon()
            delete(files.removeLast())
            throw error
        }
    }

    private mutating func create() throws(RecordingError) {
        var number = files.last.map { $0.number + 1 } ?? 1
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        for _ in 0..<Self.trials {
            // The numbers of existing files leave at least one number free.
            guard RecordingDirectory.numbers.contains(number) else { throw error(.uncreatable(EOVERFLOW)) }
            descriptor = openat(directory, RecordingDirectory.name(number), flags, 0o600)
            guard descriptor < 0, errno == EEXIST else { break }
            number += 1
        }
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else { throw error(.uncreatable(errno)) }
        WriterLock.lock(descriptor)
        files.append(File(number: number, device: status.st_dev, inode: status.st_ino, length: 0))
    }

    package func setCurrent(_ isCurrent: Bool) {
        WriterLock.setCurrent(isCurrent, descriptor)
    }

    /// Syncs the file to the disk.
    mutating func sync() throws(RecordingError) {
        syncDue = nil
        guard descriptor >= 0, fdatasync(descriptor) != 0 else { return }
        throw error(errno)
    }

    /// Syncs the file to the disk and closes it.
    mutating func end() throws(RecordingError) {
        guard isOpen else { return }
        try sync()
        abandon()
    }

    // MARK: Space

    private var size: UInt64 {
        files.reduce(0) { $0.addingClamped($1.size) }
    }

    /// Deletes the oldest files until there is space for some bytes and for the rest of a block.
    private mutating func makeRoom(_ count: UInt64) throws(RecordingError) {
        let end = count + 4_096
        while size.addingClamped(end) > limit, files.count > 1 { delete(files.removeFirst()) }
        guard size.addingClamped(end) <= limit else {
            throw error(.dumpTooLarge(bytes: (dumpSize + count) * 3))
        }
    }

    /// Deletes a file, unless another file has its name by now.
    private func delete(_ file: File) {
        guard let found = own(file.number), found.device == file.device, found.inode == file.inode else {
            return
        }
        unlinkat(directory, RecordingDirectory.name(file.number), 0)
    }

    private func error(_ number: Int32) -> RecordingError {
        error(.unwritable(number, isCut: false))
    }

    private func error(_ reason: RecordingError.Reason) -> RecordingError {
        RecordingError(path: path, offset: byteCount, reason: reason)
    }
}

extension RecordingRotation: RecordingOutput {
    /// Makes space for the messages, and writes them.
    package mutating func append(_ messages: [UInt8]) throws(RecordingError) {
        guard isOpen, !messages.isEmpty else { return }
        try makeRoom(UInt64(messages.count))
        let (count, reason) = messages.write(to: descriptor)
        byteCount += UInt64(count)
        files[files.count - 1].length += UInt64(count)
        if let reason { throw error(reason) }
        // Writes to a deleted file succeed, but are lost.
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_nlink > 0 else { throw error(ENOENT) }
        // During continuous changes, there is no pause for the sync.
        if let due = syncDue, due <= .now { try sync() } else { syncDue = syncDue ?? .now + Self.syncDelay }
    }

    /// Writes the dump into the file.
    ///
    /// If it does not fit, begins the next file with it.
    ///
    /// Skips the closing dump if it would evict the previous file, because that file's history is more valuable.
    package mutating func append(_ snapshot: RecordedSnapshot) throws(RecordingError) {
        let bytes = snapshot.bytes
        measure(UInt64(bytes.count))
        let length = files.last?.length ?? 0
        guard length + dumpSize <= fileLimit else {
            // The rest of a block for each of the files, and the annotations.
            if isEnding, length + dumpSize + 16_384 > limit { return }
            return try begin(.continued, snapshot)
        }
        try append(bytes)
    }
}
