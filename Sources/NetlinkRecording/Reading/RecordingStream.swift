// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Reads a recording that is a file, a pipe, or a directory of ``RecordingDirectory``, as one stream.
///
/// The files of a directory follow each other in the order of their numbers. A file that is damaged, or ends inside a
/// message, ends there with a ``RecordingEntry/Content/fileEnd(_:)``: what follows cannot be trusted. The times are
/// those of ``RecordedClock``, and never run backwards.
package struct RecordingStream: ~Copyable {
    /// Where reading begins.
    private struct Position {
        /// The file of a directory.
        var number: UInt64 = 0
        /// The clock there.
        var clock = RecordedClock()
    }

    /// The path that the caller gave.
    private let path: String
    /// The directory; -1 for a single file.
    private var directory: Int32 = -1
    private var numbers: ArraySlice<UInt64> = []
    /// The present file of the directory.
    private var number: UInt64 = 0
    private var reader: RecordingReader
    private var clock = RecordedClock()
    private var isOver = false

    /// Opens a file or a directory.
    ///
    /// It is read once before, for the clocks, and once more to find a start; a pipe is not, and has the clock that it
    /// states first.
    ///
    /// - Parameters:
    ///   - path: The file or directory.
    ///   - start: Files that later dumps make unnecessary are left out: a directory is read from the last file on with
    ///     a dump that ends before this time. `nil` to read all of it.
    /// - Throws: An error if the file or directory cannot be opened, or the directory has no recording.
    package init(path: String, from start: Recording.Time? = nil) throws(RecordingError) {
        try self.init(path, at: try Self.position(path, from: start))
    }

    private init(_ path: String, at position: Position) throws(RecordingError) {
        self.path = path
        clock = position.clock
        // Stands for no file until one is open.
        reader = RecordingReader(error: RecordingError(path: path, offset: 0, reason: .noFiles))
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw RecordingError(path: path, offset: 0, reason: .unreadable(errno)) }
        var status = stat()
        fstat(descriptor, &status)
        guard status.st_mode & S_IFMT == S_IFDIR else {
            reader = RecordingReader(descriptor: descriptor, path: path, isOwned: true)
            return
        }
        directory = descriptor
        guard let all = RecordingDirectory.numbers(in: descriptor) else {
            throw RecordingError(path: path, offset: 0, reason: .unreadable(errno))
        }
        numbers = all.drop { $0 < position.number }
        guard openNext() else { throw RecordingError(path: path, offset: 0, reason: .noFiles) }
    }

    /// Reads from an open descriptor, which the caller owns.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor.
    ///   - path: The name to use in errors.
    package init(descriptor: Int32, path: String) {
        self.path = path
        reader = RecordingReader(descriptor: descriptor, path: path)
    }

    /// Reads from memory.
    package init(bytes: [UInt8]) {
        path = ""
        reader = RecordingReader(bytes: bytes)
    }

    deinit {
        if directory >= 0 { close(directory) }
    }

    /// Passes the next entry to `body`.
    ///
    /// Damage is an entry, not an error.
    ///
    /// - Returns: The result of `body`; `nil` at the end of the recording.
    package mutating func next<Result>(
        _ body: (RecordingEntry) -> Result
    ) -> Result? {
        guard !isOver else { return nil }
        do {
            if let result = try reader.next({ body(clock.take($0)) }) { return result }
            let path = reader.path
            return openNext() ? body(.fileEnd(of: path)) : nil
        } catch {
            let path = reader.path
            let isLast = !openNext()
            // A recorder can have created its file and not written it.
            if isLast, directory >= 0, error.reason == .empty { return body(.fileEnd(of: path)) }
            return body(.fileEnd(of: path, error))
        }
    }

    /// Opens the next file of a directory that is there: a recorder can delete the oldest ones meanwhile.
    ///
    /// One that is there and cannot be opened is as damaged as one that cannot be read.
    ///
    /// - Returns: Whether there is one.
    private mutating func openNext() -> Bool {
        while let next = numbers.popFirst() {
            let name = (path.hasSuffix("/") ? path : path + "/") + RecordingDirectory.name(next)
            if let file = RecordingDirectory.open(next, in: directory) {
                reader = RecordingReader(descriptor: file, path: name, isOwned: true)
            } else {
                guard ![0, ENOENT, ELOOP].contains(errno) else { continue }
                reader = RecordingReader(
                    error: RecordingError(path: name, offset: 0, reason: .unreadable(errno)))
            }
            number = next
            clock.beginFile()
            return true
        }
        isOver = true
        return false
    }

    /// Whether a path is that of a directory.
    package static func isDirectory(_ path: String) -> Bool {
        fileType(path) == S_IFDIR
    }

    /// The bits of S_IFMT; 0 where there is no file.
    private static func fileType(_ path: String) -> mode_t {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & S_IFMT : 0
    }

    /// Finds where reading begins, with the clocks of the whole recording.
    private static func position(
        _ path: String,
        from start: Recording.Time?
    ) throws(RecordingError) -> Position {
        var position = Position()
        // Anything else cannot be read more than once.
        guard [S_IFREG, S_IFDIR].contains(fileType(path)) else { return position }
        try scan(path, at: position) { entry, _ in
            if case .annotation(.clock(let reading)) = entry.content { position.clock.learn(reading) }
            return true
        }
        guard let start, isDirectory(path) else { return position }
        var found = position
        try scan(path, at: position) { entry, file in
            if let time = entry.time, time > start { return false }
            if case .annotation(.dumpEnds) = entry.content { found = file }
            return true
        }
        return found
    }

    /// Passes each entry to a closure, with the position at which its file begins, until it returns `false`.
    private static func scan(
        _ path: String,
        at position: Position,
        _ body: (RecordingEntry, Position) -> Bool
    ) throws(RecordingError) {
        var stream = try RecordingStream(path, at: position)
        var file = Position(number: stream.number, clock: stream.clock)
        while stream.next({ body($0, file) }) == true {
            if stream.number != file.number { file = Position(number: stream.number, clock: stream.clock) }
        }
    }
}

extension RecordingEntry {
    fileprivate static func fileEnd(of path: String, _ error: RecordingError? = nil) -> RecordingEntry {
        RecordingEntry(path: path, offset: error?.offset ?? 0, time: nil, content: .fileEnd(error))
    }
}
