// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import TestNamespaces
import TestSupport
import Testing

@Suite(.needs(.veth))
struct WatchTests {
    private static let targets = ["192.0.2.9", "192.0.2.1", "198.51.100.1", "default", "127.0.0.1"]

    @Test func `each change of a target has one line, with the flags that check finds`() throws {
        let host = try TestNamespace.oneWire()
        var story = Story(try RunningNetflags(["watch", "--json"] + Self.targets, in: host), host)
        try story.expect([
            "192.0.2.9": "-R ------d", "192.0.2.1": "-R -----ld", "198.51.100.1": "-- -------",
            "default": "-- -------", "127.0.0.1": "-R -----ld",
        ])
        try host.ip("route add default via 192.0.2.254")
        try story.expect(["198.51.100.1": "-R -------", "default": "-R -------"])
        try host.ip("link set w0-far down")
        try story.expect([
            "192.0.2.9": "-- -------", "198.51.100.1": "-- -------", "default": "-- -------",
        ])
        try host.ip("link set w0-far up")
        try story.expect([
            "192.0.2.9": "-R ------d", "198.51.100.1": "-R -------", "default": "-R -------",
        ])
        try host.ip("route del default")
        try story.expect(["198.51.100.1": "-- -------", "default": "-- -------"])
        try host.ip("addr del 192.0.2.1/24 dev w0")
        try story.expect(["192.0.2.9": "-- -------", "192.0.2.1": "-- -------"])
        try host.ip("addr add 192.0.2.1/24 dev w0")
        try story.expect(["192.0.2.9": "-R ------d", "192.0.2.1": "-R -----ld"])
        try host.ip("link set w0 down")
        try story.expect(["192.0.2.9": "-- -------"])
        try host.ip("link del w0")
        try story.expect(["192.0.2.1": "-- -------"])
        try story.expectEnd()
    }

    @Test func `a target that cannot be evaluated has its error in its line, and the others go on`() throws {
        let host = try TestNamespace.withUndecidedTarget()
        let watch = try RunningNetflags(
            [
                "watch", "--json", "--interface", "w1", "--source", "2001:db8:1::1", "2001:db8::9",
                "2001:db8:1::9",
            ],
            in: host)
        let failed = try #require(try watch.row())
        #expect(failed["target"]?.string == "2001:db8::9")
        #expect(failed["error"]?.string?.hasPrefix("undecided: ") == true)
        #expect(try watch.row()?["letters"]?.string == "-R ------d")
        try host.ip("-6 rule del pref 40000")
        let decided = try #require(try watch.row())
        #expect(decided["target"]?.string == "2001:db8::9")
        #expect(decided["error"] == .null)
    }

    @Test func `an interface that does not exist is waited for`() throws {
        let host = try TestNamespace.oneWire()
        let watch = try RunningNetflags(["watch", "--json", "fe80::9%w7"], in: host)
        let missing = try #require(try watch.row())
        #expect(missing["letters"]?.string == "-- -------" && missing["error"] == .null)
        #expect(missing["reason"]?.string == "there is no interface \"w7\"")
        try host.wire("w7")
        try host.ip("addr add fe80::1/64 dev w7 nodad")
        #expect(try watch.row()?["letters"]?.string == "-R ------d")
    }

    @Test
    func `a line has check's keys, then the time in UTC with milliseconds, the explanation and the cause`()
        throws
    {
        let host = try TestNamespace.oneWire()
        let watch = try RunningNetflags(["watch", "--json", "--explain", "192.0.2.9"], in: host)
        let row = try #require(try watch.row())
        #expect(
            row.keys == [
                "target", "flags", "rawValue", "letters", "reachable", "address", "interface",
                "interfaceType", "gateway", "code", "reason", "error", "time", "sourceAddress", "connect",
                "returns", "rules", "mtu", "explanation", "cause",
            ]
        )
        let time = try #require(row["time"]?.string)
        #expect(time.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil)
    }

    @Test(arguments: [SIGINT, SIGTERM]) func `a signal ends it as it ends other programs, without a message`(
        number: Int32
    ) throws {
        let host = try TestNamespace.oneWire()
        let watch = try RunningNetflags(["watch", "--json", "192.0.2.9"], in: host)
        #expect(try watch.row() != nil)
        let result = try watch.end(signal: number)
        #expect(result.signal == number)
        #expect(result.errors == "")
        #expect(try watch.row() == nil)
    }

    @Test func `a closed pipe ends it without a message, though nothing changes`() throws {
        let host = try TestNamespace.oneWire()
        let watch = try RunningNetflags(["watch", "--json", "192.0.2.9"], in: host)
        #expect(try watch.row() != nil)
        watch.closeOutput()
        let result = try watch.end()
        #expect(result.status == 128 + SIGPIPE || result.signal == SIGPIPE)
        #expect(result.errors == "")
    }

    @Test func `very many targets have a line each, and another when their route is added`() throws {
        let host = try TestNamespace.oneWire()
        let targets = (0..<Rounds.of(10_000)).map { "198.18.\($0 / 250).\($0 % 250)" }
        let watch = try RunningNetflags(["watch", "--json"] + targets, in: host)
        for target in targets { #expect(try watch.row()?["target"]?.string == target) }
        try host.ip("route add default via 192.0.2.254")
        var seen: Set<String> = []
        for _ in targets {
            let row = try #require(try watch.row())
            #expect(row["letters"]?.string == "-R -------")
            seen.insert(try #require(row["target"]?.string))
        }
        #expect(seen == Set(targets))
        #expect(try watch.end(signal: SIGINT).signal == SIGINT)
        #expect(try watch.row() == nil)
    }
}

/// The lines of `netflags watch`, step by step.
private struct Story {
    private let watch: RunningNetflags
    private let host: TestNamespace
    private var last: [String: String] = [:]

    init(_ watch: RunningNetflags, _ host: TestNamespace) {
        self.watch = watch
        self.host = host
    }

    /// Expects one line for each of these targets, in any order, and the flags that a new process finds.
    mutating func expect(
        _ changes: [String: String],
        at location: SourceLocation = #_sourceLocation
    ) throws {
        var seen: [String: String] = [:]
        for _ in changes {
            let row = try #require(try watch.row(), sourceLocation: location)
            let target = try #require(row["target"]?.string, sourceLocation: location)
            #expect(seen[target] == nil, "\(target) has two lines", sourceLocation: location)
            seen[target] = row["letters"]?.string
        }
        #expect(seen == changes, sourceLocation: location)
        last.merge(seen) { $1 }
        let fresh = try RunningNetflags(["check", "--json"] + last.keys, in: host)
        while let row = try fresh.row() {
            let target = try #require(row["target"]?.string)
            #expect(
                last[target] == row["letters"]?.string, "\(target) in a new process", sourceLocation: location
            )
        }
        _ = try fresh.end()
    }

    /// Ends the process, and expects no further line.
    func expectEnd(at location: SourceLocation = #_sourceLocation) throws {
        #expect(try watch.end(signal: SIGINT).signal == SIGINT, sourceLocation: location)
        #expect(try watch.row() == nil, sourceLocation: location)
    }
}
