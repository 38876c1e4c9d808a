// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkRecording
import SystemSupport

/// Reads targets from a descriptor, one a line, in bounded memory.
///
/// A byte order mark at the very start, white space around a target, blank lines and lines that start with `#` are
/// skipped. Invalid UTF-8 is decoded with replacement characters. The last line needs no newline.
struct TargetLines {
    /// A line that is neither blank nor a comment.
    enum Line: Hashable {
        case target(String)
        /// The first characters of a line longer than ``limit``; the rest of the line is skipped.
        case tooLong(String)
    }

    /// Whether lines are returned unchanged, including blank lines and comments.
    var isRaw = false
    /// The longest line, in bytes; a DNS name has at most 253.
    static let limit = 4_096
    static let tooLongMessage = "the line has more than \(limit) bytes: give one target a line"

    private static let capacity = 65_536
    /// U+FEFF in UTF-8, with which some editors begin a file.
    private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    /// The number of the last line that was read, from 1, if no line before it was too long.
    private(set) var number = 0
    private let descriptor: Int32
    private let name: String
    /// The bytes that have been read and not returned.
    private var pending: ArraySlice<UInt8> = []
    private var isInsideLongLine = false
    private var isAtEnd = false

    /// - Parameters:
    ///   - descriptor: The descriptor.
    ///   - name: The name of the descriptor in messages.
    init(descriptor: Int32, name: String = "stdin") {
        (self.descriptor, self.name) = (descriptor, name)
    }

    /// Reads the next line.
    ///
    /// - Parameter beforeReading: Called before each read, as a read can block.
    /// - Returns: The line; `nil` at the end.
    /// - Throws: Errors of `beforeReading`, and a ``FileFailure`` if the descriptor cannot be read.
    mutating func next(beforeReading: () throws -> Void) throws -> Line? {
        while true {
            if let line = nextLine() {
                number += 1
                let isMarked = number == 1 && line.starts(with: Self.mark)
                if let found = parse(isMarked ? line.dropFirst(Self.mark.count) : line) { return found }
            } else if isAtEnd {
                return nil
            } else {
                try beforeReading()
                try read()
            }
        }
    }

    /// Removes a line, a part of a line that is too long, or the last line from the pending bytes; `nil` if there is
    /// none.
    private mutating func nextLine() -> ArraySlice<UInt8>? {
        let newline = pending.firstIndex(of: UInt8(ascii: "\n"))
        if newline == nil {
            // The mark does not count towards the length.
            let limit = Self.limit + Self.mark.count
            guard !pending.isEmpty, isInsideLongLine || isAtEnd || pending.count > limit else { return nil }
        }
        let end = newline ?? pending.endIndex
        defer {
            pending = pending[end...].dropFirst()
            isInsideLongLine = newline == nil && !isAtEnd
        }
        return isInsideLongLine ? [] : pending[..<end]
    }

    private mutating func read() throws(FileFailure) {
        var bytes = [UInt8](repeating: 0, count: Self.capacity)
        var count = Glibc.read(descriptor, &bytes, bytes.count)
        while count < 0, FileBytes.isTemporary(errno, descriptor, POLLIN) {
            count = Glibc.read(descriptor, &bytes, bytes.count)
        }
        guard count >= 0 else {
            throw FileFailure("read \(name)", errno, advice: [EBADF: "open it, for example with </dev/null"])
        }
        isAtEnd = count == 0
        // nextLine() limits the number of bytes that were pending before.
        pending += bytes[..<count]
    }

    /// Parses a line; `nil` for a blank line and a comment.
    private func parse(_ line: ArraySlice<UInt8>) -> Line? {
        guard line.count <= Self.limit else {
            return .tooLong(String(decoding: line.prefix(64), as: UTF8.self) + "...")
        }
        guard !isRaw else { return .target(String(decoding: line, as: UTF8.self)) }
        let start = line.firstIndex { !Self.isSpace($0) }
        guard let start, let end = line.lastIndex(where: { !Self.isSpace($0) }),
            line[start] != UInt8(ascii: "#")
        else { return nil }
        return .target(String(decoding: line[start...end], as: UTF8.self))
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || (9...13).contains(byte)
    }
}

/// A file with one statement on each line, or standard input.
struct LineFile {
    /// The name of the file in messages.
    let name: String
    private let path: String

    /// A file, or standard input for `-`; the file is not opened yet.
    init(_ path: String) {
        self.path = path
        name = path == "-" ? "stdin" : path
    }

    /// Calls the body with each line that is neither blank nor a comment, and its number, from 1.
    ///
    /// - Parameters:
    ///   - isRaw: Whether the body is called with blank lines and comments, too, and lines keep their white space.
    ///   - statement: The noun for the statement on a line, for messages.
    ///   - example: An example of a line, for messages.
    ///   - body: Receives a line.
    /// - Throws: A usage error of the body, prefixed with the name of the file and the number of the line; a
    ///   ``FileFailure`` for a file that cannot be read, or is not text, such as a recording.
    func forEachLine(
        isRaw: Bool = false, of statement: String, such example: String,
        _ body: (_ number: Int, _ text: String) throws -> Void
    ) throws {
        let lines = "one \(statement) a line, such as \(example)"
        let advice = "give a file with \(lines); a recording goes to --replay"
        let descriptor = path == "-" ? STDIN_FILENO : open(path.fileName, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw FileFailure(
                "read \(path)", errno,
                advice: [
                    ENOENT: "give one that exists, with \(lines)",
                    EACCES: "make it readable for this user",
                ])
        }
        defer {
            if path != "-" { close(descriptor) }
        }
        var reader = TargetLines(descriptor: descriptor, name: name)
        reader.isRaw = isRaw
        do {
            while let line = try reader.next(beforeReading: {}) {
                switch line {
                case .target(let text) where !text.contains("\0"): try body(reader.number, text)
                case .tooLong(let text) where !text.contains("\0"):
                    throw UsageError(TargetLines.tooLongMessage)
                case .target, .tooLong: throw FileFailure("read \(name)", "it is not a text: \(advice)")
                }
            }
        } catch let error as UsageError {
            throw UsageError("\(name):\(reader.number): \(error)")
        } catch let failure as FileFailure where failure.number == EISDIR {
            throw FileFailure("read \(name)", EISDIR, advice: [EISDIR: advice])
        }
    }
}
