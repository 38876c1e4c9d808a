// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import netflags

/// Words and files in the place of others.
struct WrongOperandTests {
    private static let recording = Recordings.path("01-dummy/02-up-default-routes")

    @Test(
        arguments: [
            ["timeline", "live", "default"], ["--replay", "live", "default"], ["path", "--replay", "live"],
            ["watch", "--replay", "live", "default"], ["order", "--replay", "live", "192.0.2.1"],
            ["what-if", "--each", "--replay", "live", "default"],
            ["what-if", "--replay", "live", "link set lo down"],
            ["assert", "--replay", "live", "/dev/null"],
        ])
    func `live in the place of a recording is wrong usage, and the message says what asks the kernel`(
        arguments: [String]
    ) throws {
        let result = try NetflagsProcess.run(arguments)
        #expect(result.status == 64)
        #expect(result.errors.contains("the running kernel is asked without --replay"), "\(result.errors)")
    }

    @Test(
        arguments: [
            ["timeline", "default"], ["timeline", "192.0.2.1", "default"], ["diff", "live", "default"],
            ["--replay", "default", "192.0.2.1"], ["watch", "--replay", "192.0.2.1", "default"],
        ])
    func `a target in the place of a recording is wrong usage`(arguments: [String]) throws {
        let result = try NetflagsProcess.run(arguments)
        #expect(result.status == 64)
        #expect(result.errors.contains("is a target: give a recording before it"), "\(result.errors)")
    }

    /// `diff` and `what-if` found nothing that differs, and `--each` a target that is cut off.
    @Test(
        arguments: [
            ["diff", recording, recording, "--interface", "nosuch"],
            ["diff", recording, recording, "fe80::1%nosuch"],
            ["what-if", "--replay", recording, "--interface", "nosuch", "link set lo down", "--", "default"],
            ["what-if", "--each", "--json", "--replay", recording, "--interface", "nosuch", "default"],
        ])
    func `an interface that no state has is an error`(arguments: [String]) throws {
        let result = try NetflagsProcess.run(arguments)
        #expect(result.status == 2)
        #expect(result.errors.contains("there is no interface \"nosuch\": give one"), "\(result.errors)")
    }

    @Test func `the running kernel compared with itself is wrong usage`() throws {
        let result = try NetflagsProcess.run("diff", "live", "live")
        #expect(result.status == 64)
        #expect(result.errors.contains("give a recording for one of them"))
    }

    @Test(
        arguments: [
            (["assert", recording], "it is not a text: give a file with one expectation a line"),
            (["what-if", "--assert", recording, "link set lo down"], "it is not a text"),
            (["what-if", "--batch", recording], "it is not a text: give a file with one change a line"),
            (["assert", "/tmp"], "Is a directory (errno 21); give a file with one expectation a line"),
            (
                ["assert", "live"],
                "No such file or directory (errno 2); give one that exists, with one expectation"
            ),
            (["what-if", "--batch", "live"], "(errno 2); give one that exists, with one change a line"),
            (
                ["what-if", "--each", "--replay-hosts", recording, "default"],
                "give a directory with one recording a host"
            ),
            (
                ["what-if", "--each", "--replay-hosts", "/nosuch", "default"],
                "(errno 2); give one that exists, with one recording"
            ),
        ])
    func `a recording, a directory or no file in the place of a text is an error that says what to give`(
        arguments: [String], part: String
    ) throws {
        let result = try NetflagsProcess.run(arguments)
        #expect(result.status == 2)
        #expect(result.errors.contains(part), "\(result.errors)")
        #expect(result.errors.split(separator: "\n").count == 1)
    }

    /// It wrote a file of that name into the current folder.
    @Test(arguments: ["default", "live", "192.0.2.1", "fe80::1%lo", "lo", "watch"])
    func `record does not write a file with a name that means something else`(word: String) throws {
        try #require(access(word, F_OK) != 0)
        let result = try NetflagsProcess.run("record", word)
        #expect(result.status == 64)
        #expect(result.errors.contains("or ./\(word)\n"), "\(result.errors)")
        #expect(access(word, F_OK) != 0)
    }

    @Test func `record --keep with a file is wrong usage, and leaves the file alone`() throws {
        let file = try Scratch([1, 2, 3])
        let result = try NetflagsProcess.run("record", "--keep", "2M", file.path)
        #expect(result.status == 64)
        #expect(result.errors.contains("is not a directory"), "\(result.errors)")
        #expect(try readRecordingFile(file.path) == [1, 2, 3])
    }

    @Test func `a recording in the place of a target has a note`() throws {
        let name = "/tmp/netflags-note-\(getpid()).rtnl"
        #expect(symlink(Self.recording, name) == 0)
        defer { unlink(name) }
        #expect(TargetQuery.hint(on: name)?.contains("--replay \(name) default") == true)
        let words = try NetflagsProcess.run("what-if", name, "link set lo down")
        #expect(
            words.status == 64 && words.errors.contains("; a recording goes to --replay\n"), "\(words.errors)"
        )
        #expect(TargetQuery.hint(on: "missing.rtnl") == nil)
        #expect(TargetQuery.hint(on: "DEFAULT")?.contains("the default path is \"default\"") == true)
        #expect(TargetQuery.hint(on: "live")?.contains("without --replay") == true)
    }
}
