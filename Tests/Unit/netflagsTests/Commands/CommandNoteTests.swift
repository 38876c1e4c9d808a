// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import netflags

struct CommandNoteTests {
    @Test(
        arguments: [
            (["--json", "watch"], "\"watch\": to run the command, put it first"),
            (["example.com", "doctor"], "\"doctor\": to run the command"),
            (["wacht", "a"], "\"wacht\": the command is \"watch\""), (["chec", "a"], "\"check\""),
            (["waitt", "a"], "\"wait\""), (["recird"], "\"record\""),
        ]
    )
    func `a target that is or resembles the name of a command has a note`(arguments: [String], part: String)
        throws
    {
        #expect(try #require(CommandLineRunner.hint(on: arguments)).contains(part))
    }

    @Test(
        arguments: [
            [], ["watch", "a"], ["check", "watch"], ["a", "b"], ["example.com"], ["--json", "a"],
            ["127.0.0.1"],
        ]
    )
    func `other command lines have none`(arguments: [String]) {
        #expect(CommandLineRunner.hint(on: arguments) == nil)
    }

    @Test(arguments: [["--help", "watch"], ["--version", "watch"], ["--json", "--help", "watch"]])
    func `help and the version have none`(arguments: [String]) throws {
        let result = try NetflagsProcess.run(arguments)
        #expect(result.status == 0 && !result.output.isEmpty && result.errors.isEmpty)
    }

    @Test func `the program prints the note on standard error and evaluates the host`() throws {
        let result = try NetflagsProcess.run("--timeout", "0", "127.0.0.1", "path")
        #expect(result.errors.hasPrefix("netflags: asking about a host named \"path\""))
        #expect(result.lines.count == 2)
    }
}
