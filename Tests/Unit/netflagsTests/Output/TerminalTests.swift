// SPDX-License-Identifier: Apache-2.0

import Glibc
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
        #expect(wide.split(separator: "\r\n") == plain.split(separator: "\n"))
        let narrow = try onTerminal(arguments, columns: 80).split(separator: "\r\n")
        for line in narrow { #expect(line.count <= 80) }
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
        let words = shown.split(separator: " ")
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
