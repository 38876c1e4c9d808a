// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkReachability
import Testing

@testable import netflags

@Suite("TargetQuery")
struct TargetQueryTests {
    private func parsed(_ arguments: [String]) throws -> TargetQuery {
        try #require(try Netflags.parseAsRoot(arguments) as? Check).options.query()
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
        let plain = try #require(TargetQuery(plain: arguments))
        #expect(try plain == parsed(arguments))
        #expect(try plain == parsed(["check"] + arguments))
    }

    @Test(
        "every other command line is left to the parser",
        arguments: [
            [], ["-"], ["--help"], ["a", "-4"], ["a", "--"], ["--", "a"], ["check"], ["check", "a"],
            ["doctor"],
            ["help"], ["a", "-", "b"],
        ]
    )
    func notPlain(arguments: [String]) {
        #expect(TargetQuery(plain: arguments) == nil)
    }

    @Test("the names of commands are those of the subcommands, and help")
    func commandNames() {
        let names = Netflags.configuration.subcommands.compactMap { $0.configuration.commandName }
        #expect(Set(Netflags.commandNames) == Set(names + ["help"]))
    }

    @Test("a host with the name of a command is evaluated after check or --")
    func namedLikeACommand() throws {
        #expect(try parsed(["check", "doctor"]).targets == ["doctor"])
        #expect(try parsed(["check", "--", "-x"]).targets == ["-x"])
    }

    @Test("options are part of the query")
    func options() throws {
        let query = try parsed([
            "--interface", "eth7", "--source", "2001:db8::9", "--mark", "0x1F", "--timeout", "0.25", "--json",
            "--explain", "-6", "a", "-",
        ])
        var options = ReachabilityOptions()
        options.interface = "eth7"
        options.sourceAddress = IPAddress("2001:db8::9")
        options.mark = 31
        options.families = .v6
        options.resolutionTimeout = .milliseconds(250)
        #expect(
            query == TargetQuery(targets: ["a", "-"], options: options, format: .json, explains: true))
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

    @Test("default is the default path, and default. a host of that name")
    func defaultPath() throws {
        #expect(try TargetQuery(targets: []).target("default") == .defaultPath)
        #expect(try TargetQuery(targets: []).target("default.") == .host("default."))
        #expect(try TargetQuery(targets: []).target("0.0.0.0") == .defaultPath)
    }

    @Test(
        "marks are 32 bits in decimal or hexadecimal",
        arguments: [("0", UInt32(0)), ("4294967295", .max), ("0xffffffff", .max), ("0X10", 16)]
    )
    func marks(text: String, expected: UInt32) throws {
        #expect(try OptionValue.number(text, "mark", 0...UInt32.max) == expected)
    }

    @Test(
        "other marks are refused",
        arguments: ["", "-1", "+1", "4294967296", "0x", "0x1g", "0x+1", "1.5", "x"])
    func badMarks(text: String) {
        #expect(throws: (any Error).self) { try OptionValue.number(text, "mark", 0...UInt32.max) }
    }

    @Test(
        "times are seconds from 0 to a year",
        arguments: [("0", Duration.zero), ("0.5", .milliseconds(500)), ("31536000", .seconds(31_536_000))])
    func times(text: String, expected: Duration) throws {
        #expect(try OptionValue.seconds(text) == expected)
    }

    @Test("other times are refused", arguments: ["", "-1", "nan", "inf", "31536001", "1e300", "5s", " 5"])
    func badTimes(text: String) {
        #expect(throws: (any Error).self) { try OptionValue.seconds(text) }
    }

    @Test("a name that is not valid UTF-8 is refused")
    func invalidUTF8() {
        #expect(throws: ReachabilityError.self) { try TargetQuery(targets: []).target("a\u{FFFD}b") }
    }
}
