// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording
import Testing

@testable import netflags

struct AssertTests {
    private static func check(_ lines: String, _ arguments: String...) throws -> NetflagsProcess.Result {
        try NetflagsProcess.run(["assert", "-"] + arguments, input: Array(lines.utf8))
    }

    // MARK: Lines

    @Test(
        arguments: [
            ("default up", "\"up\" is not known here: give reachable, unreachable, via GATEWAY"),
            ("default via", "via needs a value"),
            ("default via eth0", "give one such as 192.0.2.1, or the interface as dev eth0"),
            ("default via 192.0.2.256", "give one such as 192.0.2.1\n"),
            ("default via 192.0.2.1 via 192.0.2.1", "via is given twice"),
            ("default dev a dev b", "dev is given twice"),
            ("default reachable unreachable", "given twice"),
            ("default answers", "answers needs a value"),
            ("default answers yes", "\"yes\" after answers is neither delivered nor dropped"),
            ("default answers dropped answers dropped", "answers is given twice"),
            ("default unreachable answers dropped", "an unreachable target has no answers"),
            ("default flags R", "not the letters WR ctiCDld"), ("default --mark x", "\"x\" is not a mark"),
            ("--mark 1", "there is no target"), ("default --nosuch 1", "nosuch"),
            ("default --protocol 99", "the kernel answers for tcp, udp and icmp only"),
            ("default --protocol icmp --port 80", "have no ports: leave out --port"),
            ("https://example.com/", "example.com"),
        ])
    func `a wrong line is wrong usage, and the message names file, line and what is expected`(
        line: String, message: String
    ) throws {
        let result = try Self.check("# one\n\n127.0.0.1\n\(line)\n")
        #expect(result.status == 64)
        #expect(result.errors.hasPrefix("netflags: stdin:4: "), "\(result.errors)")
        #expect(result.errors.contains(message), "\(result.errors)")
    }

    @Test func `a file without expectations, or that cannot be read, is an error`() throws {
        let empty = try Self.check("# nothing\n")
        #expect(empty.status == 64 && empty.errors.contains("holds no expectation"))
        let missing = try NetflagsProcess.run("assert", "/nosuch/file")
        #expect(missing.status == 2 && missing.errors.contains("/nosuch/file: No such file"))
        let always = try Self.check("default", "--always")
        #expect(always.status == 64 && always.errors.contains("--replay"))
        let both = try Self.check("default", "--replay", "-")
        #expect(both.status == 64 && both.errors.contains("stdin is either"))
    }

    // MARK: Answers

    @Test func `the live kernel is asked, and the lines that do not hold are printed with the reason`() throws
    {
        let good = try Self.check("127.0.0.1 reachable dev lo from 127.0.0.1\nlocalhost\n")
        #expect(good.status == 0 && good.output.isEmpty)
        let bad = try Self.check("127.0.0.1\n127.0.0.1 unreachable # never\n")
        #expect(bad.status == 1)
        #expect(bad.lines.count == 2)
        #expect(bad.lines.first == "stdin:2: 127.0.0.1 unreachable")
        #expect(bad.lines.last?.hasPrefix("  it is reachable: ") == true)
    }

    /// With a mistyped name, unreachable held.
    @Test(arguments: ["reachable", "unreachable"])
    func `nothing is known of an interface that does not exist`(word: String) throws {
        let line = "127.0.0.1 \(word) --interface nosuch0\n"
        let result = try Self.check(line)
        #expect(result.status == 2)
        #expect(result.output.contains("there is no interface \"nosuch0\": give one that `ip link` lists"))
        let changed = try NetflagsProcess.run(
            ["what-if", "--replay", Night.path, "--assert", "-", "link set eth1 down"],
            input: Array(line.utf8))
        #expect(changed.status == 2, "\(changed)")
        let always = try Self.check(line, "--always", "--replay", Night.path)
        #expect(always.status == 2)
        #expect(always.errors.contains("stdin:1: there is no interface \"nosuch0\""), "\(always.errors)")
    }

    /// It was judged as one whose name is mistyped.
    @Test(arguments: [("reachable", 1), ("unreachable", 0)])
    func `an interface that a change removes is judged`(word: String, status: Int32) throws {
        let result = try NetflagsProcess.run(
            ["what-if", "--replay", Night.path, "--at", "02:02", "--assert", "-", "link del eth1"],
            input: Array("10.8.3.4 \(word) --interface eth1\n".utf8))
        #expect(result.status == status, "\(result)")
    }

    @Test func `an answer is compared in each part, in a recording at any time`() throws {
        let lines = """
            default via 192.0.2.254
            default dev eth1
            default from 192.0.2.9
            default flags -- -------
            default via 192.0.2.1 dev eth0 from 192.0.2.7
            default unreachable
            """
        let end = try Self.check(lines, "--json", "--replay", Night.path)
        #expect(end.status == 1)
        let objects = end.lines.compactMap { JSONValue($0) }
        #expect(objects.map { $0["holds"] } == [false, false, false, false, true, false].map(JSONValue.bool))
        #expect(objects.map { $0["line"] } == (1...6).map { .number(Double($0)) })
        for (object, reason) in zip(
            objects,
            [
                "the gateway is 192.0.2.1: ", "the interface is eth0: ", "the source address is 192.0.2.7: ",
                "the flags are -R -------: ",
            ])
        {
            #expect(object["reason"]?.string?.hasPrefix(reason) == true, "\(object)")
        }
        #expect(objects[4]["reason"] == .null)
        let lost = try Self.check("default unreachable", "--replay", Night.path, "--at", "02:10")
        #expect(lost.status == 0)
        let before = try Self.check(
            "default", "--json", "--replay", Night.path, "--at", "2020-01-01T00:00:00Z")
        #expect(before.status == 2)
        #expect(before.lines.first.flatMap { JSONValue($0) }?["holds"] == .null)
    }

    @Test func `an answer that a changed host would drop is expected, or is not`() throws {
        let lines = """
            default -4 answers delivered
            default -4 answers dropped
            192.0.2.7 answers delivered
            224.0.0.1 answers delivered --interface eth0
            198.51.100.20 answers dropped --interface eth1
            """
        let filter = "sysctl net.ipv4.conf.all.rp_filter=1"
        let second = "route add default via 203.0.113.1 metric 200"
        func check(_ changes: String...) throws -> [JSONValue] {
            let result = try NetflagsProcess.run(
                ["what-if", "--json", "--replay", Night.path, "--at", "02:02", "--assert", "-"] + changes,
                input: Array(lines.utf8))
            return result.lines.compactMap { JSONValue($0) }
        }
        let found = try check(second, filter)
        let held: [JSONValue] = [.bool(true), .bool(false), .bool(true), .null, .bool(true)]
        try #require(found.map { $0["holds"] } == held)
        let reasons = found.map { $0["reason"]?.string ?? "" }
        #expect(reasons[1].hasPrefix("an answer would be delivered: "))
        #expect(reasons[3].hasPrefix("whether an answer would be delivered is not known: "))
        let unfiltered = try check(second)
        #expect(unfiltered.last?["reason"]?.string?.hasPrefix("an answer would be delivered: ") == true)
    }

    // MARK: Always

    @Test func `--always finds exactly the spans that a timeline shows, with the same causes`() throws {
        let timeline = try NetflagsProcess.run(["timeline", "--json", Night.path] + Night.targets)
        let expected = timeline.lines.compactMap { JSONValue($0) }.filter { $0["reachable"] == .bool(false) }
        #expect(expected.count > 4)
        let result = try Self.check(
            Night.targets.joined(separator: "\n"), "--json", "--always", "--replay", Night.path)
        #expect(result.status == 1)
        let found = result.lines.compactMap { JSONValue($0) }.filter { $0["holds"] == .bool(false) }
        #expect(found.map { $0["expectation"] } == expected.map { $0["target"] })
        for key in ["from", "to", "cause"] {
            #expect(found.map { $0[key] } == expected.map { $0[key] }, "\(key)")
        }
    }

    @Test func `--always prints the spans with their causes, of each line's own socket`() throws {
        let result = try Self.check(
            "default\n192.0.2.7\ndefault --interface lo unreachable\ndefault --interface lo",
            "--always", "--replay", Night.path)
        #expect(result.status == 1)
        #expect(result.lines.first == "stdin:1: default")
        #expect(result.output.contains(": it is not reachable: eth0 has no carrier\n    because eth0 lost"))
        #expect(!result.output.contains("stdin:2") && !result.output.contains("stdin:3"))
        #expect(result.output.contains("stdin:4: default --interface lo\n"))
    }

    @Test func `another gateway breaks an expectation for as long as it is used`() throws {
        let result = try Self.check(
            "10.8.3.4 via 203.0.113.1", "--json", "--always", "--replay", Night.path)
        let spans = result.lines.compactMap { JSONValue($0) }
        #expect(spans.map { $0["holds"] } == [.bool(true), .bool(false)])
        #expect(spans.last?["cause"]?["kind"] == .string("address"))
        let refused = try Self.check("example.com", "--always", "--replay", Night.path)
        #expect(refused.status == 64 && refused.errors.contains("stdin:1: "))
    }
}
