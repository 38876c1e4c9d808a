// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Reads a recording that is a file, a pipe, or a directory of ``RecordingDirectory``, as one stream.
///
/// The files of a directory follow each other in the order of their numbers. A file that ends inside a message, as one
/// does whose recorder was killed, ends with its last whole message and a ``RecordingEntry/Content/fileEnd``.
package struct RecordingStream: ~Copyable {
    /// The path that the caller gave.
    private let path: String
    /// The directory; -1 for a single file.
    private let directory: Int32
    private var numbers: ArraySlice<UInt64> = []
    private var reader: RecordingReader
    private var isOver = false
    /// An annotation that stands before the part that is read.
    private var origin: RecordingAnnotation?

    /// Opens a file or a directory.
    ///
    /// - Parameters:
    ///   - path: The file or directory.
    ///   - start: What later dumps make unnecessary is left out: a single file is read from the last dump on that ends
    ///     before this time. In a directory, files that later ones make unnecessary are left out: the first one that is read is
    ///     the last but one that begins before this time, as the dump of the last one can be cut. `nil` to read them
    ///     all.
    /// - Throws: A fault if the file or directory cannot be opened, or the directory has no recording.
    package init(path: String, from start: RecordingTime? = nil) throws(RecordingFault) {
        let opened = try Self.open(path, start)
        self.path = path
        directory = opened.directory
        numbers = opened.rest
        reader = RecordingReader(owning: opened.file, path: opened.path, offset: opened.offset)
        origin = opened.origin
    }

    /// Reads from an open descriptor, which the caller owns.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor.
    ///   - path: The name to use in faults.
    package init(descriptor: Int32, path: String) {
        self.path = path
        directory = -1
        reader = RecordingReader(descriptor: descriptor, path: path)
    }

    deinit {
        if directory >= 0 { close(directory) }
    }

    /// The name of the present file in faults.
    package var currentPath: String {
        reader.path
    }

    /// Passes the next entry to `body`.
    ///
    /// - Returns: The result of `body`; `nil` at the end of the recording.
    package mutating func next<Result>(
        _ body: (RecordingEntry) -> Result
    ) throws(RecordingFault) -> Result? {
        guard !isOver else { return nil }
        if let annotation = origin {
            origin = nil
            return body(RecordingEntry(offset: 0, time: nil, content: .annotation(annotation)))
        }
        do {
            if let result = try reader.next(body) { return result }
            return openNext() ? body(.fileEnd) : nil
        } catch {
            switch error.reason {
            // A single file without a whole message is no recording.
            case .cut where directory >= 0 || error.offset > 0: break
            // A recorder has created its file and not written it.
            case .empty where directory >= 0: break
            default: throw error
            }
            _ = openNext()
            return body(.fileEnd)
        }
    }

    /// Opens the next file of a directory; returns whether there is one.
    private mutating func openNext() -> Bool {
        while let number = numbers.popFirst() {
            guard let file = RecordingDirectory.open(number, in: directory) else { continue }
            reader = RecordingReader(owning: file, path: Self.join(path, number))
            return true
        }
        isOver = true
        return false
    }

    /// Whether a path is that of a directory.
    package static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// What a stream begins with.
    private struct Opened {
        var directory: Int32 = -1
        var file: Int32
        /// The path of the file.
        var path: String
        var rest: ArraySlice<UInt64> = []
        /// Where the file is read from.
        var offset: UInt64 = 0
        /// The annotation of the origin, which stands before that.
        var origin: RecordingAnnotation?
    }

    /// Finds the last dump of a file that ends before a time.
    private static func seek(in descriptor: Int32, _ path: String, _ start: RecordingTime?) -> Opened {
        var opened = Opened(file: descriptor, path: path)
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard let start, copy >= 0 else { return opened }
        var (origin, begin, isOver): (RecordingAnnotation?, UInt64, Bool) = (nil, 0, false)
        do {
            var reader = RecordingReader(owning: copy, path: path)
            // A fault is met again, and thrown, by the reader of the stream.
            while !isOver,
                (try? reader.next { entry in
                    if let time = entry.time, time > start { isOver = true }
                    guard !isOver, case .annotation(let annotation) = entry.content else { return }
                    switch annotation {
                    case .origin: origin = annotation
                    case .dumpBegins: begin = entry.offset
                    case .dumpEnds: (opened.offset, opened.origin) = (begin, origin)
                    default: break
                    }
                }) != nil
            {}
        }
        lseek(descriptor, off_t(opened.offset), SEEK_SET)
        return opened
    }

    private static func open(_ path: String, _ start: RecordingTime?) throws(RecordingFault) -> Opened {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw RecordingFault(path: path, offset: 0, reason: .unreadable(errno)) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            let isFile = status.st_mode & S_IFMT == S_IFREG
            return isFile ? seek(in: descriptor, path, start) : Opened(file: descriptor, path: path)
        }
        do {
            return try openFirst(in: descriptor, path, start)
        } catch {
            close(descriptor)
            throw error
        }
    }

    private static func openFirst(
        in directory: Int32,
        _ path: String,
        _ start: RecordingTime?
    ) throws(RecordingFault) -> Opened {
        var files = try numbers(in: directory, path)[...]
        if let start { files = files[max(files.startIndex, place(of: start, files, directory) - 1)...] }
        // A recorder can delete the oldest files meanwhile.
        while let number = files.popFirst() {
            guard let file = RecordingDirectory.open(number, in: directory) else { continue }
            return Opened(directory: directory, file: file, path: join(path, number), rest: files)
        }
        throw RecordingFault(path: path, offset: 0, reason: .noFiles)
    }

    private static func numbers(
        in directory: Int32,
        _ path: String
    ) throws(RecordingFault) -> [UInt64] {
        do {
            return try RecordingDirectory.numbers(in: directory)
        } catch {
            throw RecordingFault(path: path, offset: 0, reason: .unreadable(error.number))
        }
    }

    private static func join(_ path: String, _ number: UInt64) -> String {
        path + (path.hasSuffix("/") ? "" : "/") + RecordingDirectory.name(number)
    }

    /// The place of the last file that begins before a time; the first file if none does.
    private static func place(
        of time: RecordingTime,
        _ files: ArraySlice<UInt64>,
        _ directory: Int32
    ) -> Int {
        for place in files.indices.reversed() {
            guard let file = RecordingDirectory.open(files[place], in: directory) else { continue }
            var reader = RecordingReader(owning: file, path: "")
            while let stamp = (try? reader.next { $0.time }) {
                guard let stamp else { continue }
                if stamp <= time { return place }
                break
            }
        }
        return files.startIndex
    }
}

extension RecordingEntry {
    fileprivate static var fileEnd: RecordingEntry {
        RecordingEntry(offset: 0, time: nil, content: .fileEnd)
    }
}
