// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
import NetlinkRecording
import Testing

@testable import netflags

/// A recorded dummy interface is set up, loses its carrier, has it again, goes down and away.
struct WatchReplayTests {
    private static let targets = ["default", "198.51.100.7", "127.0.0.1"]
    private let file: Scratch

    init() throws {
        let folder = Recordings.path("01-dummy").split(separator: "/", omittingEmptySubsequences: false)
            .dropLast()
        let parts = ["01-created-down/state.rtnl", "01-created-down/neigh.nl", "events.rtmon"]
        file = try Scratch(
            parts.flatMap { try readRecordingFile((folder + [$0[...]]).joined(separator: "/")) })
    }

    private func replay(_ arguments: String..., input: [UInt8] = []) throws -> NetflagsProcess.Result {
        try NetflagsProcess.run(["watch", "--json", "--replay", file.path] + arguments, input: input)
    }

    @Test func `each change of the library's replay has a line with its time`() throws {
        let result = try NetflagsProcess.run(["watch", "--json", "--replay", file.path] + Self.targets)
        #expect(result.status == 0)
        var rows = result.lines.map { JSONValue($0) }[...]
        var replay = try Recording(path: file.path).replay(
            of: Self.targets.map { .report(of: try TargetQuery(targets: []).target($0)) })
        while case .change(let change) = try replay.next() {
            let row = try #require(rows.popFirst() ?? nil)
            #expect(row["target"]?.string == Self.targets[change.index])
            #expect(row["time"]?.string == change.time.description)
            #expect(row["letters"]?.string == (try change.result.get()).flags.letters)
        }
        #expect(rows.isEmpty)
        #expect(result.lines.count > Self.targets.count)
    }

    @Test func `--changes report also has the lines of changes that leave the flags as they are`() throws {
        let arguments = ["watch", "--replay", Night.path, "default", "198.51.100.1"]
        let flags = try NetflagsProcess.run(arguments).lines.count
        let report = try NetflagsProcess.run(arguments + ["--changes", "report"]).lines.count
        #expect(flags == 10 && report == 12)
    }

    @Test func `text has the same lines, and a pipe those of the file`() throws {
        let bytes = try readRecordingFile(file.path)
        let text = try NetflagsProcess.run(["watch", "--replay", file.path] + Self.targets)
        #expect(text.lines.count == (try replay("default", "198.51.100.7", "127.0.0.1")).lines.count)
        let piped = try NetflagsProcess.run(["watch", "--replay", "-"] + Self.targets, input: bytes)
        #expect(piped.output == text.output)
        #expect(piped.status == 0)
    }

    @Test func `targets from stdin have the same lines, and a name among them an error`() throws {
        let input = Array("# comment\ndefault\nexample.com\n".utf8)
        let result = try replay("-", input: input)
        let rows = result.lines.compactMap { JSONValue($0) }
        #expect(rows.first?["target"]?.string == "example.com")
        #expect(rows.first?["error"]?.string?.contains("a recording contains no names") == true)
        let others = try replay("default").lines
        #expect(result.lines.dropFirst().elementsEqual(others))
    }

    @Test func `--count and --until end the replay, and an end that does not come is status 1`() throws {
        let all = try replay("default").lines
        let counted = try replay("--count", "2", "default")
        #expect(counted.lines == Array(all.prefix(2)) && counted.status == 0)
        let until = try replay("--until", "up", "default")
        #expect(until.status == 0)
        #expect(until.lines.last.flatMap { JSONValue($0) }?["reachable"] == .bool(true))
        #expect(all.starts(with: until.lines))
        #expect(try replay("--until", "down", "127.0.0.1").status == 1)
        #expect(try replay("--count", "1000", "127.0.0.1").status == 1)
    }

    @Test func `--exec runs for every change`() throws {
        let result = try replay("--exec", "echo ran $NETFLAGS_LETTERS", "default")
        let ran = result.lines.filter { $0.hasPrefix("ran ") }
        let rows = result.lines.filter { $0.hasPrefix("{") }.compactMap { JSONValue($0) }
        #expect(ran.count > 2)
        #expect(ran.map { String($0.dropFirst(4)) } == rows.dropFirst().compactMap { $0["letters"]?.string })
    }

    @Test(arguments: [["example.com"], [], ["-", "-"]])
    func `a name, no target and stdin twice are usage errors`(targets: [String]) throws {
        #expect(try NetflagsProcess.run(["watch", "--replay", file.path] + targets).status == 64)
        let named = try NetflagsProcess.run("watch", "--replay", file.path, "example.com")
        #expect(named.errors.contains("give an address of example.com"))
        #expect(try NetflagsProcess.run("watch", "--replay", "-", "-").status == 64)
    }

    @Test func `a recording that cannot be read is status 2`() throws {
        #expect(try NetflagsProcess.run("watch", "--replay", "/nonexistent", "default").status == 2)
        let bytes = try readRecordingFile(file.path)
        let cut = try Scratch(Array(bytes.prefix(200)))
        for command in Self.commands(cut.path) {
            let result = try NetflagsProcess.run(command)
            #expect(result.status == 2 && result.output.isEmpty, "\(command)")
            // Once, and not as damage too.
            #expect(result.errors.split(separator: "\n").count == 1, "\(command): \(result.errors)")
        }
    }

    /// Every command that reads a recording.
    private static func commands(_ path: String) -> [[String]] {
        [
            ["--replay", path, "default"], ["watch", "--replay", path, "default"],
            ["timeline", path, "default"], ["path", "--replay", path], ["diff", path, path, "default"],
        ]
    }

    /// `check --replay` refused what `watch --replay` read.
    @Test(arguments: [Array(repeating: UInt8(0), count: 512), [40, 0, 0, 0, 24, 0]])
    func `every command reads a damaged file up to the damage, and names its byte once`(damage: [UInt8])
        throws
    {
        let bytes = try readRecordingFile(file.path)
        let damaged = try Scratch(bytes + damage)
        for (command, whole) in zip(Self.commands(damaged.path), Self.commands(file.path)) {
            let result = try NetflagsProcess.run(command)
            let expected = try NetflagsProcess.run(whole)
            #expect(result.status == expected.status, "\(command)")
            #expect(result.output == expected.output, "\(command)")
            let count = result.errors.split(separator: "\n").filter { $0.contains("byte \(bytes.count): ") }
                .count
            #expect(count == (command[0] == "diff" ? 2 : 1), "\(command): \(result.errors)")
        }
    }
}
