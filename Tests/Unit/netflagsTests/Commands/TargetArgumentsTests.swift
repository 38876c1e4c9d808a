// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing

@testable import netflags

struct TargetArgumentsTests {
    private static let many = (0..<100).map { "192.0.2.\($0)" }

    @Test func `short command lines and commands without targets are left to the parser`() {
        #expect(TargetArguments(["a", "--json"]) == nil)
        #expect(TargetArguments(["record"] + Self.many) == nil)
        #expect(TargetArguments(["help"] + Self.many) == nil)
    }

    @Test func `options keep their values, and targets their order, wherever they are`() throws {
        let arguments =
            ["--mark", "7"] + Self.many + ["--json", "-", "--timeout=3", "--interface", "-x", "z"]
        let split = try #require(TargetArguments(arguments))
        #expect(split.targets == Self.many + ["-", "z"])
        #expect(split.others == ["--mark", "7", "--json", "--timeout=3", "--interface", "-x"])
    }

    @Test func `everything after -- is a target`() throws {
        let split = try #require(TargetArguments(["watch", "-4"] + Self.many + ["--", "--json", "--"]))
        #expect(split.others == ["watch", "-4"])
        #expect(split.targets == Self.many + ["--json", "--"])
    }

    @Test(arguments: ["check", "watch", "wait"]) func `the options with a value are those of the parser`(
        command: String
    ) throws {
        let help = try NetflagsProcess.run(command, "--help").output
        let names = help.split(separator: "\n").compactMap {
            $0.firstMatch(of: /^  (?:-\w, )?(--[a-z-]+) </)?.1
        }
        #expect(!names.isEmpty)
        #expect(names.allSatisfy { TargetArguments.optionsWithValue.contains(String($0)) }, "\(names)")
    }

    @Test func `thirty thousand targets before an option are evaluated`() throws {
        let targets = (0..<30_000).map { "127.\($0 >> 16).\($0 >> 8 & 255).\($0 & 255)" }
        let result = try NetflagsProcess.run(targets + ["--json"])
        #expect(result.lines.count == targets.count)
        #expect(result.status == 0)
    }
}
