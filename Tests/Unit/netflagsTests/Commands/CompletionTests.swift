// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import TestNamespaces
import TestSupport
import Testing

/// Completion in real shells, by what happens when Enter is pressed after it.
struct CompletionTests {
    /// Parts of names that shells, terminals or their line editors interpret.
    private static let parts = [
        "$(touch pwned)", "`touch pwned`", "${IFS}", "$HOME", "'", "\"", "\\", "*", "?", "[a-z]", "~", "!!",
        "!n", "#",
        ";touch pwned;", "|touch pwned", "&&touch pwned", "<pwned", ">pwned", "(", ")", "{a,b}", "a", "B",
        "0", "-", ".",
        "@", " ", "=", ":", "%", "^", "\u{1}", "\u{1B}[7m", "\u{7F}", "\u{FFFD}", "ä",
    ]

    /// Names of such parts, the same ones from a seed.
    private static func names(_ count: Int, seed: UInt64) -> [String] {
        var generator = SeededGenerator(seed: seed)
        return (0..<count).map { _ in
            (0..<Int.random(in: 1...5, using: &generator)).map { _ in generator.pick(parts) }.joined()
        }
    }

    @Test(arguments: TypedShell.Kind.allCases)
    func `a name is not offered if a shell interprets any of its characters`(kind: TypedShell.Kind) throws {
        let shell = try TypedShell(kind)
        let names =
            Self.names(200, seed: 1).filter { !$0.isHarmless } + Self.parts.filter { !$0.isHarmless }
        try shell.write(names.joined(separator: "\n") + "\n", to: "names")
        // Not text of any encoding.
        try shell.run(#"printf 'x\377y\nwg-0.1@a_B\n' >>names"#)
        // Every other command with the option has the same function.
        for command in ["", "check ", "watch ", "order ", "path "] {
            let runs = try shell.type(["netflags \(command)--interface \t"])
            #expect(runs.first?.suffix(2) == ["--interface", "wg-0.1@a_B"], "\(command)\(runs)")
        }
        #expect(shell.traces == [])
    }

    /// As if all names were harmless: `grep`, which chooses among them, lets each pass.
    @Test(arguments: TypedShell.Kind.allCases)
    func `a shell inserts what it is offered so that Enter passes it on unchanged`(kind: TypedShell.Kind)
        throws
    {
        let shell = try TypedShell(kind)
        try shell.run(
            """
            printf '%s\\n' '#!/bin/sh' 'exec cat' >bin/grep
            printf '%s\\n' '#!/bin/sh' 'sed -n "$(awk "/^END/ { n++ } END { print n + 1 }" "$NOTES")p" "$NAMES"' >bin/ls
            chmod +x bin/grep
            """)
        let names = Self.names(Rounds.of(40), seed: 2).filter { $0.isInserted(by: kind) }
        try shell.write(names.joined(separator: "\n") + "\n", to: "names")
        let runs = try shell.type(names.map { _ in "netflags --interface \t" })
        for (run, name) in zip(runs, names) {
            // bash would insert some without a backslash, so its script leaves out what bash interprets.
            #expect(run == ["--interface"] + (kind == .bash && !name.isHarmless ? [] : [name]))
        }
        #expect(runs.count == names.count)
        #expect(shell.traces == [])
    }

    @Test(arguments: TypedShell.Kind.allCases)
    func `the name of a file is inserted so that Enter passes it on unchanged`(kind: TypedShell.Kind) throws {
        let shell = try TypedShell(kind)
        let names = Self.names(Rounds.of(30), seed: 3).filter {
            $0.isInserted(by: kind) && !$0.hasPrefix(".")
        }
        var lines: [String] = []
        var expected: [[String]] = []
        for (number, name) in names.enumerated() {
            for (option, file) in [("--replay", name), ("timeline --svg", name + ".svg")] {
                let folder = "files\(number)\(option.count)"
                try shell.run("mkdir \(folder)")
                try shell.write("", to: "\(folder)/\(file)")
                lines.append("netflags \(option) \(folder)/\t")
                expected.append(option.split(separator: " ").map(String.init) + ["\(folder)/\(file)"])
            }
        }
        let runs = try shell.type(lines)
        for (run, expected) in zip(runs, expected) { #expect(run == expected) }
        #expect(runs.count == expected.count)
        #expect(shell.traces == [])
    }

    @Test(arguments: TypedShell.Kind.allCases)
    func `a user is offered by name`(kind: TypedShell.Kind) throws {
        #expect(try TypedShell(kind).type(["netflags --uid roo\t"]) == [["--uid", "root"]])
    }

    /// The interfaces of a namespace, for a user without privileges.
    @Test(.needs(.veth), arguments: TypedShell.Kind.allCases)
    func `the name of an interface runs nothing when it could be completed`(kind: TypedShell.Kind) throws {
        let shell = try TypedShell(kind)
        let host = try TestNamespace(.networkAndMounts)
        let names = [
            "$(>pwned)", "`>pwned`", "a$(>pwned)", ";>pwned;", "|tee pwned".replacing(" ", with: "\u{1}"),
            "*", "?",
            "[a]", "~root", "!!", "'", "\"", "\\", "\u{1B}[7m", "-x",
        ]
        for (number, name) in names.enumerated() {
            try host.wire("w\(number)")
            for change in [["down"], ["name", name]] {
                try #require(try host.run(["ip", "link", "set", "dev", "w\(number)"] + change).status == 0)
            }
        }
        try host.shell("mount -t sysfs none /sys; ip link add x0 type veth peer name x1")
        try host.shell(#"ip link set dev x1 name "$(printf 'x\377')""#)
        try shell.run("rm bin/ls; chmod 0777 .; chmod 0666 completion.*; touch notes; chmod 0666 notes")
        let user = geteuid() == 0 ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : []
        let lines = ["netflags --interface l\t", "netflags --interface x\t", "netflags --interface \t\t\n"]
        let runs = try shell.type(lines) { script in
            _ = try host.run(user + ["sh", "-c", script])
        }
        #expect(runs.contains(["--interface", "lo"]) && runs.contains(["--interface", "x0"]), "\(runs)")
        #expect(shell.traces == [])
        #expect(try host.shell("ls /sys/class/net").contains("$(>pwned)"))
    }
}

extension String {
    /// Whether no shell interprets any character, among those of the parts.
    fileprivate var isHarmless: Bool {
        utf8.allSatisfy("a.B0-@".utf8.contains) && utf8.first.map("aB0".utf8.contains) == true
    }

    /// Whether a shell inserts the name as it is, rather than a part of it or another name.
    ///
    /// Control characters are keys of the line editors. zsh takes what follows a colon for a description, which a
    /// backslash can precede. fish hides names that begin with a dot, and leaves a tilde at the beginning as it is.
    fileprivate func isInserted(by kind: TypedShell.Kind) -> Bool {
        unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F } && !hasPrefix(" ")
            && !hasSuffix(" ")
            && !(kind == .zsh && (contains(":") || contains("\\")))
            && !(kind == .fish && (hasPrefix(".") || hasPrefix("~")))
    }
}
