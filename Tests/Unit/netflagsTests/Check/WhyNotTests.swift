// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import TestNamespaces
import TestSupport
import Testing

/// `netflags --why-not`: what it prints, and what becomes of packets without the obstacle that it names.
struct WhyNotTests {
    @Test func `packets that leave through the interface have the status 0, and every key of JSON`() throws {
        let result = try NetflagsProcess.run("--json", "--why-not", "lo", "127.0.0.1")
        #expect(result.status == 0)
        let json = try #require(result.lines.first.flatMap { JSONValue($0) })
        #expect(json.keys == ["target", "leaves", "obstacle", "reason", "rule", "route", "other", "error"])
        #expect(json["leaves"] == .bool(true))
        #expect(json["obstacle"] == .null)
    }

    @Test func `a missing interface is an error with the status 2`() throws {
        let result = try NetflagsProcess.run("--why-not", "nosuch0", "127.0.0.1")
        #expect(result.status == 2)
        let mistake = "127.0.0.1: there is no interface \"nosuch0\""
        #expect(result.errors == "netflags: \(mistake): give one that `ip link` lists\n")
    }

    @Test(arguments: ["--explain", "--arriving=lo", "--format=prometheus"])
    func `options with another output are wrong usage`(option: String) throws {
        let result = try NetflagsProcess.run("--why-not", "lo", option, "127.0.0.1")
        #expect(result.status == 64)
        #expect(result.errors.contains("--why-not"), "\(result.errors)")
    }

    /// Sets up a network, asks, and expects an answer in words.
    @Test(
        .needs(.veth),
        arguments: [
            (
                ["route add default via 198.51.100.254"], "203.0.113.9",
                "yes: through gateway 198.51.100.254 on w1"
            ),
            (
                ["route add default via 192.0.2.254", "route add default via 198.51.100.254 metric 9"],
                "203.0.113.9",
                "no: the route default on w0 has a lower metric than default metric 9 on w1"
            ),
            (
                ["route add 203.0.113.0/24 via 192.0.2.254", "route add default via 198.51.100.254"],
                "203.0.113.9",
                "no: the route 203.0.113.0/24 on w0 has a longer prefix than default on w1"
            ),
            (
                [
                    "route add default via 198.51.100.254", "rule add pref 9 lookup 77",
                    "route add default dev w0 table 77",
                ], "203.0.113.9",
                "no: the rule 9: from all lookup 77 comes first, and has default table 77 on w0"
            ),
            (
                ["route add default via 198.51.100.254", "rule add pref 9 to 203.0.113.0/24 prohibit"],
                "203.0.113.9",
                "no: the rule 9: from all to 203.0.113.0/24 prohibit comes first, and refuses the packets"
            ),
            (
                [
                    "route add default via 192.0.2.254", "rule add pref 9 from 198.51.100.1 lookup 77",
                    "route add default dev w1 table 77",
                ], "203.0.113.9",
                "no: the route default table 77 on w1 is for other packets, by the rule 9: from 198.51.100.1 lookup 77"
            ),
            (["route add default via 192.0.2.254"], "203.0.113.9", "no: no route through w1"),
            (["link set w1 down"], "203.0.113.9", "no: w1 is down"),
            // It had been "no route through w1".
            ([], "192.0.2.1", "no: this host's own address: its packets stay on lo"),
            // It had been a comparison of the route of the address with that of its network.
            ([], "198.51.100.1", "no: this host's own address: its packets stay on lo"),
        ] as [([String], String, String)]
    )
    func `the first obstacle is named`(steps: [String], target: String, expected: String) throws {
        let host = try TestNamespace()
        try host.wire("w0", "192.0.2.1/24")
        try host.wire("w1", "198.51.100.1/24")
        try host.ip(steps)
        let output = try host.run([NetflagsProcess.path, "--why-not", "w1", target]).output
        #expect(output.split(separator: "\n").first.map(String.init) == "\(target): \(expected)")
    }

    /// The words had been those of the nexthop on the other interface.
    @Test(.needs(.veth)) func `of several nexthops the one through the interface is named`() throws {
        let host = try TestNamespace()
        try host.wire("w0", "192.0.2.1/24")
        try host.wire("w1", "198.51.100.1/24")
        try host.ip("route add default nexthop via 192.0.2.254 nexthop via 198.51.100.254")
        let output = try host.run([NetflagsProcess.path, "--why-not", "w1", "default"]).output
        #expect(output == "default: yes: those of some connections, through gateway 198.51.100.254 on w1\n")
    }

    // MARK: Random networks

    /// The beginning of the series: another one for each value of `SOAK_SEED`.
    private static let seed = getenv("SOAK_SEED").flatMap { UInt64(String(cString: $0)) } ?? 23

    @Test(.needs(.veth), arguments: [false, true])
    func `without the obstacle the packets leave there, or the next obstacle is named`(isIPv6: Bool) throws {
        var random = SeededGenerator(seed: Self.seed + (isIPv6 ? 1_000 : 0))
        var obstacles: [String: Int] = [:]
        for round in 0..<Rounds.of(60) {
            let network = try RandomNetwork(isIPv6: isIPv6, &random)
            for _ in 0..<30 {
                let answer = try network.ask()
                #expect(try network.ask(isReplayed: true) == answer, "\(round): \(network.steps)")
                guard let leaves = answer["leaves"], leaves != .null else {
                    Issue.record("\(round): \(answer) after \(network.steps)")
                    return
                }
                let obstacle = answer["obstacle"]?.string ?? "none"
                obstacles[obstacle, default: 0] += 1
                let isRoutedThere = try network.isRoutedThere
                let canBeRouted = ["noCarrier", "none"].contains(obstacle)
                #expect(
                    leaves == .bool(isRoutedThere) || canBeRouted && isRoutedThere,
                    "\(round): \(answer) after \(network.steps)")
                guard leaves == .bool(false), try network.remove(obstacle, answer) else { break }
            }
            let last = try network.ask()
            #expect(last["leaves"] == .bool(true), "\(round): \(last) after \(network.steps)")
        }
        #expect(obstacles["none"] ?? 0 > 0 && (!Rounds.areAll || obstacles.count > 3), "\(obstacles)")
    }
}

/// A host with three uplinks, and routes, rules and states of interfaces that a seed chooses.
private final class RandomNetwork {
    private let host: TestNamespace
    private let family: String
    private let target: String
    private let interface: String
    private(set) var steps: [String] = []

    init(isIPv6: Bool, _ random: inout SeededGenerator) throws {
        func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
        func one<Value>(_ values: [Value]) -> Value {
            values[Int.random(in: 0..<values.count, using: &random)]
        }
        host = try TestNamespace()
        family = isIPv6 ? "-6" : "-4"
        let (far, wide) = isIPv6 ? ("2001:db8:99::9", "2001:db8:99::/48") : ("203.0.113.9", "203.0.113.0/24")
        target = far
        let links = ["w0", "w1", "w2"]
        for (number, link) in links.enumerated() {
            try host.wire(link, isIPv6 ? "2001:db8:\(number + 1)::1/64" : "10.0.\(number).1/24")
        }
        interface = one(links)
        var commands: [String] = []
        for metric in [5, 10, 15, 20] where chance(50) {
            commands.append("route add \(one(["default", wide, far])) dev \(one(links)) metric \(metric)")
        }
        if chance(25) {
            commands.append(
                "route add \(one(["unreachable", "prohibit", "blackhole", "throw"])) \(wide) metric 3")
        }
        for table in [77, 78] where chance(80) {
            commands.append("route add \(one(["default", wide])) dev \(one(links)) table \(table)")
        }
        for number in 0..<one([0, 1, 2, 3]) {
            let selector = one([
                "from all", "to \(wide)", "iif lo", isIPv6 ? "from all" : "from 10.0.1.0/24", "fwmark 7",
                "not to \(wide)",
            ])
            let action = one([
                "lookup 77", "lookup 78", "lookup main suppress_prefixlength 0", "prohibit", "unreachable",
                "blackhole",
                "goto 32766", "nop",
            ])
            commands.append(
                "rule add \(selector) pref \(100 * number + Int.random(in: 10..<100, using: &random)) \(action)"
            )
        }
        // Some are there already, or lack their goal.
        for command in commands where (try? host.ip("\(family) \(command)")) != nil { steps.append(command) }
        if chance(30) {
            try host.set("net/ipv\(isIPv6 ? 6 : 4)/conf/all/ignore_routes_with_linkdown", "1")
            steps.append("ignore_routes_with_linkdown")
        }
        if chance(20) {
            let link = one(links)
            try host.ip("link set \(link)-far down")
            try host.wait(for: link, state: "DOWN")
            steps.append("\(link) without a carrier")
        }
        if chance(10) {
            try host.ip("link set \(interface) down")
            steps.append("\(interface) down")
        }
    }

    func ask(isReplayed: Bool = false) throws -> JSONValue {
        let program = NetflagsProcess.path
        let question = "--json --why-not \(interface) \(target)"
        let script =
            isReplayed
            ? "\(program) record - 2>/dev/null | \(program) --replay - \(question)" : "\(program) \(question)"
        let output = try host.run(["sh", "-c", script]).output
        guard let json = output.split(separator: "\n").first.flatMap({ JSONValue($0) }) else {
            throw NetflagsProcess.Failure.cannot("read \(output)", 0)
        }
        return json
    }

    /// Whether `ip route get` names the interface, from the source that a socket selects.
    var isRoutedThere: Bool {
        get throws {
            let first = try host.run(["ip", family, "route", "get", target])
            guard first.status == 0 else { return false }
            let words = first.output.split(separator: " ")
            guard let place = words.firstIndex(of: "src"), family == "-4" else {
                return first.output.contains(" dev \(interface) ")
            }
            let second = try host.run(["ip", "route", "get", target, "from", String(words[place + 1])])
            return second.status == 0 && second.output.contains(" dev \(interface) ")
        }
    }

    /// Removes an obstacle; `false` for one that was the last.
    func remove(_ obstacle: String, _ answer: JSONValue) throws -> Bool {
        let step: String
        switch obstacle {
        case "rule": step = "rule del pref \(Int(answer["rule"]?["priority"]?.number ?? 0))"
        case "prefix", "metric", "route":
            guard let route = answer["route"] else { return false }
            let name = route["prefix"]?.string ?? ""
            step =
                "route del \(route["type"]?.string ?? "") \(name) table \(Int(route["table"]?.number ?? 0)) "
                + "metric \(Int(route["metric"]?.number ?? 0))"
        case "interfaceDown":
            try host.ip("link set \(interface) up")
            try host.wait(for: interface, state: "UP")
            return true
        case "noCarrier":
            try host.ip("link set \(interface)-far up")
            try host.wait(for: interface, state: "UP")
            return true
        case "noRoute", "selector":
            // Nothing of what there is leads there: a route of a table before all others does.
            try host.ip(
                "\(family) rule add pref 5 lookup 99", "\(family) route add default dev \(interface) table 99"
            )
            steps.append("a table of its own")
            return true
        default: return false
        }
        try host.ip("\(family) \(step)")
        steps.append(step)
        return true
    }
}
