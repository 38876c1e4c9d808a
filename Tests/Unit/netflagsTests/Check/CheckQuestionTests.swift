// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkReachability
import Testing

@testable import netflags

@Suite("CheckQuestion")
struct CheckQuestionTests {
    private func parsed(_ arguments: [String]) throws -> CheckQuestion {
        try #require(try Netflags.parseAsRoot(arguments) as? Check).question()
    }

    @Test(
        "a command line of targets alone means the same with and without the parser",
        arguments: [
            ["127.0.0.1"], ["a", "b", "default"], ["", "x y"], ["10.0.0.1", "check"],
            ["a", "doctor", "help"],
            ["http://x/"], ["watch-this"],
        ]
    )
    func plain(arguments: [String]) throws {
        let plain = try #require(CheckQuestion(plain: arguments))
        #expect(try plain == parsed(arguments))
        #expect(try plain == parsed(["check"] + arguments))
    }

    @Test(
        "everything else is left to the parser",
        arguments: [
            [], ["-"], ["--help"], ["a", "-4"], ["a", "--"], ["--", "a"], ["check"], ["check", "a"],
            ["doctor"],
            ["help"], ["a", "-", "b"],
        ]
    )
    func notPlain(arguments: [String]) {
        #expect(CheckQuestion(plain: arguments) == nil)
    }

    @Test("the words that name a command are those of the commands, and help")
    func commandWords() {
        let names = Netflags.configuration.subcommands.compactMap { $0.configuration.commandName }
        #expect(Set(CheckQuestion.commandWords) == Set(names + ["help"]))
    }

    @Test("a host that is called like a command can be asked about")
    func namedLikeACommand() throws {
        #expect(try parsed(["check", "doctor"]).targets == ["doctor"])
        #expect(try parsed(["check", "--", "-x"]).targets == ["-x"])
    }

    @Test("options reach the question")
    func options() throws {
        let question = try parsed([
            "--interface", "eth7", "--source", "192.0.2.9", "--mark", "0x1F", "--timeout", "0.25", "--json",
            "--explain", "-6", "a", "-",
        ])
        var options = ReachabilityOptions()
        options.interface = "eth7"
        options.source = IPAddress(192, 0, 2, 9)
        options.mark = 31
        options.families = .v6
        options.resolutionTimeout = .milliseconds(250)
        #expect(
            question == CheckQuestion(targets: ["a", "-"], options: options, format: .json, explains: true))
    }

    @Test(
        "-4 and -6 together mean both",
        arguments: [
            ([], ReachabilityOptions.Families.all), (["-4"], .v4), (["-6"], .v6), (["-4", "-6"], .all),
            (["-64"], .all),
        ]
    )
    func families(flags: [String], expected: ReachabilityOptions.Families) throws {
        #expect(try parsed(flags + ["a"]).options.families == expected)
    }

    @Test("default is the default path, default. a host of that name")
    func defaultPath() throws {
        #expect(try CheckQuestion.target("default") == .defaultPath)
        #expect(try CheckQuestion.target("default.") == .host("default."))
        #expect(try CheckQuestion.target("0.0.0.0") == .defaultPath)
    }

    @Test(
        "marks are 32 bits in decimal or hexadecimal",
        arguments: [("0", UInt32(0)), ("4294967295", .max), ("0xffffffff", .max), ("0X10", 16)]
    )
    func marks(text: String, expected: UInt32) throws {
        #expect(try OptionValue.mark(text) == expected)
    }

    @Test(
        "other marks are refused",
        arguments: ["", "-1", "+1", "4294967296", "0x", "0x1g", "0x+1", "1.5", "x"])
    func badMarks(text: String) {
        #expect(throws: (any Error).self) { try OptionValue.mark(text) }
    }

    @Test("times are seconds above 0", arguments: ["", "0", "-1", "nan", "inf", "1e300", "5s", " 5"])
    func badTimes(text: String) {
        #expect(throws: (any Error).self) { try OptionValue.seconds(text) }
    }
}
