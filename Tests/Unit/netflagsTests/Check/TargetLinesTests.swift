// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import netflags

struct TargetLinesTests {
    private func lines(_ input: [UInt8]) throws -> [TargetLines.Line] {
        let file = try MemoryFile()
        try file.write(input)
        var reader = TargetLines(descriptor: file.descriptor)
        var lines: [TargetLines.Line] = []
        while let line = try reader.next(beforeReading: {}) { lines.append(line) }
        return lines
    }

    private func targets(_ input: String) throws -> [TargetLines.Line] {
        try lines(Array(input.utf8))
    }

    @Test func `white space, blank lines and comments are skipped`() throws {
        let found = try targets("a\n\n  \t\r\n# no\n   # no\n  b c \r\n\u{B}d\n")
        #expect(found == [.target("a"), .target("b c"), .target("d")])
    }

    @Test(arguments: [("a\nb", 2), ("a\nb\n", 2), ("a\n", 1), ("", 0)]) func `the last line needs no newline`(
        input: String, count: Int
    ) throws {
        #expect(try targets(input).count == count)
    }

    /// Editors of other systems begin a file with it: the first target was an error.
    @Test func `a byte order mark is skipped at the very start, wherever a read cuts it`() throws {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        for (bytes, expected) in [
            (mark + [0x61, 0x0A, 0x62], [.target("a"), .target("b")]), (mark, []), (mark + [0x0A], []),
            ([0x0A] + mark + [0x61], [.target("\u{FEFF}a")]), (mark + mark, [.target("\u{FEFF}")]),
            ([0xEF, 0xBB], [.target("\u{FFFD}")]), ([0xEF, 0x61], [.target("\u{FFFD}a")]),
            ([0x61] + mark, [.target("a\u{FEFF}")]),
        ] as [([UInt8], [TargetLines.Line])] {
            #expect(try lines(bytes) == expected, "\(bytes)")
            var pipe = try Pipe()
            var reader = TargetLines(descriptor: pipe.readEnd)
            var rest = bytes[...]
            var lines: [TargetLines.Line] = []
            while let line = try reader.next(beforeReading: {
                guard var byte = rest.popFirst() else { return pipe.closeWriteEnd() }
                _ = write(pipe.writeEnd, &byte, 1)
            }) { lines.append(line) }
            #expect(lines == expected, "\(bytes) in single bytes")
        }
        let long = [UInt8](repeating: 0x78, count: TargetLines.limit)
        #expect(try lines(mark + long) == [.target(String(decoding: long, as: UTF8.self))])
    }

    @Test func `invalid UTF-8 is decoded with replacement characters`() throws {
        #expect(try lines([0x61, 0xFF, 0x62, 0x0A]) == [.target("a\u{FFFD}b")])
        #expect(try lines([0xC3]) == [.target("\u{FFFD}")])
        #expect(try lines([0x00, 0x0A]) == [.target("\0")])
    }

    @Test(arguments: [TargetLines.limit, TargetLines.limit + 1, 65_535, 65_536, 65_537, 300_000])
    func `a line is too long above the limit, with or without a newline`(length: Int) throws {
        let long = [UInt8](repeating: 0x78, count: length)
        let isShort = length <= TargetLines.limit
        let expected: TargetLines.Line =
            isShort
            ? .target(String(decoding: long, as: UTF8.self))
            : .tooLong(String(repeating: "x", count: 64) + "...")
        #expect(try lines(long) == [expected])
        #expect(try lines(long + [0x0A]) == [expected])
        #expect(try lines([0x61, 0x0A] + long + [0x0A, 0x62]) == [.target("a"), expected, .target("b")])
    }

    @Test func `lines of every length are whole, wherever a read cuts them`() throws {
        let expected = (1...900).map { String(repeating: "y", count: $0 * 7 % 601 + 1) }
        let found = try targets(expected.joined(separator: "\n"))
        #expect(found == expected.map { .target($0) })
    }

    @Test func `a descriptor that cannot be read is a failure with its errno`() {
        var reader = TargetLines(descriptor: -1)
        #expect {
            _ = try reader.next(beforeReading: {})
        } throws: { ($0 as? FileFailure)?.number == 9 }
    }
}
