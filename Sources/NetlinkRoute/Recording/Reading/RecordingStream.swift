// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Reads a recording that is a file, a pipe, or a directory of ``RecordingDirectory``, as one stream.
///
/// The files of a directory follow each other in the order of their numbers. A file that is damaged, or ends inside a
/// message, ends there with a ``RecordingEntry/Content/fileEnd(_:)``: what follows cannot be trusted.
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
    ///     before this time. In a directory, files that later ones make unnecessary are left out: the first one that is
    ///     read is the last but one that begins before this time, as the dump of the last one can be cut. `nil` to read
    ///     them all.
    /// - Throws: A fault if the file or directory cannot be opened, or the directory has no recording.
    package init(path: String, from start: RecordingTime? = nil) throws(RecordingFault) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw RecordingFault(path: path, offset: 0, reason: .unreadable(errno)) }
        var status = stat()
        fstat(descriptor, &status)
        guard status.st_mode & S_IFMT == S_IFDIR else {
            var offset: UInt64 = 0
            if status.st_mode & S_IFMT == S_IFREG, let start {
                (offset, origin) = Self.lastDump(of: descriptor, before: start)
            }
            self.path = path
            directory = -1
            reader = RecordingReader(owning: descriptor, path: path, offset: offset)
            return
        }
        guard let all = RecordingDirectory.numbers(in: descriptor) else {
            let number = errno
            close(descriptor)
            throw RecordingFault(path: path, offset: 0, reason: .unreadable(number))
        }
        var rest = all[...]
        if let start { rest = rest[max(0, Self.place(of: start, rest, descriptor) - 1)...] }
        guard let first = Self.openNext(&rest, in: descriptor, path) else {
            close(descriptor)
            throw RecordingFault(path: path, offset: 0, reason: .noFiles)
        }
        self.path = path
        numbers = rest
        directory = descriptor
        reader = first
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

    /// Reads from memory.
    package init(bytes: [UInt8]) {
        path = ""
        directory = -1
        reader = RecordingReader(bytes: bytes)
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
    /// Damage is an entry, not an error.
    ///
    /// - Returns: The result of `body`; `nil` at the end of the recording.
    package mutating func next<Result>(
        _ body: (RecordingEntry) -> Result
    ) -> Result? {
        guard !isOver else { return nil }
        if let annotation = origin {
            origin = nil
            let path = currentPath
            return body(RecordingEntry(path: path, offset: 0, time: nil, content: .annotation(annotation)))
        }
        do {
            if let result = try reader.next(body) { return result }
            let path = currentPath
            return openNext() ? body(.fileEnd(of: path)) : nil
        } catch {
            let path = currentPath
            let isLast = !openNext()
            // A recorder can have created its file and not written it.
            if isLast, directory >= 0, error.reason == .empty { return body(.fileEnd(of: path)) }
            return body(.fileEnd(of: path, error))
        }
    }

    /// Opens the next file of a directory; returns whether there is one.
    private mutating func openNext() -> Bool {
        guard let next = Self.openNext(&numbers, in: directory, path) else {
            isOver = true
            return false
        }
        reader = next
        return true
    }

    /// Opens the first file that is there: a recorder can delete the oldest ones meanwhile.
    ///
    /// One that is there and cannot be opened is as damaged as one that cannot be read.
    private static func openNext(
        _ numbers: inout ArraySlice<UInt64>,
        in directory: Int32,
        _ path: String
    ) -> RecordingReader? {
        while let number = numbers.popFirst() {
            let name = (path.hasSuffix("/") ? path : path + "/") + RecordingDirectory.name(number)
            if let file = RecordingDirectory.open(number, in: directory) {
                return RecordingReader(owning: file, path: name)
            }
            guard ![0, ENOENT, ELOOP].contains(errno) else { continue }
            return RecordingReader(fault: RecordingFault(path: name, offset: 0, reason: .unreadable(errno)))
        }
        return nil
    }

    /// Whether a path is that of a directory.
    package static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Finds the last dump of a file that ends before a time, and the annotation of the origin before it.
    private static func lastDump(
        of descriptor: Int32,
        before start: RecordingTime
    ) -> (offset: UInt64, origin: RecordingAnnotation?) {
        var found: (offset: UInt64, origin: RecordingAnnotation?) = (0, nil)
        var (origin, begin, isOver): (RecordingAnnotation?, UInt64, Bool) = (nil, 0, false)
        var reader = RecordingReader(descriptor: descriptor, path: "")
        // A fault is met again, and thrown, by the reader of the stream.
        while !isOver,
            (try? reader.next { entry in
                if let time = entry.time, time > start { isOver = true }
                guard !isOver, case .annotation(let annotation) = entry.content else { return }
                switch annotation {
                case .origin: origin = annotation
                case .dumpBegins: begin = entry.offset
                case .dumpEnds: found = (begin, origin)
                default: break
                }
            }) != nil
        {}
        lseek(descriptor, off_t(found.offset), SEEK_SET)
        return found
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
    fileprivate static func fileEnd(of path: String, _ fault: RecordingFault? = nil) -> RecordingEntry {
        RecordingEntry(path: path, offset: fault?.offset ?? 0, time: nil, content: .fileEnd(fault))
    }
}
