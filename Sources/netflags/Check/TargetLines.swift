// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The targets that a descriptor brings, one a line, in bounded memory.
///
/// White space around a target, blank lines and lines that start with `#` are passed over. What is no UTF-8 is
/// repaired. A last line without its newline counts.
struct TargetLines: ~Copyable {
    /// A line that holds something.
    enum Line: Hashable {
        case target(String)
        /// A line longer than ``limit``, passed over to its end; its first characters.
        case tooLong(String)
    }

    /// Why nothing more can be read: an errno.
    struct Fault: Error {
        let number: Int32
    }

    /// The longest line, in bytes.
    ///
    /// The longest target is a name of some 250.
    static let limit = 4_096

    private static let capacity = 65_536
    private let descriptor: Int32
    private let buffer: UnsafeMutableRawBufferPointer
    /// What is read and not yet handed out.
    private var pending = 0..<0
    private var isInsideLongLine = false
    private var isAtEnd = false

    init(descriptor: Int32) {
        self.descriptor = descriptor
        buffer = .allocate(byteCount: Self.capacity, alignment: 8)
    }

    deinit {
        buffer.deallocate()
    }

    /// The next line that holds something; `nil` at the end.
    ///
    /// - Parameter beforeReading: Called when more has to be read, which can take long.
    /// - Returns: The line.
    /// - Throws: A fault when the descriptor cannot be read.
    mutating func next(beforeReading: () -> Void) throws(Fault) -> Line? {
        while true {
            if let line = takeLine() {
                if let found = Self.meaning(of: line) { return found }
            } else if isAtEnd {
                return nil
            } else {
                beforeReading()
                try read()
            }
        }
    }

    /// Takes one line out of what is pending; `nil` when there is no whole one.
    private mutating func takeLine() -> UnsafeRawBufferPointer? {
        let bytes = UnsafeRawBufferPointer(rebasing: buffer[pending])
        guard let newline = bytes.firstNewline else { return takeRest(bytes) }
        pending = (pending.lowerBound + newline + 1)..<pending.upperBound
        guard isInsideLongLine else { return UnsafeRawBufferPointer(rebasing: bytes[..<newline]) }
        isInsideLongLine = false
        return UnsafeRawBufferPointer(rebasing: bytes[..<0])
    }

    /// Takes what has no newline: the start of a line too long, or the end of the last line.
    private mutating func takeRest(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard !bytes.isEmpty, isInsideLongLine || isAtEnd || bytes.count > Self.limit else { return nil }
        pending = pending.upperBound..<pending.upperBound
        if isInsideLongLine { return UnsafeRawBufferPointer(rebasing: bytes[..<0]) }
        isInsideLongLine = !isAtEnd
        return bytes
    }

    private mutating func read() throws(Fault) {
        // A line that is cut by the end of the buffer moves to its start; it is short, else it had been taken.
        let rest = UnsafeRawBufferPointer(rebasing: buffer[pending])
        buffer.copyMemory(from: rest)
        pending = 0..<rest.count
        let free = UnsafeMutableRawBufferPointer(rebasing: buffer[rest.count...])
        var count = Glibc.read(descriptor, free.baseAddress, free.count)
        while count < 0, isTemporary(errno, descriptor, POLLIN) {
            count = Glibc.read(descriptor, free.baseAddress, free.count)
        }
        guard count >= 0 else { throw Fault(number: errno) }
        isAtEnd = count == 0
        pending = 0..<(rest.count + count)
    }

    /// What a line says; `nil` for a blank line and a comment.
    private static func meaning(of line: UnsafeRawBufferPointer) -> Line? {
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
