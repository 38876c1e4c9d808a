// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

/// A network that is asked live, recorded, and asked again from the recording.
@Suite(.needs(.veth))
struct LiveReplayTests {
    /// Two wires with routes of every type, equal ways, rules and a wire without a carrier.
    private static func network() throws -> TestNamespace {
        let host = try TestNamespace()
        try host.wire("w0", "192.0.2.1/24", "2001:db8::1/64")
        try host.wire("w1", "203.0.113.1/24", "2001:db8:1::1/64")
        try host.wire("w2", "198.51.100.1/24", "2001:db8:2::1/64")
        // A recording does not hold the hash, by which packets to an address take one nexthop.
        for family in ["ipv4", "ipv6"] { try host.set("net/\(family)/fib_multipath_hash_policy", "1") }
        try host.ip(
            "route add default via 192.0.2.254",
            "-6 route add default via 2001:db8::254",
            "route add 10.1.0.0/16 nexthop via 192.0.2.254 nexthop via 203.0.113.254 weight 3",
            "route add 10.1.2.0/24 via 203.0.113.254",
            "route add 10.2.0.0/16 via 203.0.113.254 metric 5",
            "route add 10.2.0.0/16 via 192.0.2.254 metric 50",
            "route add unreachable 10.3.0.0/16", "route add prohibit 10.4.0.0/16",
            "route add blackhole 10.5.0.0/16", "route add 10.6.0.0/16 dev w1",
            "route add 10.7.0.0/16 via 198.51.100.254",
            "route add default via 203.0.113.254 table 77",
            "rule add fwmark 7 table 77", "rule add to 10.8.0.0/16 table 77",
            "rule add to 10.9.0.0/16 prohibit",
            "-6 route add unreachable 2001:db8:9::/48",
            "-6 route add 2001:db8:a::/48 via 2001:db8:1::254",
            "-6 rule add to 2001:db8:b::/48 unreachable",
            "link set w2-far down"
        )
        try host.wait(for: "w2", state: "DOWN")
        return host
    }

    /// Two hundred addresses: each network above, its borders, groups, own addresses and unknown ones.
    private static let targets: [String] = {
        var targets = ["default", "0.0.0.0", "::", "::1", "127.0.0.1", "127.9.9.9", "255.255.255.255"]
        for last in [0, 1, 2, 254, 255] {
            for start in ["192.0.2", "203.0.113", "198.51.100", "10.1.2"] {
                targets.append("\(start).\(last)")
            }
            targets += ["224.0.0.\(last)", "169.254.0.\(last)", "240.0.0.\(last)"]
        }
        for net in 0..<12 {
            for host in [0, 1, 77, 128, 255] { targets.append("10.\(net).\(host).\(host)") }
        }
        for net in ["", ":1", ":2", ":9", ":a", ":b", ":c"] {
            for host in ["", "1", "2", "254", "ffff"] { targets.append("2001:db8\(net)::\(host)") }
        }
        for group in ["ff02::1%w0", "ff02::fb%w1", "ff0e::1", "fe80::1", "fe80::1%w0", "fe80::2%w2"] {
            targets.append(group)
        }
        for number in 0..<(200 - targets.count) { targets.append("\(11 + number).1.2.3") }
        return targets
    }()

    /// The options of sockets that take other ways through the network.
    private static let sockets: [[String]] = [
        [], ["--interface", "w1"], ["--interface", "w2"], ["--interface", "lo"], ["--mark", "7"], ["-4"],
        ["-6"],
        ["--source", "203.0.113.1"], ["--source", "2001:db8:1::1"], ["--source", "192.0.2.77"],
        ["--protocol", "tcp", "--port", "25"], ["--uid", "4242"], ["--tos", "0x10"],
    ]

    @Test(arguments: sockets)
    func `the path of a socket is the one of the live kernel, and has the flags of default`(options: [String])
        throws
    {
        let host = try Self.network()
        for family in ["-4", "-6"] {
            try host.ip(
                "\(family) rule add pref 10 ipproto tcp dport 25 prohibit",
                "\(family) rule add pref 11 uidrange 4242-4242 prohibit",
                "\(family) rule add pref 12 tos 0x10 prohibit"
            )
        }
        let file = try Scratch()
        #expect(try host.run([NetflagsProcess.path, "record", file.path]).status == 0)
        let live = try host.run([NetflagsProcess.path, "path", "--json"] + options)
        let replayed = try NetflagsProcess.run(["path", "--json", "--replay", file.path] + options)
        let target = try host.run([NetflagsProcess.path, "--json"] + options + ["default"])
        let path = try #require(JSONValue(live.output.split(separator: "\n").first ?? ""), "\(live.output)")
        let row = try #require(replayed.lines.first.flatMap { JSONValue($0) }, "\(replayed.errors)")
        // A recording holds no name servers, and no connections.
        for key in path.keys where !["supportsDNS", "nameservers", "evidence"].contains(key) {
            #expect(row[key] == path[key], "\(key)")
        }
        #expect(replayed.status.map(Int.init) == live.status)
        let flags = try #require(JSONValue(target.output.split(separator: "\n").first ?? ""))
        for key in ["letters", "rawValue", "reachable", "reason"] {
            #expect(path[key] == flags[key], "\(key)")
        }
        #expect(live.status == target.status)
    }

    @Test(arguments: [[], ["--interface", "w1"], ["--mark", "7"], ["--source", "203.0.113.1"], ["-6"]])
    func `two hundred targets are answered as the live kernel answered`(options: [String]) throws {
        #expect(Self.targets.count == 200 && Set(Self.targets).count == 200)
        let host = try Self.network()
        let file = try Scratch()
        let recording = try host.run([NetflagsProcess.path, "record", file.path])
        #expect(recording.status == 0, "\(recording.output)")
        // A source and a target of different families are a usage error.
        let targets = options.first == "--source" ? Self.targets.filter { !$0.contains(":") } : Self.targets
        let live = try host.run([NetflagsProcess.path, "--json"] + options + targets)
        let replayed = try NetflagsProcess.run(["--json", "--replay", file.path] + options + targets)
        #expect(replayed.lines.count == targets.count)
        #expect(replayed.status.map(Int.init) == live.status)
        // Errors stand on standard error too, which the live run has in its output.
        let answers = live.output.split(separator: "\n").filter { $0.hasPrefix("{") }
        for (expected, found) in zip(answers, replayed.lines) { #expect(found == expected) }
        #expect(answers.count == targets.count)
    }

    @Test func `events are played to their end`() throws {
        let host = try Self.network()
        let file = try Scratch()
        let script = """
            \(NetflagsProcess.path) record \(file.path) --events 2>/dev/null & P=$!
            for i in $(seq 1000); do [ -s \(file.path) ] && break; sleep 0.01; done
            ip route del default; ip route add 10.3.3.0/24 via 203.0.113.254; ip addr del 203.0.113.1/24 dev w1
            ip link set w0-far down; kill -TERM $P; wait $P
            """
        #expect(try host.run(["sh", "-c", script]).status == 0)
        let live = try host.run([NetflagsProcess.path, "--json"] + Self.targets)
        let replayed = try NetflagsProcess.run(["--json", "--replay", file.path] + Self.targets)
        let answers = live.output.split(separator: "\n").filter { $0.hasPrefix("{") }
        #expect(answers.count == 200)
        for (expected, found) in zip(answers, replayed.lines) { #expect(found == expected) }
    }

    /// The wire of the last change of the flags was named, which the packets had left since.
    @Test func `a loss is caused by what the path was just before, also where the flags were the same`()
        throws
    {
        let host = try TestNamespace()
        try host.wire("w0", "192.0.2.1/24")
        try host.wire("w1", "203.0.113.1/24")
        try host.ip("route add default via 192.0.2.254")
        let file = try Scratch()
        let (program, check) = (NetflagsProcess.path, "check --replay \(file.path) default")
        // A later change gives the loss a duration.
        let script = """
            wait_for() { for i in $(seq 200); do \(program) \(check) 2>&1 | grep -q "$1" && break; sleep 0.05; done; }
            \(program) record \(file.path) --events 2>/dev/null & P=$!
            wait_for w0; ip route replace default via 203.0.113.254; wait_for w1
            printf 'link set w0 down\\nlink set w1 down\\n' | ip -batch -; wait_for ' no '
            for i in $(seq 200); do
                ip link set w0 mtu $((1300 + i))
                \(program) timeline --json --losses \(file.path) default | grep -q . && break
                sleep 0.05
            done
            kill -TERM $P; wait $P
            """
        #expect(try host.run(["sh", "-c", script]).status == 0)
        for words in [
            ["timeline", "--explain"], ["timeline", "--json", "--losses"],
            ["watch", "--explain", "--replay"],
        ] {
            let output = try NetflagsProcess.run(words + [file.path, "default"]).output
            #expect(output.contains("w1 was set down") && !output.contains("w0 was set down"), "\(output)")
        }
    }

    @Test(arguments: ["0", "1"]) func `a setting that decides about a wire without a carrier is replayed`(
        value: String
    ) throws {
        let host = try Self.network()
        let file = try Scratch()
        let script = """
            for f in ipv4 ipv6; do echo \(value) > /proc/sys/net/$f/conf/all/ignore_routes_with_linkdown; done
            ip route add default via 203.0.113.254 metric 900
            ip -6 route add default via 2001:db8:1::254 metric 9000
            ip link set w0-far down
            """
        #expect(try host.run(["sh", "-c", script]).status == 0)
        try host.wait(for: "w0", state: "DOWN")
        #expect(try host.run([NetflagsProcess.path, "record", file.path]).status == 0)
        let live = try host.run([NetflagsProcess.path, "--json"] + Self.targets)
        let replayed = try NetflagsProcess.run(["--json", "--replay", file.path] + Self.targets)
        let answers = live.output.split(separator: "\n").filter { $0.hasPrefix("{") }
        #expect(answers.count == 200)
        for (expected, found) in zip(answers, replayed.lines) { #expect(found == expected) }
    }

    @Test
    func `without its rule for the main table IPv6 is undecided where an earlier rule is possible`()
        throws
    {
        let host = try Self.network()
        try host.ip("-6 rule del to 2001:db8:b::/48 unreachable", "-6 rule del lookup main")
        let file = try Scratch()
        #expect(try host.run([NetflagsProcess.path, "record", file.path]).status == 0)
        let replayed = try NetflagsProcess.run("--json", "--replay", file.path, "::1", "2001:db8:a::1")
        #expect(replayed.status == 2)
        try #require(replayed.lines.count == 2)
        #expect(JSONValue(replayed.lines[0])?["error"] == .null)
        let error = JSONValue(replayed.lines[1])?["error"]?.string
        #expect(error?.contains("whether an IPv6 rule was ever added") == true, "\(error ?? "none")")
    }

    @Test func `rtmon's own file is read: interfaces are known, and every address is undecided`() throws {
        let host = try Self.network()
        let file = try Scratch()
        let script = """
            rtmon file \(file.path) all & P=$!
            for i in $(seq 1000); do [ -s \(file.path) ] && break; sleep 0.01; done
            ip route add 10.33.0.0/16 via 192.0.2.254; ip rule add to 10.33.0.0/16 table 77
            kill $P; wait $P; [ -s \(file.path) ]
            """
        let recording = try host.run(["sh", "-c", script])
        try #require(recording.status == 0, "rtmon (iproute2) wrote nothing: \(recording.output)")
        let result = try NetflagsProcess.run("--json", "--replay", file.path, "192.0.2.9", "10.33.0.1", "::1")
        #expect(result.status == 2)
        #expect(result.lines.count == 3)
        for line in result.lines {
            #expect(
                JSONValue(line)?["error"]?.string?.hasPrefix("undecided: the recording holds no dump") == true
            )
        }
        let bound = try NetflagsProcess.run("--replay", file.path, "--interface", "nosuch", "192.0.2.9")
        #expect(bound.output.contains("there is no interface \"nosuch\""))
    }
}
