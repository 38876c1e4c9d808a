// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import netflags

struct TimelineCommandTests {
    @Test func `bars are printed, and the status is that of the worst time`() throws {
        let result = try NetflagsProcess.run(["timeline", "--explain", Night.path] + Night.targets)
        #expect(result.status == 1)
        #expect(result.lines.count == 1 + 4 + 1 + 5)
        for (target, line) in zip(Night.targets, result.lines.dropFirst()) {
            #expect(line.hasPrefix("\(target) "))
            #expect(line.unicodeScalars.count == 80)
        }
        let good = try NetflagsProcess.run("timeline", Night.path, "192.0.2.7")
        #expect(good.status == 0)
        #expect(good.output.contains("100.0%"))
    }

    @Test func `JSON has an object for each interval, with the keys of check and its cause`() throws {
        let result = try NetflagsProcess.run("timeline", "--json", Night.path, "default")
        let check = try NetflagsProcess.run("--json", "--replay", Night.path, "default")
        let last = try #require(check.lines.first.flatMap { JSONValue($0) })
        let intervals = try result.lines.map { try #require(JSONValue($0)) }
        #expect(intervals.count == 3)
        for key in ["target", "flags", "rawValue", "letters", "reachable", "interface", "gateway", "reason"] {
            #expect(intervals.last?[key] == last[key], "\(key)")
        }
        #expect(intervals.map { $0["isRecorded"] } == [.bool(true), .bool(true), .bool(true)])
        for (one, next) in zip(intervals, intervals.dropFirst()) { #expect(one["to"] == next["from"]) }
        #expect(intervals[0]["from"] == .string("2026-11-20T02:00:00.000Z"))
        #expect(intervals[0]["cause"] == .null)
        #expect(intervals[1]["cause"]?["kind"] == .string("link"))
        #expect(intervals[1]["cause"]?["description"] == .string("eth0 lost its carrier"))
        #expect(intervals[1]["cause"]?["time"] == intervals[1]["from"])
        #expect(intervals[1]["cause"]?["origin"] == .null)
        #expect(intervals[1]["cause"]?["port"] == .null)
    }

    @Test(
        arguments: [
            ("198.51.100.20", ["request 1262", "request 1426", "request 1429", "request 1431"]),
            ("10.8.3.4", ["lifetimeEnd null", "request 2285"]),
        ])
    func `JSON has who asked for a cause, and the port`(target: String, words: [String]) throws {
        let result = try NetflagsProcess.run("timeline", "--json", Night.path, target)
        let causes = try result.lines.map { try #require(JSONValue($0))["cause"] }
        let found = causes.compactMap { cause -> String? in
            guard let origin = cause?["origin"]?.string else { return nil }
            return "\(origin) \(cause?["port"]?.number.map { "\(Int($0))" } ?? "null")"
        }
        #expect(found == words)
    }

    @Test func `a recording on standard input gives the same timeline`() throws {
        let direct = try NetflagsProcess.run("timeline", Night.path, "default")
        let piped = try NetflagsProcess.run(
            ["timeline", "-", "default"], input: try readRecordingFile(Night.path))
        #expect(piped.output == direct.output)
    }

    @Test func `a span can be given as times of day`() throws {
        let result = try NetflagsProcess.run(
            "timeline", "--json", "--from", "02:10", "--to", "2026-11-20T02:20:00Z", Night.path, "default")
        let intervals = result.lines.compactMap { JSONValue($0) }
        #expect(intervals.map { $0["reachable"] } == [.bool(false), .bool(true)])
        #expect(intervals.first?["from"] == .string("2026-11-20T02:10:00.000Z"))
        #expect(intervals.last?["to"] == .string("2026-11-20T02:20:00.000Z"))
        let empty = try NetflagsProcess.run(
            "timeline", "--from", "2030-01-01T00:00:00Z", Night.path, "default")
        #expect(empty.status == 2)
        #expect(
            empty.errors.contains(
                "it is of 2026-11-20T02:00:00.000Z to 2026-11-20T02:54:05.559Z: give other times"),
            "\(empty.errors)")
    }

    @Test func `the picture is written to a file that only its owner can read, or to standard output`() throws
    {
        let file = try Scratch(Array("<svg height=\"1\"/>".utf8))
        chmod(file.path, 0o644)
        let result = try NetflagsProcess.run("timeline", "--svg", file.path, Night.path, "default")
        #expect(result.status == 1)
        #expect(result.output.contains("█"))
        let written = String(decoding: try readRecordingFile(file.path), as: UTF8.self)
        #expect(written.hasPrefix("<svg ") && written.hasSuffix("</svg>\n"))
        var status = stat()
        #expect(stat(file.path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        let printed = try NetflagsProcess.run("timeline", "--svg", "-", Night.path, "default")
        #expect(printed.output == written)
    }

    /// `--svg night.rtnl night.rtnl` replaced the recording.
    @Test func `a picture takes the place of no other file`() throws {
        let recording = try Scratch(try readRecordingFile(Night.path))
        let result = try NetflagsProcess.run("timeline", "--svg", recording.path, recording.path, "default")
        #expect(result.status == 2)
        #expect(result.errors.contains("a file of another kind has this name"), "\(result.errors)")
        #expect(try readRecordingFile(recording.path) == readRecordingFile(Night.path))
    }

    @Test func `a link, a device or a full disk is an error, and nothing is left behind`() throws {
        let file = try Scratch([1, 2, 3])
        let link = file.path + ".link"
        #expect(symlink(file.path, link) == 0)
        defer { unlink(link) }
        for (path, message) in [
            (link, "symbolic link"), ("/dev/null", "not a regular file"), ("/nosuch/x", "No such file"),
        ] {
            let result = try NetflagsProcess.run("timeline", "--svg", path, Night.path, "default")
            #expect(result.status == 2)
            #expect(result.errors.contains(message), "\(result.errors)")
        }
        #expect(try readRecordingFile(file.path) == [1, 2, 3])
    }

    @Test func `what is given the wrong way round is wrong usage, and the message has the order`() throws {
        let swapped = try NetflagsProcess.run("timeline", "default", Night.path)
        #expect(swapped.status == 64)
        #expect(swapped.errors.contains("the recording comes first"), "\(swapped.errors)")
        let span = try NetflagsProcess.run(
            "timeline", "--from", "2026-11-20T03:00:00Z", "--to", "2026-11-20T02:00:00Z", Night.path,
            "default")
        #expect(span.status == 64)
        #expect(span.errors.contains("--from is after --to"), "\(span.errors)")
    }

    @Test func `a recording without events holds no time`() throws {
        let path = Recordings.path("01-dummy/02-up-default-routes")
        let result = try NetflagsProcess.run("timeline", path, "default")
        #expect(result.status == 2)
        #expect(result.errors.contains("record with --events"))
    }

    /// The picture showed no more than that the target was never reachable.
    @Test(arguments: [[], ["--json"], ["--format", "prometheus"]])
    func `an interface that the recording never has is an error for each target`(format: [String]) throws {
        let targets = ["default", "192.0.2.9"]
        let result = try NetflagsProcess.run(
            ["timeline", "--interface", "eth9"] + format + [Night.path] + targets)
        #expect(result.status == 2)
        let errors = targets.map {
            "netflags: \($0): there is no interface \"eth9\": give one that `ip link` lists\n"
        }
        #expect(result.errors == errors.joined())
        #expect(!result.output.isEmpty)
    }

    @Test func `a part of a recording does not show that an interface is mistyped`() throws {
        let result = try NetflagsProcess.run(
            "timeline", "--json", "--interface", "eth9", "--from", "2000-01-01T00:00:00Z", Night.path,
            "default")
        #expect(result.status == 1, "\(result.errors)")
        #expect(result.errors.isEmpty)
    }

    @Test func `an interface that a recording has for some of its time is none`() throws {
        let result = try NetflagsProcess.run(
            "timeline", "--json", "--interface", "eth1", Night.path, "default")
        #expect(result.status != 2, "\(result.errors)")
        #expect(result.errors.isEmpty)
    }

    /// The loss had the first event as its cause: the monitor evaluates it at once, and what follows together.
    @Test(arguments: [([0, 2, 4], ".004"), ([0, 60, 70], ".070"), ([0, 20, 30, 40, 50], ".050")])
    func `a loss begins with the event after which it lasts`(milliseconds: [Int64], end: String) throws {
        let file = try Scratch(RouteRecording.flap(of: milliseconds))
        let result = try NetflagsProcess.run("timeline", "--json", "--losses", file.path, "default")
        let losses = result.lines.compactMap { JSONValue($0) }
        #expect(losses.count == 1, "\(result.output)")
        #expect(losses.first?["from"]?.string?.dropLast().hasSuffix(end) == true, "\(result.output)")
        #expect(losses.first?["cause"]?["time"] == losses.first?["from"])
    }

    @Test func `a loss that the next burst interrupts is two`() throws {
        let file = try Scratch(RouteRecording.flap(of: [0, 600, 900]))
        let result = try NetflagsProcess.run("timeline", "--json", "--losses", file.path, "default")
        #expect(result.lines.count == 2, "\(result.output)")
    }

    /// It had been the whole recording.
    @Test(arguments: [
        (["--from", "02:20", "--to", "02:10"], "--to is before --from, 2026-11-20T02:20:00.000Z"),
        (["--to", "01:10"], "--to is before the start of the recording"),
    ])
    func `an end on the day after the recording is wrong usage`(span: [String], words: String) throws {
        let result = try NetflagsProcess.run(["timeline"] + span + [Night.path, "default"])
        #expect(result.status == 64)
        #expect(result.output.isEmpty)
        #expect(result.errors.contains(words), "\(result.errors)")
        #expect(result.errors.contains("give a later time"))
    }

    /// No other time would help.
    @Test(arguments: ["--from", "--to"]) func `a recording without events holds no time in any span`(
        option: String
    ) throws {
        let path = Recordings.path("01-dummy/02-up-default-routes")
        let result = try NetflagsProcess.run("timeline", option, "2031-01-01", path, "default")
        #expect(result.status == 2)
        #expect(result.errors.contains("record with --events"), "\(result.errors)")
    }

    @Test(
        arguments: [
            ([Night.path], "give an address, or default"),
            ([Night.path, "example.com"], "give one that netflags order example.com prints"),
            (["--from", "soon", Night.path, "default"], "or a time of day such as 03:02"),
            (["--losses", Night.path, "default"], "give --json\n"),
            (["--json", "--cursor-file", "-", Night.path, "default"], "give the name of a file"),
            (["--cursor-file", "x", Night.path, "default"], "give --json or --format prometheus"),
            (["--format", "openmetrics", "--cursor-file", "x", Night.path, "default"], "counters"),
            (["--format", "prometheus", "--host", "x", Night.path, "default"], "--format openmetrics"),
            (["--json", "--format", "text", Night.path, "default"], "exclude each other"),
            (["--json", "--svg", "-", Night.path, "default"], "give a file for --svg"),
        ]
    )
    func `a usage error names what to write instead`(arguments: [String], message: String) throws {
        let result = try NetflagsProcess.run(["timeline"] + arguments)
        #expect(result.status == 64)
        #expect(result.errors.contains(message), "\(result.errors)")
    }
}
