// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import SystemSupport

/// Reads a recording as one stream: a file, a pipe, or a directory of ``RecordingDirectory``.
///
/// The files of a directory follow each other in the order of their numbers. A file that is damaged, or that ends
/// inside a message, ends at that point with a ``RecordingEntry/Content/fileEnd(_:)``, because the rest cannot be
/// trusted. A missing file between others also has such an entry. The times are those of ``RecordedClock``, and never
/// go back.
package struct RecordingStream: ~Copyable {
    /// The position at which reading begins.
    private struct Position {
        /// The number of a file in a directory.
        var number: UInt64 = 0
        /// The clock at the position.
        var clock = RecordedClock()
    }

    /// How often a directory is read again while its recorder is in the middle of a dump.
    private static let attempts = 100

    /// The directory; `nil` for a single file.
    private var directory: RecordedDirectory?
    private var numbers: ArraySlice<UInt64> = []
    /// The files of the directory up to the present one.
    private var files: RecordedFiles
    private var reader: RecordingReader
    private var clock = RecordedClock()
    private var isOver = false
    /// The clocks just before opening, for a recording that contained everything until then; `nil` for others.
    private var opening: ClockReading?
    /// Whether a recorder was writing to the recording when it was opened.
    private(set) var isBeingWritten = false

    /// Opens a file or a directory.
    ///
    /// It is read once in advance, for the clocks and the start, and a second time for a start if a clock was set. A
    /// pipe is not read in advance, and has the clock that it states first. If a recorder is writing to the
    /// directory, the result is its state between two dumps.
    ///
    /// - Parameters:
    ///   - path: The file or directory.
    ///   - start: Files that later dumps make unnecessary are skipped: a directory is read from the last file that
    ///     contains a dump which ends before this time. `nil` to read everything.
    /// - Throws: An error if the file or directory cannot be opened, or the directory has no recording.
    package init(path: String, from start: Recording.Time? = nil) throws(RecordingError) {
        try self.init(path: path, from: start) { usleep(20_000) }
    }

    /// Opens a file or a directory.
    ///
    /// Pauses before it reads a directory again.
    init(path: String, from start: Recording.Time? = nil, pause: () -> Void) throws(RecordingError) {
        var attempts = Self.attempts
        while true {
            let opening = ClockReading.now
            let directory = try Self.directory(path)
            // Entries that are written later are not needed to know the time until then.
            let writer = directory?.writer ?? Self.writer(path)
            let found = try Self.position(path, directory, from: start)
            if !found.isWhole, directory?.isFresh ?? false, attempts > 0 {
                attempts -= 1
                pause()
                continue
            }
            try self.init(path, directory, at: found.position)
            isBeingWritten = writer.isTaken
            if writer.isCurrent { self.opening = opening }
            return
        }
    }

    /// The state of a file's writer.
    private static func writer(_ path: String) -> WriterLock.State {
        // For a pipe, this would consume data.
        guard fileType(path) == S_IFREG else { return WriterLock.State() }
        return WriterLock.state(closing: open(path.fileName, O_RDONLY | O_CLOEXEC | O_NONBLOCK))
    }

    /// Opens a directory; `nil` if the path is not a directory.
    private static func directory(_ path: String) throws(RecordingError) -> RecordedDirectory? {
        let descriptor = open(path.fileName, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if descriptor < 0, errno == ENOTDIR { return nil }
        guard descriptor >= 0, let directory = RecordedDirectory(descriptor: descriptor) else {
            throw RecordingError(path: path, offset: 0, reason: .unreadable(errno))
        }
        return directory
    }

    private init(
        _ path: String, _ directory: RecordedDirectory?, at position: Position
    ) throws(RecordingError) {
        files = RecordedFiles(in: path)
        clock = position.clock
        self.directory = directory
        // A placeholder until a file is open.
        reader = RecordingReader(error: RecordingError(path: path, offset: 0, reason: .noFiles))
        guard let directory else {
            reader = try RecordingReader(path: path)
            return
        }
        numbers = directory.numbers.drop { $0 < position.number }
        guard openNext() else { throw RecordingError(path: path, offset: 0, reason: .noFiles) }
    }

    /// Reads from an open descriptor, which the caller owns.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor.
    ///   - path: The name to use in errors.
    package init(descriptor: Int32, path: String) {
        files = RecordedFiles(in: path)
        reader = RecordingReader(descriptor: descriptor, path: path)
    }

    /// Reads from memory.
    package init(bytes: [UInt8]) {
        files = RecordedFiles(in: "")
        reader = RecordingReader(bytes: bytes)
    }

    /// Passes the next entry to `body`.
    ///
    /// Damage is an entry, not an error.
    ///
    /// - Returns: The result of `body`; `nil` at the end of the recording.
    package mutating func next<Result>(_ body: (RecordingEntry) -> Result) -> Result? {
        guard !isOver else { return nil }
        do {
            let result = try reader.next { entry in
                files.markMissing(&entry)
                clock.adjust(&entry)
                return body(entry)
            }
            if let result { return result }
            let path = reader.path
            return openNext() ? body(.fileEnd(of: path)) : nil
        } catch {
            let path = reader.path
            let isLast = !openNext()
            // A recorder can have created its file without having written to it yet.
            if isLast, directory != nil, error.reason == .empty { return body(.fileEnd(of: path)) }
            return body(.fileEnd(of: path, error))
        }
    }

    /// Opens the next existing file of a directory.
    ///
    /// A file that exists but cannot be opened counts as damaged.
    ///
    /// - Returns: Whether there is a next file.
    private mutating func openNext() -> Bool {
        while let next = numbers.popFirst() {
            let name = files.path(next)
            if let file = directory?.open(next) {
                reader = RecordingReader(
                    descriptor: file.descriptor, path: name, isOwned: file.isOwned, length: file.length)
            } else {
                let number = errno
                if [0, ELOOP].contains(number) { files.pass(next) }
                guard ![0, ENOENT, ELOOP].contains(number) else { continue }
                reader = RecordingReader(
                    error: RecordingError(path: name, offset: 0, reason: .unreadable(number)))
            }
            files.begin(next)
            clock.beginFile()
            return true
        }
        isOver = true
        return false
    }

    /// The boot of the last entry; `nil` if it is not known.
    var boot: Recording.Boot? { clock.boot }

    /// For a recording that is being written: the time up to which nothing has happened except for the entries.
    ///
    /// `nil` for a complete recording, and during a dump.
    ///
    /// A recorder writes nothing while nothing changes.
    var writtenUntil: Recording.Time? {
        opening.flatMap { clock.time(of: $0) }
            .map { Recording.Time(limiting: $0.microsecondsSince1970 - Self.writingDelay) }
    }

    /// How long a recorder takes to write a notification outside of dumps, in microseconds.
    ///
    /// It first looks for processes. A recorder that is stopped, or blocked by its disk, takes longer.
    private static let writingDelay: Int64 = 1_000_000

    /// Whether a path leads to a directory.
    package static func isDirectory(_ path: String) -> Bool {
        fileType(path) == S_IFDIR
    }

    /// The bits of S_IFMT; 0 if there is no file.
    private static func fileType(_ path: String) -> mode_t {
        var status = stat()
        return stat(path.fileName, &status) == 0 ? status.st_mode & S_IFMT : 0
    }

    /// Finds where reading begins, the clocks of the whole recording, and whether the recording ends outside of a
    /// dump.
    private static func position(
        _ path: String,
        _ directory: RecordedDirectory?,
        from start: Recording.Time?
    ) throws(RecordingError) -> (position: Position, isWhole: Bool) {
        var (position, found) = (Position(), Position())
        // Whether the entries so far are before the start, and whether later entries correct their times.
        var (isBefore, isCorrected) = (true, false)
        func find(_ entry: RecordingEntry, _ file: Position) {
            if let start, let time = entry.time, time > start { isBefore = false }
            if isBefore, case .annotation(.dumpEnds) = entry.content { found = file }
        }
        // Whether the end is inside a dump, or before the first one; `nil` at the beginning.
        var isInside: Bool?
        // Anything else can be read only once.
        guard directory != nil || fileType(path) == S_IFREG else { return (position, true) }
        try scan(path, directory, at: position) { entry, file in
            find(entry, file)
            switch entry.content {
            case .annotation(.clock(let reading)):
                if position.clock.learn(reading) { isCorrected = true }
            case .annotation(.origin), .annotation(.dumpBegins): isInside = true
            case .annotation(.dumpEnds): isInside = false
            case .fileEnd(let error?) where error.isCut: isInside = true
            case .message: isInside = isInside ?? false
            case .annotation, .fileEnd: break
            }
            return true
        }
        guard start != nil, directory != nil else { return (position, isInside == false) }
        if isCorrected {
            (found, isBefore) = (position, true)
            try scan(path, directory, at: position) { entry, file in
                find(entry, file)
                return isBefore
            }
        }
        return (found, isInside == false)
    }

    /// Passes each entry to a closure, with the position at which its file begins, until the closure returns `false`.
    private static func scan(
        _ path: String,
        _ directory: RecordedDirectory?,
        at position: Position,
        _ body: (RecordingEntry, Position) -> Bool
    ) throws(RecordingError) {
        var stream = try RecordingStream(path, directory, at: position)
        var file = Position(number: stream.files.number ?? 0, clock: stream.clock)
        while stream.next({ body($0, file) }) == true {
            guard let number = stream.files.number, number != file.number else { continue }
            file = Position(number: number, clock: stream.clock)
        }
    }
}

extension RecordingEntry {
    static func fileEnd(of path: String, _ error: RecordingError? = nil) -> RecordingEntry {
        RecordingEntry(path: path, offset: error?.offset ?? 0, time: nil, content: .fileEnd(error))
    }
}

/// The files of a directory that were read so far, for finding missing files between them.
///
/// A recorder deletes its oldest files, so files before the first one are not missing. Each file states the number of
/// the previous file. A file of an earlier version continues the number before its own; if another file had that
/// name, the recorder skipped the number.
struct RecordedFiles {
    private let folder: String
    /// The number of the present file; `nil` before the first file.
    private(set) var number: UInt64?
    private var first: UInt64?
    private var opened: Set<UInt64> = []
    /// The numbers of names that other files have.
    private var foreign: Set<UInt64> = []
    /// Whether the present file has stated the file that it follows.
    private var isStated = false

    /// Creates the state before the first file of a directory.
    init(in path: String) {
        folder = path.hasSuffix("/") ? path : path + "/"
    }

    /// The path of a file.
    func path(_ number: UInt64) -> String {
        folder + RecordingDirectory.name(number)
    }

    /// Begins the next file.
    mutating func begin(_ number: UInt64) {
        self.number = number
        first = first ?? number
        opened.insert(number)
        isStated = false
    }

    /// Skips a name that does not belong to a regular file.
    mutating func pass(_ number: UInt64) {
        foreign.insert(number)
    }

    /// Checks an entry.
    ///
    /// If it shows that a file is missing before the present one, replaces it by the end of that file.
    mutating func markMissing(_ entry: inout RecordingEntry) {
        guard case .annotation(let annotation) = entry.content, let missing = missing(annotation) else {
            return
        }
        let path = path(missing)
        entry = .fileEnd(of: path, RecordingError(path: path, offset: 0, reason: .missing))
    }

    /// The missing file before the present one, according to an annotation; `nil` if none is missing.
    private mutating func missing(_ annotation: RecordingAnnotation) -> UInt64? {
        guard let first, let number, number > first else { return nil }
        var before = number - 1
        switch annotation {
        case .follows(let stated): (before, isStated) = (stated, true)
        case .continued where !isStated && !foreign.contains(before): break
        default: return nil
        }
        return (first..<number).contains(before) && !opened.contains(before) ? before : nil
    }
}
