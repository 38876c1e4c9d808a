// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing

@testable import netflags

struct ParserMessageTests {
    /// What the program prints about a command line that the parser refuses.
    private func message(_ arguments: [String]) -> ParserMessage {
        do {
            _ = try Netflags.parseCommand(arguments)
            return ParserMessage("")
        } catch {
            let command = arguments.first.flatMap { CommandName.all.contains($0) ? $0 : nil }
            return ParserMessage(Netflags.message(for: error), of: command)
        }
    }

    /// `--udp` had the suggestion `--uid`, and `--out` had `--port`: the parser takes any option for one with three
    /// other letters.
    @Test(arguments: [
        "--udp", "--tcp", "--dev", "--user", "--live", "--dns", "--via", "--out", "--all", "--bar", "--iface",
        "-vv",
    ])
    func `an unknown option that resembles none has no suggestion`(option: String) {
        #expect(message([option, "a"]).text == "unknown option '\(option)'")
    }

    @Test(
        arguments: [
            ("--jsn", "--json"), ("--explian", "--explain"), ("--quite", "--quiet"),
            ("--interfaces", "--interface"),
            ("-json", "--json"), ("--sourc", "--source"), ("--josn", "--json"), ("--int", "--interface"),
        ])
    func `one with a typo has the option that is meant`(option: String, meant: String) {
        #expect(message([option, "a"]).text == "unknown option '\(option)'. Did you mean '\(meant)'?")
    }

    @Test(
        arguments: [
            (["--count", "3", "a"], "--count is an option of watch"),
            (["--to", "3", "a"], "--to is an option of timeline, diff"),
            (["wait", "-q", "a"], "-q is an option of check, sockets"),
            (
                ["diff", "--at", "3", "a", "b"],
                "--at is an option of check, path, what-if, assert, trace, order"
            ),
            // The help of other options has these, too.
            (
                ["wait", "--replay", "a", "b"],
                "--replay is an option of check, watch, path, what-if, assert, trace, order"
            ),
            (
                ["sockets", "-6"],
                "-6 is an option of check, watch, wait, path, timeline, diff, what-if, trace, order"
            ),
        ])
    func `an option of other commands has their names, and no suggestion`(arguments: [String], note: String) {
        let message = message(arguments)
        #expect(message.notes == [note])
        #expect(!message.text.contains("Did you mean"))
    }

    @Test func `a command with hyphens has a note that it comes first`() {
        #expect(message(["--watch", "a"]).notes == ["watch is a command, and comes first: netflags watch"])
        #expect(message(["what-if", "--watch", "a"]).notes == ["--watch is an option of path, sockets"])
    }

    @Test(
        arguments: [
            (["--mark", "x", "a"], "--mark: \"x\" is not a mark: give a number"),
            (["--timeout", "'a': b", "a"], "--timeout: \"'a': b\" is not a time: "),
            (
                ["--format", "xml", "a"],
                "--format: \"xml\" is not known: give one of text, json or prometheus"
            ),
            (["--interface"], "missing value for '--interface <name>'"),
            (["--interface", "", "a"], "--interface: the interface is empty: give one"),
            (["--arriving", "", "a"], "--arriving: the interface is empty: give one"),
            (["--why-not", "", "a"], "--why-not: the interface is empty: give one"),
        ])
    func `a wrong value is there once, with what to give`(arguments: [String], text: String) {
        #expect(message(arguments).text.hasPrefix(text), "\(message(arguments).text)")
    }

    @Test func `a message of the program keeps the case of the user's words`() {
        #expect(ParserMessage("Night.rtnl is a directory").text == "Night.rtnl is a directory")
    }

    @Test(
        arguments: [
            (["diff", "a"], "live is the running kernel"),
            (["timeline"], "netflags timeline RECORDING default"),
            (["assert"], "one expectation a line"), (["record"], "one file"),
            (["path", "default"], "netflags check TARGET"),
        ])
    func `a missing operand, or one too many, has a note on what the command takes`(
        arguments: [String], part: String
    ) {
        let notes = message(arguments).notes
        #expect(notes.count == 1 && notes.allSatisfy { $0.contains(part) }, "\(notes)")
    }
}
