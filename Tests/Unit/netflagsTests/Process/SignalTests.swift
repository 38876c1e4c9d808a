// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

struct SignalTests {
    /// The handlers of both signals took the place of the disposition that nohup and sh had set.
    @Test(
        arguments: [
            ["watch", "--json", "127.0.0.1"], ["path", "--watch", "--json"], ["record", "--events", "-"],
        ],
        [("INT", SIGINT), ("TERM", SIGTERM)]
    )
    func `a signal that was ignored at the start stays ignored, and the other ends it`(
        arguments: [String], ignored: (name: String, number: Int32)
    ) throws {
        var output = try Pipe()
        let errors = try MemoryFile()
        let process = try NetflagsProcess.start(
            ["sh", "-c", "trap '' \(ignored.name); exec \"$0\" \"$@\"", NetflagsProcess.path] + arguments,
            descriptors: [0, output.writeEnd, errors.descriptor])
        output.closeWriteEnd()
        // The first output comes after the handlers are set.
        var byte: UInt8 = 0
        #expect(read(output.readEnd, &byte, 1) == 1)
        let (isIgnored, other) = (try isIgnoring(ignored.number, process), SIGINT + SIGTERM - ignored.number)
        #expect(isIgnored)
        #expect(try !isIgnoring(other, process))
        kill(process, ignored.number)
        kill(process, other)
        while read(output.readEnd, &byte, 1) == 1 {}
        let result = try NetflagsProcess.end(process, errors: errors.text)
        if arguments[0] == "record" {
            #expect(result.status == 0)
        } else {
            #expect(result.signal == other)
        }
    }

    /// Whether a process ignores a signal.
    private func isIgnoring(_ number: Int32, _ process: pid_t) throws -> Bool {
        let mask = try NetflagsProcess.status(of: process, "SigIgn")
        return try #require(UInt64(mask, radix: 16)) & 1 << UInt64(number - 1) != 0
    }
}
