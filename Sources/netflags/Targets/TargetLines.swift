// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Reads targets from a descriptor, one a line, in bounded memory.
///
/// A byte order mark at the very start, white space around a target, blank lines and lines that start with `#` are
/// skipped. Invalid UTF-8 is decoded with replacement characters. The last line needs no newline.
struct TargetLines: ~Copyable {
    /// A line that is neither blank nor a comment.
    enum Line: Hashable {
        case target(String)
        /// The first characters of a line longer than ``limit``; the rest of the line is skipped.
        case tooLong(String)
    }

    /// The errno of a failed read.
    struct Failure: Error, CustomStringConvertible {
        let number: Int32

        /// What failed, why, and what to do.
        var description: String {
            let advice = number == EBADF ? "; open it, for example with </dev/null" : ""
            return "cannot read stdin: \(systemMessage(number))\(advice)"
        }
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
    private let buffer: UnsafeMutableRawBufferPointer
    /// The bytes that are read and not yet returned.
    private var pending = 0..<0
    private var isInsideLongLine = false
    private var isAtEnd = false
    /// Whether the first bytes are still unknown.
    private var isAtStart = true

    init(descriptor: Int32) {
        self.descriptor = descriptor
        buffer = .allocate(byteCount: Self.capacity, alignment: 8)
    }

    deinit {
        buffer.deallocate()
    }

    /// Reads the next line.
    ///
    /// - Parameter beforeReading: Called before a read, which can block.
    /// - Returns: The line; `nil` at the end.
    /// - Throws: What `beforeReading` throws, and a ``Failure`` when the descriptor cannot be read.
    mutating func next(beforeReading: () throws -> Void) throws -> Line? {
        while true {
            if let line = takeLine() {
                number += 1
                if let found = Self.parse(line) { return found }
            } else if isAtEnd {
                return nil
            } else {
                try beforeReading()
                try read()
            }
        }
    }

    /// Removes one line from the pending bytes; `nil` when they hold no whole line.
    private mutating func takeLine() -> UnsafeRawBufferPointer? {
        let bytes = UnsafeRawBufferPointer(rebasing: buffer[pending])
        guard let newline = bytes.firstNewline else { return takeRest(bytes) }
        pending = (pending.lowerBound + newline + 1)..<pending.upperBound
        guard isInsideLongLine else { return UnsafeRawBufferPointer(rebasing: bytes[..<newline]) }
        isInsideLongLine = false
        return UnsafeRawBufferPointer(rebasing: bytes[..<0])
    }

    /// Removes bytes without a newline: a part of a line too long, or the last line.
    private mutating func takeRest(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard !bytes.isEmpty, isInsideLongLine || isAtEnd || bytes.count > Self.limit else { return nil }
        pending = pending.upperBound..<pending.upperBound
        if isInsideLongLine { return UnsafeRawBufferPointer(rebasing: bytes[..<0]) }
        isInsideLongLine = !isAtEnd
        return bytes
    }

    private mutating func read() throws(Failure) {
        // Move the start of a cut line to the front; takeRest() bounds its length.
        let rest = UnsafeRawBufferPointer(rebasing: buffer[pending])
        buffer.copyMemory(from: rest)
        pending = 0..<rest.count
        let free = UnsafeMutableRawBufferPointer(rebasing: buffer[rest.count...])
        var count = Glibc.read(descriptor, free.baseAddress, free.count)
        while count < 0, isTemporary(errno, descriptor, POLLIN) {
            count = Glibc.read(descriptor, free.baseAddress, free.count)
        }
        guard count >= 0 else { throw Failure(number: errno) }
        isAtEnd = count == 0
        pending = 0..<(rest.count + count)
        if isAtStart { skipMark() }
    }

    /// Skips a byte order mark, once so many bytes are read that they are one or are not.
    private mutating func skipMark() {
        let start = buffer[pending].prefix(Self.mark.count)
        guard start.count == Self.mark.count || !Self.mark.starts(with: start) else { return }
        isAtStart = false
        if start.elementsEqual(Self.mark) { pending = start.endIndex..<pending.upperBound }
    }

    /// Parses a line; `nil` for a blank line and a comment.
    private static func parse(_ line: UnsafeRawBufferPointer) -> Line? {
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

extension UnsafeRawBufferPointer {
    fileprivate var firstNewline: Int? {
        guard let baseAddress, let found = memchr(baseAddress, 0x0A, count) else { return nil }
        return UnsafeRawPointer(found) - baseAddress
    }
}
