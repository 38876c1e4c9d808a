// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import netflags

struct ProgressLineTests {
    /// What a line writes that is shown twice and erased twice.
    private func written(
        _ noun: String = "targets", due: ContinuousClock.Instant? = nil
    ) throws -> String {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let output = Output(descriptor: ends[1])
        var line = ProgressLine(total: 103, noun, output: output)
        if let due { line.due = due }
        line.show(9)
        line.show(10)
        line.erase()
        line.erase()
        var mark = ByteBuffer()
        mark.append(".")
        try output.write(&mark)
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(ends[0], &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }

    @Test func `the line is rewritten, and erased once`() throws {
        let text = try written(due: .now)
        let erased = String(repeating: " ", count: "compared 10 of 103 targets".count)
        #expect(
            text == "\rcompared 9 of 103 targets\rcompared 10 of 103 targets\r\(erased)\r.")
    }

    @Test func `the line says what is counted`() throws {
        let text = try written("recordings", due: .now)
        #expect(text.hasPrefix("\rcompared 9 of 103 recordings\r"))
    }

    @Test func `nothing is shown before it is due`() throws {
        #expect(try written(due: .now + .seconds(3600)) == ".")
    }

    @Test func `nothing is shown where the output is not a terminal`() throws {
        #expect(try written() == ".")
    }
}
