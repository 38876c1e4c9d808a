// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import SystemSupport
import TestNamespaces
import Testing

/// The cause in the lines of `watch --explain`, held against the processes that made the changes.
@Suite(.needs(.veth))
struct WatchCauseTests {
    private static let target = "198.51.100.1"

    private static func network() throws -> TestNamespace {
        let host = try TestNamespace()
        try host.wire("w0", "192.0.2.1/24")
        try host.ip("route add default via 192.0.2.254")
        return host
    }

    /// Has a process make a change, which goes on for a while; returns its number.
    private static func change(_ words: String, in host: TestNamespace, lasting seconds: Int = 3) throws
        -> Double
    {
        let script = "{ echo '\(words)'; sleep \(seconds); } | ip -batch - & echo $!; wait"
        return try #require(try host.shell(script).split(separator: "\n").first.flatMap { Double($0) })
    }

    private static func names(_ cause: JSONValue?) -> [JSONValue?] {
        guard case .array(let processes)? = cause?["requester"]?["processes"] else { return [] }
        return processes.map { $0["name"] }
    }

    @Test func `a line has the request that changed the answer, and the process that made it`() throws {
        let host = try Self.network()
        let watch = try RunningNetflags(["watch", "--json", "--explain", Self.target], in: host)
        #expect(try watch.row()?["cause"] == .null)
        for (words, code) in [
            ("route del default", "routeRemoved"),
            ("route add default via 192.0.2.253", "routeAdded"),
            ("rule add to 198.51.100.0/24 prohibit pref 7", "ruleAdded"),
            ("rule del pref 7", "ruleRemoved"),
        ] {
            let process = try Self.change(words, in: host)
            let cause = try #require(try watch.row())["cause"]
            #expect(cause?["code"] == .string(code))
            #expect(cause?["origin"] == .string("request"))
            #expect(cause?["port"] == .number(process))
            if ProcessVisibility.current == .own {
                #expect(cause?["requester"] == .null)
            } else {
                #expect(Self.names(cause) == [.string("ip")], "\(words): \(cause as Any)")
            }
        }
    }

    @Test func `the end of a lifetime and an interface that is set down are no requests`() throws {
        let host = try Self.network()
        let watch = try RunningNetflags(["watch", "--json", "--explain", Self.target], in: host)
        _ = try watch.row()
        try host.ip("link set w0 down")
        let down = try #require(try watch.row())["cause"]
        #expect(down?["code"] == .string("linkWentDown"))
        #expect(down?["port"] == .null)
        try host.ip("link set w0 up", "route add default via 192.0.2.254")
        _ = try watch.row()
        try host.ip("addr change 192.0.2.1/24 dev w0 valid_lft 1 preferred_lft 1")
        let expired = try #require(try watch.row())["cause"]
        #expect(expired?["code"] == .string("addressRemoved"))
        #expect(expired?["origin"] == .string("lifetimeEnd"))
    }

    /// The wire of the last line was named, which the packets had left since.
    @Test func `a cause is that of the path just before, also where it had no line of its own`() throws {
        let host = try Self.network()
        try host.wire("w1", "203.0.113.1/24")
        let watch = try RunningNetflags(
            ["watch", "--json", "--explain", Self.target, "203.0.113.9"], in: host)
        for _ in 0..<2 { _ = try watch.row() }
        try host.ip(
            "route replace default via 203.0.113.254", "rule add to 203.0.113.9 blackhole pref 7")
        #expect(try watch.row()?["target"] == .string("203.0.113.9"))
        try host.shell("printf 'link set w0 down\\nlink set w1 down\\n' | ip -batch -")
        let row = try #require(try watch.row())
        #expect(row["target"] == .string(Self.target))
        #expect(row["cause"]?["interface"] == .string("w1"), "\(row)")
    }

    /// The notifications of other changes are read too, and one that came before counts for no later line.
    @Test func `an event that changed an answer before is no cause again`() throws {
        let host = try Self.network()
        let watch = try RunningNetflags(["watch", "--json", "--explain", Self.target], in: host)
        _ = try watch.row()
        for round in 0..<5 {
            let gateway = "192.0.2.\(100 + round)"
            try host.ip("route del default")
            #expect(try watch.row()?["cause"]?["code"] == .string("routeRemoved"))
            try host.ip("route add 10.\(round).0.0/16 via 192.0.2.9", "route add default via \(gateway)")
            let cause = try watch.row()?["cause"]
            #expect(cause?["code"] == .string("routeAdded"))
            #expect(cause?["gateway"] == .string(gateway))
        }
    }

    @Test func `text has the cause below the line, and a replay that of its recording`() throws {
        let arguments = ["watch", "--explain", "--replay", Night.path, "198.51.100.20"]
        let lines = try NetflagsProcess.run(arguments).lines.filter { $0.hasPrefix("    cause ") }
        #expect(lines.first == "    cause     eth0 lost its carrier")
        #expect(
            lines.contains(
                "    cause     the default route via 192.0.2.1 on eth0 was removed on request (port 1262)"))
        let losses = try NetflagsProcess.run(["timeline", "--json", Night.path, "198.51.100.20"]).lines
        let replayed = try NetflagsProcess.run(["watch", "--json"] + arguments.dropFirst()).lines
        let causes = { (lines: [Substring]) in lines.map { JSONValue($0)?["cause"] } }
        #expect(causes(replayed) == causes(losses))
        let plain = try NetflagsProcess.run("watch", "--json", "--replay", Night.path, "198.51.100.20").lines
        #expect(plain.allSatisfy { JSONValue($0)?["cause"] == nil })
    }
}
