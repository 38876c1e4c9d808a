// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import TestNamespaces
import Testing

/// What a terminal shows.
struct TerminalTests {
    @Test(
        arguments: [
            (["TERM=xterm"], true), (["TERM=xterm", "NO_COLOR="], true),
            (["TERM=xterm", "NO_COLOR=1"], false),
            (["TERM=dumb"], false),
        ]
    )
    func `output to a terminal has colour, unless NO_COLOR or TERM forbids it`(
        environment: [String], isColoured: Bool
    ) throws {
        let shown = try onTerminal(["127.0.0.1", "fe80::1", "fe80::1%nosuch"], environment: environment)
        #expect(shown.contains("-R -----ld  \u{1B}[32myes\u{1B}[0m") == isColoured)
        #expect(shown.contains("-- -------  \u{1B}[31mno \u{1B}[0m") == isColoured)
        #expect(shown.contains("-- -------  \u{1B}[35m?  \u{1B}[0m") == isColoured)
        #expect(shown.contains("\u{1B}") == isColoured)
    }

    @Test func `an error is printed once on a terminal`() throws {
        let shown = try onTerminal(["fe80::1%nosuch"], environment: ["TERM=dumb"])
        #expect(shown.components(of: "there is no interface") == 1)
    }

    @Test(
        arguments: [
            ["default", "192.0.2.9", "name-of-thirty-four.characters.test", "2001:db8:85a3::8a2e:370:7334"],
            ["--explain", "default", "2001:db8:85a3::8a2e:370:7334"], ["path"],
        ]
    )
    func `lines fit a terminal of 80 columns, and are whole on a wider one`(arguments: [String]) throws {
        let file = Recordings.path("01-dummy/02-up-default-routes")
        let arguments = arguments + ["--replay", file]
        let (wide, plain) = (
            try onTerminal(arguments, columns: 500), try NetflagsProcess.run(arguments).output
        )
        // The headings are wider than some columns.
        func words(_ line: Substring) -> [Substring] { line.split(separator: " ") }
        let headings = arguments.first == "path" ? 0 : 1
        #expect(
            wide.split(separator: "\r\n").dropFirst(headings).map(words)
                == plain.split(separator: "\n").map(words))
        let narrow = try onTerminal(arguments, columns: 80).split(separator: "\r\n")
        for line in narrow { #expect(line.count <= 80) }
    }

    /// A name behind the other columns made the row longer than the terminal.
    @Test(arguments: [80, 100, 120, 140] as [UInt16])
    func `a reason with a long word fits the terminal`(columns: UInt16) throws {
        let name = "a-name-of-fifty-characters.that-is.in-no-zone.test"
        let shown = try onTerminal(["--timeout", "0", name, "127.0.0.1"], columns: columns)
        #expect(shown.contains("the name \(name)"))
        for line in shown.split(separator: "\r\n") { #expect(line.count <= columns, "\(line)") }
    }

    @Test(
        arguments: [
            (["127.0.0.1"], "TARGET     WR ctiCDld  UP   DEV  GATEWAY  REASON"),
            (["localhost", "--timeout", "0"], "TARGET     WR ctiCDld  UP   "),
            (["watch", "--count", "1", "127.0.0.1"], "TIME           TARGET     WR ctiCDld  UP "),
            (["order", "127.0.0.1"], "RANK  ADDRESS    WR ctiCDld  UP   DEV  SOURCE     RULE  REASON"),
            (["what-if", "--each", "127.0.0.1"], "  KIND     DESCRIPTION "),
        ]
    )
    func `a table on a terminal has headings, and none in a file`(arguments: [String], headings: String)
        throws
    {
        let shown = try onTerminal(arguments, columns: 80).split(separator: "\r\n")
        #expect(shown.contains { $0.hasPrefix(headings) }, "\(shown)")
        #expect(!(try NetflagsProcess.run(arguments).output.contains("WR ctiCDld")))
    }

    @Test(arguments: [["--json", "127.0.0.1"], ["path"], ["--explain", "--json", "default"]])
    func `what is no table has no headings`(arguments: [String]) throws {
        #expect(!(try onTerminal(arguments).contains("REASON")))
    }

    @Test(
        .needs(.veth),
        arguments: [("", "no connected sockets"), ("--state lost", "no such connected sockets")])
    func `sockets says on a terminal that there are none`(options: String, words: String) throws {
        let host = try TestNamespace()
        let terminal = try Terminal(columns: 80)
        let command = host.entering(
            [NetflagsProcess.path, "sockets"] + options.split(separator: " ").map(String.init))
        let process = try NetflagsProcess.start(
            command, descriptors: [terminal.screen, terminal.screen, terminal.screen])
        _ = try NetflagsProcess.wait(process)
        #expect(terminal.content() == "\(words)\r\n")
        #expect(try host.run(command).output.isEmpty)
    }

    @Test func `doctor wraps lines between words`() throws {
        let narrow = try onTerminal(["doctor"], columns: 80).split(separator: "\r\n")
        for line in narrow { #expect(line.count <= 80) }
        #expect(narrow.contains { $0.hasPrefix("groups ") })
        #expect(narrow.contains { $0.hasPrefix("               ") })
    }

    @Test(arguments: [(80, 13), (100, 24)]) func `watch leaves the date out where the terminal is narrow`(
        columns: UInt16, length: Int
    ) throws {
        let shown = try onTerminal(["watch", "--count", "1", "127.0.0.1"], columns: columns)
        let words = (shown.split(separator: "\r\n").last ?? "").split(separator: " ")
        #expect(words.first?.count == length)
        #expect(words.first?.hasSuffix("Z") == true)
        #expect(words.dropFirst().first == "127.0.0.1")
    }

    /// The content of a terminal that both outputs are written to; 0 columns stand for an unknown width.
    private func onTerminal(
        _ arguments: [String],
        environment: [String] = ["TERM=dumb"],
        columns: UInt16 = 0
    ) throws -> String {
        let terminal = try Terminal(columns: columns)
        let process = try NetflagsProcess.start(
            [NetflagsProcess.path] + arguments,
            descriptors: [terminal.screen, terminal.screen, terminal.screen],
            environment: environment
        )
        _ = try NetflagsProcess.wait(process)
        return terminal.content()
    }
}

extension String {
    fileprivate func components(of part: String) -> Int {
        var rest = self[...]
        var count = 0
        while let range = rest.firstRange(of: part) {
            count += 1
            rest = rest[range.upperBound...]
        }
        return count
    }
}
