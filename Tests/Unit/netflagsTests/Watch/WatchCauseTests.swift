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

    // MARK: What the kernel did

    /// The cause of the first change of a target.
    private static func cause(
        of target: String, in host: TestNamespace, _ change: () throws -> Void
    ) throws -> JSONValue? {
        let watch = try RunningNetflags(["watch", "--json", "--explain", target], in: host)
        _ = try watch.row()
        try change()
        return try #require(try watch.row())["cause"]
    }

    @Test func `an MTU that is too small for IPv6 is named`() throws {
        let host = try TestNamespace()
        try host.wire("w0", "2001:db8::1/64")
        try host.ip("-6 route add default via 2001:db8::254")
        let cause = try Self.cause(of: "2001:db8:9::1", in: host) { try host.ip("link set w0 mtu 1200") }
        #expect(cause?["origin"] == .string("smallMTU"))
        #expect(cause?["description"]?.string?.hasSuffix("as the MTU of w0 is too small for IPv6") == true)
    }

    /// The cause of a change, as `watch` prints it, and the causes in a recording.
    private static func causes(of words: String) throws -> (live: JSONValue?, recorded: [JSONValue?]) {
        let host = try network()
        let peer = try host.makePeer()
        let file = try Scratch()
        let recorder = try NetflagsProcess.start(
            host.entering([NetflagsProcess.path, "record", file.path, "--events"]), descriptors: [])
        try host.wait(until: "the recorder has begun") { try !readRecordingFile(file.path).isEmpty }
        let cause = try cause(of: target, in: host) {
            try host.ip(words.replacing("PEER", with: "\(peer.processIdentifier)"))
        }
        kill(recorder, SIGTERM)
        _ = try NetflagsProcess.wait(recorder)
        let rows = try NetflagsProcess.run("timeline", "--json", file.path, target).lines
        return (cause, rows.map { JSONValue($0)?["cause"] })
    }

    /// The kernel sets an interface down before it removes it.
    @Test func `an interface that is moved or removed was moved or removed, and not set down`() throws {
        for (words, verb) in [
            ("link set w0 netns PEER", "moved to another network namespace"), ("link del w0", "removed"),
        ] {
            var (live, recorded) = try Self.causes(of: words)
            // On a loaded machine more time than that of a burst can pass between both.
            for _ in 0..<4 where live?["code"] == .string("linkWentDown") {
                (live, recorded) = try Self.causes(of: words)
            }
            #expect(live?["code"] == .string("linkRemoved"))
            #expect(live?["description"]?.string == "w0 was \(verb)")
            #expect(recorded.count == 2)
            #expect(recorded.last??["description"] == live?["description"])
        }
    }

    @Test func `a router that withdraws its route is named`() throws {
        let host = try TestNamespace()
        let router = try host.makePeer()
        try host.wire("w0", to: router)
        try host.set("net/ipv6/conf/w0/accept_ra", "2")
        try host.address("w0", "fe80::1/64", "2001:db8::1/64")
        try router.address("w0-far", "fe80::2/64")
        try router.command(["advertise", "w0-far", "600"])
        try host.wait(until: "there is a route") { try host.ip("-6 route").contains("default") }
        let cause = try Self.cause(of: "2001:db8:9::1", in: host) {
            try router.command(["advertise", "w0-far", "0"])
        }
        #expect(cause?["code"] == .string("routeRemoved"))
        #expect(cause?["protocol"] == .string("ra"))
        #expect(cause?["origin"] == .string("advertisementEnd"))
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
