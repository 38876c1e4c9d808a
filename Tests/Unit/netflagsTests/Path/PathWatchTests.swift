// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import TestNamespaces
import Testing

@Suite(.needs(.veth))
struct PathWatchTests {
    /// A host with two wires, of which the first has no default route.
    private func twoWires() throws -> TestNamespace {
        let host = try TestNamespace()
        try host.wire("w0", "192.0.2.1/24")
        try host.wire("w1", "203.0.113.1/24")
        try host.ip("route add default via 203.0.113.254 metric 600")
        return host
    }

    private func names(_ row: JSONValue?) -> [String?] {
        (row?["interfaces"]?.elements ?? []).map { $0["name"]?.string }
    }

    @Test func `each change of the path has one line, with what path finds and a time`() throws {
        let host = try twoWires()
        let watch = try RunningNetflags(["path", "--watch", "--json"], in: host)
        #expect(names(try watch.row()) == ["w1"])
        try host.ip("route add default via 192.0.2.254 metric 100")
        let both = try #require(try watch.row())
        #expect(names(both) == ["w0", "w1"])
        #expect(both["time"]?.string?.hasSuffix("Z") == true)
        let now = try host.run([NetflagsProcess.path, "path", "--json"])
        let path = try #require(JSONValue(now.output.split(separator: "\n").first ?? ""))
        for key in path.keys { #expect(both[key] == path[key], "\(key)") }
        // The flags stay the same: the order of the interfaces alone is a change.
        try host.ip("route replace default via 203.0.113.254 metric 50")
        #expect(names(try watch.row()) == ["w1", "w0"])
        try host.ip("link set w1 down", "link set w0 down")
        var last = try watch.row()
        while last?["status"]?.string == "satisfied" { last = try watch.row() }
        #expect(last?["status"]?.string == "unsatisfied")
        #expect(last?["reason"]?.string == "no default route")
        #expect(try watch.end(signal: SIGTERM).signal == SIGTERM)
    }

    @Test
    func `with --identity there is a line when the hardware address of the gateway is learnt or changes`()
        throws
    {
        let host = try twoWires()
        let watch = try RunningNetflags(["path", "--watch", "--json", "--identity"], in: host)
        #expect(try watch.row()?["identity"] == .null)
        for last in ["0a", "0b"] {
            // That of no gateway has no line.
            try host.ip("neigh replace 203.0.113.7 lladdr 02:00:00:00:00:\(last) dev w1")
            try host.ip("neigh replace 203.0.113.254 lladdr 02:00:00:00:00:\(last) dev w1")
            #expect(try watch.row()?["identity"] == .string("gateways=02:00:00:00:00:\(last)"))
        }
        #expect(try watch.end(signal: SIGTERM).signal == SIGTERM)
        let text = try host.run([NetflagsProcess.path, "path", "--identity"]).output
        #expect(text.contains("identity     gateways=02:00:00:00:00:0b"), "\(text)")
        for arguments in [[], ["--json"]] {
            let output = try host.run([NetflagsProcess.path, "path"] + arguments).output
            #expect(!output.contains("identity") && !output.contains("02:00:00"), "\(output)")
        }
    }

    @Test(.needs(.radios))
    func `with --identity there is a line when the wireless network changes`() throws {
        let host = try TestNamespace()
        let accessPoint = try host.makePeer()
        let (station, beacon) = try host.takeRadios(with: accessPoint)
        try host.ip("link set \(station) up", "addr add 192.0.2.2/24 dev \(station)")
        try host.ip("route add default via 192.0.2.1")
        try host.ip("neigh add 192.0.2.1 lladdr 02:00:00:00:00:01 nud permanent dev \(station)")
        let watch = try RunningNetflags(["path", "--watch", "--json", "--identity"], in: host)
        for (name, hexadecimal) in [("home", "686f6d65"), ("work", "776f726b")] {
            let log = try accessPoint.serve(name, on: beacon)
            try host.associate(station, with: name)
            let expected = JSONValue.string("ssid=\(hexadecimal) gateways=02:00:00:00:00:01")
            var row = try watch.row()
            while row != nil, row?["identity"] != expected { row = try watch.row() }
            #expect(row?["identity"] == expected)
            try accessPoint.shell("kill $(cat \(log).pid)")
            try host.wait(for: station, state: "DOWN")
        }
        #expect(try watch.end(signal: SIGTERM).signal == SIGTERM)
    }

    @Test func `a change that the path of the socket does not depend on has no line`() throws {
        let host = try twoWires()
        let watch = try RunningNetflags(["path", "--watch", "--json", "--interface", "w1", "-4"], in: host)
        #expect(names(try watch.row()) == ["w1"])
        try host.ip("route add default via 192.0.2.254 metric 100")
        try host.ip("route del default via 203.0.113.254 metric 600")
        let last = try #require(try watch.row())
        #expect(last["reason"]?.string == "no route out of w1")
        #expect(last["status"]?.string == "unsatisfied")
        #expect(try watch.end(signal: SIGINT).signal == SIGINT)
    }

    @Test
    func `without its interface the path is unsatisfied until it appears`() throws {
        let host = try twoWires()
        let watch = try RunningNetflags(["path", "--watch", "--json", "--interface", "w7"], in: host)
        let missing = try #require(try watch.row())
        #expect(missing["status"] == .string("unsatisfied") && missing["error"] == .null)
        #expect(missing["reason"]?.string == "there is no interface \"w7\"")
        try host.wire("w7", "198.51.100.1/24")
        try host.ip("route add default via 198.51.100.254 metric 700")
        var row = try watch.row()
        while row?["status"]?.string != "satisfied" { row = try watch.row() }
        #expect(names(row) == ["w7"])
        #expect(try watch.end(signal: SIGTERM).errors == "")
    }

    @Test func `text has the interfaces that packets do not take in parentheses`() throws {
        let host = try twoWires()
        try host.ip("route add default via 192.0.2.254 metric 100")
        let script = "timeout -s KILL 60 \(NetflagsProcess.path) path --watch | head -n 1"
        let line = try host.run(["sh", "-c", script]).output
        let columns = line.split(separator: " ", omittingEmptySubsequences: true).map(String.init)
        #expect(columns.dropFirst().prefix(3) == ["satisfied", "w0", "(w1)"])
        #expect(columns[4].hasPrefix("IPv4"))
        #expect(columns[5] == "192.0.2.254,203.0.113.254")
        #expect(line.hasSuffix("through gateway 192.0.2.254 on w0\n"))
    }

    @Test func `it ends with the status of SIGPIPE when the reader is gone`() throws {
        let host = try twoWires()
        let watch = try RunningNetflags(["path", "--watch", "--json"], in: host)
        #expect(try watch.row() != nil)
        watch.closeOutput()
        #expect(try watch.end().status == 128 + SIGPIPE)
    }

    @Test(
        arguments: [
            (["--watch", "--replay", "file"], "leave out --replay"),
            (["--port", "0"], "from 1 to 65535"), (["--protocol", "132"], "or --replay"),
            (["-6", "--source", "192.0.2.1"], "leave out -6"), (["default"], "unexpected argument"),
        ]
    )
    func `wrong usage is an error with status 64`(options: [String], part: String) throws {
        let result = try NetflagsProcess.run(["path"] + options)
        #expect(result.status == 64)
        #expect(result.output == "")
        #expect(result.errors.contains(part), "\(result.errors)")
        #expect(result.errors.contains("netflags: see netflags path --help\n"))
    }
}
