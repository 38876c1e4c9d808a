// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import netflags

struct CommandLineTests {
    /// The parser's time grows with the square of the number.
    @Test func `a long list of targets is read whole, after options and before none`() throws {
        let targets = (0..<5_000).map { "127.0.\($0 / 250).\($0 % 250)" }
        let result = try NetflagsProcess.run(["check", "--json", "--timeout", "3"] + targets)
        #expect(result.status == 0)
        #expect(result.lines.map { JSONValue($0)?["target"]?.string } == targets)
        let ordered = try NetflagsProcess.run(["order"] + targets.prefix(200))
        #expect(ordered.lines.count >= 200)
        // An option in between, and an operand of a command that takes one.
        let mixed = try NetflagsProcess.run(targets.prefix(100) + ["-4"] + targets.prefix(100))
        #expect(mixed.lines.count == 200)
        #expect(try NetflagsProcess.run(["record"] + targets.prefix(100)).status == 64)
        #expect(try NetflagsProcess.run(["doctor"] + targets.prefix(100)).status == 64)
    }

    @Test(arguments: ["wait", "watch", "timeline", "diff", "what-if"])
    func `the last of a long list of targets is read by each command`(command: String) throws {
        let recording = Recordings.path("01-dummy/02-up-default-routes")
        let operands =
            switch command {
            case "timeline": [recording]
            case "what-if": ["--each", "--replay", recording]
            case "diff": [recording, recording]
            default: [String]()
            }
        let targets = (1...100).map { "127.0.0.\($0)" } + ["10.0.0.0/8"]
        let result = try NetflagsProcess.run([command] + operands + targets)
        #expect(result.status == 64)
        #expect(result.errors.contains("10.0.0.0/8"), "\(result.errors)")
    }

    @Test(arguments: [["--version"], ["watch", "--version"], ["--json", "--version"]])
    func `--version prints the name and the version`(arguments: [String]) throws {
        let result = try NetflagsProcess.run(arguments)
        #expect(result.output == "netflags 0.2.0\n")
        #expect(result.status == 0)
    }

    @Test(
        arguments: [
            ["--help"], ["-h"], ["-help"], ["help"], ["check", "--help"], ["doctor", "--help"],
            ["help", "check"],
        ]
    )
    func `help is printed on standard output, with status 0`(arguments: [String]) throws {
        let result = try NetflagsProcess.run(arguments)
        #expect(result.output.contains("USAGE: netflags"))
        #expect(result.errors == "")
        #expect(result.status == 0)
    }

    @Test(arguments: [["--help"], ["-h"], ["-help"], ["help"], ["--help", "watch"]])
    func `the help names the options of check, and has examples, the exit statuses and where to read on`(
        arguments: [String]
    ) throws {
        let help = try NetflagsProcess.run(arguments).output
        for text in ["Exit status", "Examples:", "--explain", "--interface", "See also:", "doctor", "64"] {
            #expect(help.contains(text), "\(text)")
        }
        #expect(help.split(separator: "\n").allSatisfy { $0.count <= 80 })
    }

    @Test(arguments: [""] + CommandName.all.dropLast())
    func `the help of each command fits a screen of 50 lines`(command: String) throws {
        let arguments = command.isEmpty ? ["--help"] : [command, "--help"]
        let lines = try NetflagsProcess.run(arguments, environment: ["COLUMNS=80"]).output.split(
            separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 51, "\(lines.count)")
    }

    @Test func `a recording is readable by its owner alone`() throws {
        let folder = "/tmp/netflags-mode-\(getpid())"
        defer { unlink(folder) }
        #expect(try NetflagsProcess.run("record", folder).status == 0)
        var status = stat()
        try #require(stat(folder, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
    }

    @Test func `messages call standard input and output stdin and stdout`() throws {
        let replayed = try NetflagsProcess.run("--replay", "-", "127.0.0.1", input: "no recording")
        #expect(replayed.errors.hasPrefix("netflags: cannot read the recording: stdin: "))
        let recorded = try NetflagsProcess.run("record", "-")
        #expect(recorded.errors.hasPrefix("stdout: "))
    }

    @Test(arguments: [("bash", "complete "), ("zsh", "#compdef netflags"), ("fish", "complete -c")])
    func `the completion script of each shell has the options of check and the names of interfaces`(
        shell: String, part: String
    ) throws {
        let result = try NetflagsProcess.run("--generate-completion-script", shell)
        #expect(result.status == 0)
        let other = try NetflagsProcess.run("help", "--generate-completion-script", shell)
        #expect(other.output == result.output)
        #expect(result.output.contains(part))
        for option in ["explain", "interface", "doctor", "timeout", "/sys/class/net"] {
            #expect(result.output.contains(option))
        }
    }

    @Test(
        arguments: [
            (["--ex"], ["--explain"]), (["wa"], ["watch", "wait"]), (["path", "--w"], ["--watch"]),
            (["--json", "--int"], ["--interface"]), (["watch", "--until", "d"], ["down"]),
            (["--interface", "l"], ["lo"]), (["wait", "a", "--verb"], ["--verbose"]),
        ]
    )
    func `bash completes options of the default command, and of the command that is given`(
        words: [String], completions: [String]
    ) throws {
        let script = """
            source <("$0" --generate-completion-script bash); COMP_WORDS=("$0" "$@"); COMP_CWORD=$#
            COMP_LINE="${COMP_WORDS[*]}"; COMP_POINT=${#COMP_LINE}
            _netflags "$0" "${COMP_WORDS[$#]}" "${COMP_WORDS[$#-1]}"; printf '{"word":"%s"}\\n' "${COMPREPLY[@]}"
            """
        let output = try MemoryFile()
        let command = ["bash", "-c", script, NetflagsProcess.path] + words
        let process = try NetflagsProcess.start(command, descriptors: [0, output.descriptor, 2])
        let result = try NetflagsProcess.end(process, output: output.text)
        let found = result.lines.compactMap { JSONValue($0)?["word"]?.string }
        #expect(completions.allSatisfy(found.contains), "\(found)")
        #expect(found.allSatisfy { $0.hasPrefix(words.last ?? "") })
    }

    @Test(
        arguments: [
            ([], "no target"), (["--json"], "no target"), (["--bogus"], "--bogus"),
            (["--bogus", "127.0.0.1"], "--bogus"), (["--mark", "x", "a"], "\"x\" is not a mark"),
            (["--source", "nowhere", "a"], "\"nowhere\" is not an address"),
            (["--timeout", "-1", "a"], "from 0 to 31536000"),
            (["--timeout", "nan", "a"], "from 0 to 31536000"),
            (["--timeout", "31536001", "a"], "from 0 to 31536000"),
            (["check", "--timeot", "1"], "see netflags check --help"), (["--bogus"], "netflags check --help"),
            (["--count", "3", "a"], "--count is an option of watch\n"),
            (["help", "bogus"], "no command \"bogus\""),
            (["watch"], "see netflags watch --help"), (["record"], "see netflags record --help"),
            (["a\u{FFFD}"], "UTF-8"),
            (["--interface"], "--interface"), (["--format", "xml", "a"], "xml"),
            (["--json", "--format", "prometheus", "a"], "exclude each other"), (["doctor", "x"], "x"),
            (["path", "default"], "netflags check TARGET"), (["sockets", "::1"], "its options select some"),
            (["record", "a", "b"], "one file"),
            (["--generate-completion-script", "csh"], "'csh'. Please use"),
        ]
    )
    func `wrong usage is an error in one form, with status 64`(arguments: [String], part: String) throws {
        let result = try NetflagsProcess.run(arguments)
        #expect(result.status == 64)
        #expect(result.output == "")
        #expect(result.errors.split(separator: "\n").allSatisfy { $0.hasPrefix("netflags: ") })
        #expect(result.errors.contains(part))
    }

    @Test(arguments: [[], ["TERM=xterm"]]) func `output to anything but a terminal has no colour`(
        environment: [String]
    ) throws {
        let result = try NetflagsProcess.run("127.0.0.1", environment: environment)
        #expect(!result.output.contains("\u{1B}"))
    }

    @Test func `a trace of netlink has each request and its answer on standard error alone`() throws {
        let result = try NetflagsProcess.run("127.0.0.1", environment: ["NETFLAGS_TRACE=netlink"])
        #expect(try result.output == NetflagsProcess.run("127.0.0.1").output)
        let lines = result.errors.split(separator: "\n")
        for line in lines {
            #expect(
                line.wholeMatch(of: /[0-9]+\.[0-9]{6} [<>] [A-Z_]+ (type=[0-9]+ )?seq=.* \(.+\)/) != nil,
                "\(line)")
        }
        for (direction, type) in [(">", "RTM_GETROUTE"), ("<", "RTM_NEWROUTE")] {
            #expect(lines.contains { $0.contains(" \(direction) \(type) ") }, "\(result.errors)")
        }
    }
}
