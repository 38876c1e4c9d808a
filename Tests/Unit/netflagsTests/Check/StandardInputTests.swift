// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing

struct StandardInputTests {
    @Test func `each line has its result in its place, a bad one an error`() throws {
        let input = "# comment\n127.0.0.1\n\nhttp://example.com/\n  127.0.0.2  \r\nfe80::1"
        let result = try NetflagsProcess.run("-", input: input)
        #expect(result.status == 2)
        #expect(result.lines.count == 4)
        #expect(
            result.lines.map { $0.prefix { $0 != " " } } == [
                "127.0.0.1", "http://example.com/", "127.0.0.2", "fe80::1",
            ])
        #expect(
            result.lines[1].contains(
                "error: \"http://example.com/\" is a URL: give the host alone, example.com"))
        let error =
            "netflags: http://example.com/: \"http://example.com/\" is a URL: give the host alone, example.com\n"
        #expect(result.errors == error)
    }

    @Test(arguments: ["", "\n", "# a comment\n"]) func `without any target it is a usage error`(input: String)
        throws
    {
        for command in [["-"], ["--json", "-"], ["watch", "-"], ["wait", "-"]] {
            let result = try NetflagsProcess.run(command, input: Array(input.utf8))
            #expect(result.status == 64)
            #expect(result.output == "")
            #expect(result.errors.hasPrefix("netflags: no target: "))
        }
    }

    /// A bad line alone counted as no target where it had no newline: its result was not written before the end.
    @Test(arguments: [("127.0.0.1", 0), ("127.0.0.1\nfe80::1", 1), ("a b\nfe80::1", 2), ("a b", 2)])
    func `the worst result gives the status`(input: String, expected: Int32) throws {
        #expect(try NetflagsProcess.run("-", input: input).status == expected)
    }

    @Test func `targets before and after - are evaluated in order, and - can be given once`() throws {
        let result = try NetflagsProcess.run("127.0.0.1", "-", "127.0.0.3", input: "127.0.0.2")
        #expect(result.lines.map { $0.prefix(9) } == ["127.0.0.1", "127.0.0.2", "127.0.0.3"])
        #expect(try NetflagsProcess.run("-", "-").status == 64)
    }

    @Test func `invalid UTF-8 is an error in valid UTF-8`() throws {
        let result = try NetflagsProcess.run(["--json", "-"], input: [0x61, 0xFF, 0x20, 0x62, 0x0A])
        let json = try #require(result.lines.first.flatMap { JSONValue($0) })
        #expect(json["target"] == .string("a\u{FFFD} b"))
        #expect(json["error"]?.string?.contains("is not valid UTF-8") == true)
        #expect(result.status == 2)
    }

    @Test func `control characters of a line are not printed`() throws {
        let result = try NetflagsProcess.run("-", input: "\u{1B}]0;title\u{7}\n")
        #expect(
            result.output.unicodeScalars.allSatisfy { $0 == "\n" || $0.value >= 0x20 && $0.value != 0x7F })
    }

    @Test(.enabled(if: !ProcessResources.isSanitized, "sanitizers take memory"))
    func `a million lines pass in bounded memory`() throws {
        // Every fiftieth line is a target: enough results to show a leak in a debug build.
        let lines = "127.0.0.1\n" + String(repeating: "# a comment line\n", count: 49)
        let block = String(repeating: lines, count: 200)
        let (result, peak) = try fed(["-"]) { input in
            for _ in 0..<100 { input.write(block) }
        }
        #expect(result.status == 0)
        #expect(result.lines.count == 20_000)
        #expect(peak < 32 * 1_024, "KiB")
    }

    @Test(.enabled(if: !ProcessResources.isSanitized, "sanitizers take memory"))
    func `a line of ten megabytes is one error`()
        throws
    {
        let part = String(repeating: "x", count: 100_000)
        let (result, peak) = try fed(["--json", "-"]) { input in
            for _ in 0..<100 { input.write(part) }
            input.write("\n127.0.0.1\n")
        }
        // The error is on standard error too.
        let objects = result.lines.filter { $0.hasPrefix("{") }.map { JSONValue($0) }
        #expect(result.status == 2)
        #expect(objects.map { $0?["reachable"] } == [.bool(false), .bool(true)])
        #expect(objects.first??["error"]?.string?.contains("more than 4096 bytes") == true)
        #expect(peak < 32 * 1_024, "KiB")
    }

    /// Runs the program while its input is written, and reads its peak memory, in KiB, before the end.
    private func fed(
        _ arguments: [String],
        _ write: (borrowing Pipe) -> Void
    ) throws -> (result: NetflagsProcess.Result, peak: Int) {
        var input = try Pipe()
        let output = try MemoryFile()
        let process = try NetflagsProcess.start(
            [NetflagsProcess.path] + arguments,
            descriptors: [input.readEnd, output.descriptor, output.descriptor]
        )
        write(input)
        let peak = try NetflagsProcess.peakMemory(of: process)
        input.closeWriteEnd()
        return (try NetflagsProcess.end(process, output: output.text), peak)
    }

    @Test(arguments: [["-"], ["--json", "-"]]) func `a result is written before the next line is read`(
        arguments: [String]
    ) throws {
        var input = try Pipe()
        var output = try Pipe()
        let process = try NetflagsProcess.start(
            [NetflagsProcess.path] + arguments,
            descriptors: [input.readEnd, output.writeEnd, output.writeEnd]
        )
        output.closeWriteEnd()
        for target in ["127.0.0.1", "127.0.0.2"] {
            input.write(target + "\n")
            #expect(output.line().contains(target))
        }
        input.closeWriteEnd()
        #expect(output.line() == "")
        #expect(try NetflagsProcess.end(process).status == 0)
    }

    @Test func `a closed pipe ends it without a message, as SIGPIPE does`() throws {
        let input = try MemoryFile()
        try input.write(Array(String(repeating: "127.0.0.1\n", count: 3_000).utf8))
        let errors = try MemoryFile()
        let process: pid_t = try {
            let output = try Pipe()
            return try NetflagsProcess.start(
                [NetflagsProcess.path, "-"],
                descriptors: [input.descriptor, output.writeEnd, errors.descriptor]
            )
        }()
        let result = try NetflagsProcess.end(process, errors: errors.text)
        #expect(result.signal == SIGPIPE || result.status == 128 + SIGPIPE)
        #expect(result.errors == "")
    }

    @Test func `output that cannot be written is an error with status 2`() throws {
        let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
        defer { close(full) }
        let errors = try MemoryFile()
        let process = try NetflagsProcess.start(
            [NetflagsProcess.path, "127.0.0.1"],
            descriptors: [0, full, errors.descriptor]
        )
        let result = try NetflagsProcess.end(process, errors: errors.text)
        #expect(result.status == 2)
        #expect(
            result.errors == "netflags: cannot write to stdout: No space left on device (errno 28)\n")
    }

    @Test func `input that cannot be read is an error with status 2`() throws {
        let directory = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { close(directory) }
        let output = try MemoryFile()
        let process = try NetflagsProcess.start(
            [NetflagsProcess.path, "-"],
            descriptors: [directory, output.descriptor, output.descriptor]
        )
        let result = try NetflagsProcess.end(process, output: output.text)
        #expect(result.status == 2)
        #expect(result.output == "netflags: cannot read stdin: Is a directory (errno 21)\n")
    }
}
