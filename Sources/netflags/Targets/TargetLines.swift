// SPDX-License-Identifier: Apache-2.0

import Glibc

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

    /// The longest line, in bytes; a DNS name has at most 253.
    static let limit = 4_096
    static let tooLongMessage = "the line has more than \(limit) bytes: give one target a line"

    private static let capacity = 65_536
    /// U+FEFF in UTF-8, with which some editors begin a file.
    private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    /// The number of the line that was read last, from 1, if none before it was too long.
    private(set) var number = 0
    private let descriptor: Int32
    /// The bytes that are read and not yet returned.
    private var pending: ArraySlice<UInt8> = []
    private var isInsideLongLine = false
    private var isAtEnd = false

    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// Reads the next line.
    ///
    /// - Parameter beforeReading: Called before a read, which can block.
    /// - Returns: The line; `nil` at the end.
    /// - Throws: What `beforeReading` throws, and a ``FileFailure`` when the descriptor cannot be read.
    mutating func next(beforeReading: () throws -> Void) throws -> Line? {
        while true {
            if let line = takeLine() {
                number += 1
                let isMarked = number == 1 && line.starts(with: Self.mark)
                if let found = Self.parse(isMarked ? line.dropFirst(Self.mark.count) : line) { return found }
            } else if isAtEnd {
                return nil
            } else {
                try beforeReading()
                try read()
            }
        }
    }

    /// Removes one line from the pending bytes, a part of a line too long, or the last line; `nil` when they hold none.
    private mutating func takeLine() -> ArraySlice<UInt8>? {
        let newline = pending.firstIndex(of: UInt8(ascii: "\n"))
        if newline == nil {
            // A mark does not count.
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
        while count < 0, isTemporary(errno, descriptor, POLLIN) {
            count = Glibc.read(descriptor, &bytes, bytes.count)
        }
        guard count >= 0 else { throw FileFailure("read stdin", errno, openedBy: "</dev/null") }
        isAtEnd = count == 0
        // takeLine() bounds what is left of the bytes before.
        pending += bytes[..<count]
    }

    /// Parses a line; `nil` for a blank line and a comment.
    private static func parse(_ line: ArraySlice<UInt8>) -> Line? {
        guard line.count <= limit else {
            return .tooLong(String(decoding: line.prefix(64), as: UTF8.self) + "...")
        }
        let start = line.firstIndex { !isSpace($0) }
        guard let start, let end = line.lastIndex(where: { !isSpace($0) }), line[start] != UInt8(ascii: "#")
        else { return nil }
        return .target(String(decoding: line[start...end], as: UTF8.self))
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || (9...13).contains(byte)
    }
}
