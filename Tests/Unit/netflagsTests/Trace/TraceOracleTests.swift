// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import TestNamespaces
import TestSupport
import Testing

/// `netflags trace` over the recordings of random networks, against a packet that is sent: a TCP connection to a
/// closed port, which is refused if and only if packets arrive there and back.
struct TraceOracleTests {
    /// The beginning of the series: another one for each value of `SOAK_SEED`.
    private static let seed = getenv("SOAK_SEED").flatMap { UInt64(String(cString: $0)) } ?? 31

    @Test(.needs(.veth), arguments: [false, true])
    func `a trace is delivered if a real packet is answered, and otherwise names the fault`(isIPv6: Bool)
        throws
    {
        var random = SeededGenerator(seed: Self.seed + (isIPv6 ? 1_000 : 0))
        var outcomes: [String: Int] = [:]
        let faults = RoutedHosts.Fault.allCases.filter { !isIPv6 || $0 != .strictFilter }
        let rounds = Rounds.of(120)
        for round in 0..<rounds {
            let hosts = try RoutedHosts(isIPv6: isIPv6, &random)
            let fault = faults[round % faults.count]
            let expected = try hosts.make(fault, &random)
            let json = try hosts.trace()
            let outcome = json["outcome"]?.string ?? ""
            outcomes[outcome, default: 0] += 1
            let text = "\(round): \(fault): \(json) after \(hosts.steps.joined(separator: "; "))"
            #expect(["delivered", "dropped", "unrecorded"].contains(outcome), "\(text)")
            let isAnswered = try hosts.answers(within: outcome == "delivered" ? 30 : 1)
            #expect(isAnswered == (outcome == "delivered"), "\(text)")
            guard let expected else { continue }
            #expect(json["host"]?.string == "h\(expected.host)", "\(text), expected: \(expected)")
            #expect(json["direction"]?.string == expected.direction, "\(text), expected: \(expected)")
            let reason = [json["code"]?.string, json["reason"]?.string].compactMap(\.self).joined(
                separator: " ")
            #expect(expected.words.contains { reason.contains($0) }, "\(text), expected: \(expected)")
        }
        print("trace: \(outcomes) with IPv\(isIPv6 ? 6 : 4), SOAK_SEED=\(Self.seed)")
        #expect(rounds < faults.count || outcomes["dropped"] ?? 0 > 0, "\(outcomes)")
    }
}

/// Three to eight hosts in a network that a seed chooses, with routes from each host to each network.
private final class RoutedHosts {
    enum Fault: CaseIterable {
        /// Only filters of any strictness, which drop packets on asymmetric ways.
        case none
        case noReturn, noForwarding, strictFilter, blackhole, rule, linkDown, loop, noGateway
    }

    /// Where a fault drops the packet, and words of the reason.
    typealias Expectation = (host: Int, direction: String, words: [String])

    private struct Wire {
        let ends: [Int]
        let names: [String]
        let prefix: String

        func address(of host: Int) -> String { "\(prefix)\(ends[0] == host ? 1 : 2)" }
        func name(at host: Int) -> String { names[ends[0] == host ? 0 : 1] }
        func other(than host: Int) -> Int { ends[ends[0] == host ? 1 : 0] }
    }

    private let hosts: [TestNamespace]
    private var wires: [Wire] = []
    /// The wire that each host sends to each wire's network through.
    private var ways: [[Int: Int]] = []
    private let family: String
    private let isIPv6: Bool
    private let target: String
    private let targetWire: Int
    private(set) var steps: [String] = []

    init(isIPv6: Bool, _ random: inout SeededGenerator) throws {
        self.isIPv6 = isIPv6
        family = isIPv6 ? "-6" : "-4"
        let count = Int.random(in: 3...8, using: &random)
        let first = try TestNamespace()
        hosts = try [first] + (1..<count).map { _ in try first.makePeer() }
        var pairs = (1..<count).map { [Int.random(in: max(0, $0 - 2)..<$0, using: &random), $0] }
        for _ in 0..<random.pick([0, 1, 2]) {
            let pair = [Int.random(in: 0..<count, using: &random), Int.random(in: 0..<count, using: &random)]
                .sorted()
            if pair[0] != pair[1], !pairs.contains(pair) { pairs.append(pair) }
        }
        for host in hosts {
            for group in ["all", "default"] {
                try host.set("net/ipv4/conf/\(group)/rp_filter", "0")
                try host.set("net/ipv\(isIPv6 ? 6 : 4)/conf/\(group)/forwarding", "1")
            }
        }
        let octet = Int.random(in: 1..<200, using: &random)
        for (number, pair) in pairs.enumerated() {
            let prefix = isIPv6 ? "2001:db8:\(octet):\(number + 1)::" : "10.\(octet).\(number)."
            let wire = Wire(ends: pair, names: ["w\(number)", "w\(number)-far"], prefix: prefix)
            try hosts[pair[0]].wire(wire.names[0], to: hosts[pair[1]])
            for host in pair {
                try hosts[host].wait(for: wire.name(at: host), state: "UP")
                try hosts[host].address(
                    wire.name(at: host), wire.address(of: host) + (isIPv6 ? "/64" : "/24"))
                // Neighbours are found from a link-local address.
                if isIPv6 {
                    try hosts[host].address(wire.name(at: host), "fe80::\(pair[0] == host ? 1 : 2)/64")
                }
            }
            wires.append(wire)
        }
        let last = count - 1
        targetWire = random.pick(pairs.indices.filter { pairs[$0].contains(last) })
        target = wires[targetWire].address(of: last)
        for host in hosts.indices {
            ways.append([:])
            for network in wires.indices { ways[host][network] = way(from: host, to: network, &random) }
            for (network, wire) in ways[host].sorted(by: { $0.key < $1.key })
            where !wires[network].ends.contains(host) {
                try run(
                    host,
                    "route add \(wires[network].prefix)\(isIPv6 ? "/64" : "0/24") \(via(wire, from: host, &random))"
                )
            }
        }
    }

    private func run(_ host: Int, _ step: String) throws {
        steps.append("h\(host): \(step)")
        try hosts[host].ip("\(family) \(step)")
    }

    private func set(_ host: Int, _ setting: String, _ value: String) throws {
        steps.append("h\(host): \(setting)=\(value)")
        try hosts[host].set("net/ipv\(isIPv6 ? 6 : 4)/\(setting)", value)
    }

    /// The gateway on a wire in the words of ip(8); for IPv6, also its link-local address.
    private func via(_ wire: Int, from host: Int, _ random: inout SeededGenerator) -> String {
        let (wire, isLinkLocal) = (wires[wire], isIPv6 && Bool.random(using: &random))
        let gateway =
            isLinkLocal ? "fe80::\(wire.ends[0] == host ? 2 : 1)" : wire.address(of: wire.other(than: host))
        return "via \(gateway) dev \(wire.name(at: host))"
    }

    /// A wire of a host on one of the shortest ways to a network.
    private func way(from host: Int, to network: Int, _ random: inout SeededGenerator) -> Int {
        if wires[network].ends.contains(host) { return network }
        var distances = [Int](repeating: .max, count: hosts.count)
        var queue = wires[network].ends[...]
        for end in queue { distances[end] = 0 }
        while let next = queue.popFirst() {
            for wire in wires where wire.ends.contains(next) && distances[wire.other(than: next)] == .max {
                distances[wire.other(than: next)] = distances[next] + 1
                queue.append(wire.other(than: next))
            }
        }
        return random.pick(
            wires.indices.filter {
                wires[$0].ends.contains(host) && distances[wires[$0].other(than: host)] < distances[host]
            })
    }

    /// The hosts on the way to a network and to an address in it, with the wire that each but the last sends through.
    private func path(from start: Int, to end: Int, in network: Int) -> [(host: Int, wire: Int)] {
        var path = [(host: start, wire: -1)]
        while let last = path.last, last.host != end {
            let wire = ways[last.host][network] ?? network
            path[path.count - 1].wire = wire
            path.append((wires[wire].other(than: last.host), -1))
        }
        return path
    }

    /// Makes a fault on the way; `nil` for a result that only a packet can tell.
    func make(_ fault: Fault, _ random: inout SeededGenerator) throws -> Expectation? {
        let last = hosts.count - 1
        let there = path(from: 0, to: last, in: targetWire)
        let back = path(from: last, to: 0, in: there[0].wire)
        let host = random.pick(there.indices.dropLast())
        let (place, wire) = there[host]
        let mask = isIPv6 ? 128 : 32
        let source = wires[there[0].wire].address(of: 0)
        switch fault {
        case .none:
            guard !isIPv6 else { return nil }
            for host in hosts.indices { try set(host, "conf/all/rp_filter", "\(random.pick([0, 0, 1, 2]))") }
            return nil
        case .noReturn:
            let network = there[0].wire
            let far = back.filter { !wires[network].ends.contains($0.host) }.map(\.host)
            guard !far.isEmpty else { return nil }
            let host = random.pick(far)
            try run(host, "route del \(wires[network].prefix)\(isIPv6 ? "/64" : "0/24")")
            return (host, "back", ["noRoute"])
        case .noForwarding:
            guard there.count > 2 else { return nil }
            let router = random.pick(there.dropFirst().dropLast()).host
            try set(router, "conf/all/forwarding", "0")
            return (router, "there", ["notForwarding"])
        case .strictFilter:
            guard there.count > 2 else { return nil }
            let (router, wire) = random.pick(there.dropFirst().dropLast())
            try set(router, "conf/all/rp_filter", "1")
            try run(router, "route add \(source)/\(mask) \(via(wire, from: router, &random))")
            return (router, "there", ["reversePathFilter"])
        case .blackhole:
            try run(place, "route add blackhole \(target)/\(mask)")
            return (place, "there", ["blackhole"])
        case .rule:
            let action = random.pick(["prohibit", "unreachable", "blackhole"])
            try run(place, "rule add pref 5 to \(target) \(action)")
            return (
                place, "there", [action == "prohibit" ? "prohibited" : action, "refusedByRule", "noRoute"]
            )
        case .linkDown:
            let isNear = Bool.random(using: &random)
            let end = isNear ? place : wires[wire].other(than: place)
            try run(end, "link set \(wires[wire].name(at: end)) down")
            try hosts[place].wait(for: wires[wire].name(at: place), state: "DOWN")
            return (place, "there", ["noCarrier", "noRoute", "interfaceDown"])
        case .loop:
            guard host > 0 else { return nil }
            let previous = there[host - 1]
            try run(place, "route add \(target)/\(mask) \(via(previous.wire, from: place, &random))")
            // An IPv4 host drops packets with its own source address.
            return previous.host == 0 && !isIPv6 ? (0, "there", ["ownSource"]) : (place, "there", ["a loop"])
        case .noGateway:
            let gateway = "\(wires[wire].prefix)77"
            try run(place, "route add \(target)/\(mask) via \(gateway)")
            return (place, "there", ["no recording has \(gateway)"])
        }
    }

    /// The JSON of a trace over recordings that are made now.
    func trace() throws -> JSONValue {
        let folder = try ScratchFolder()
        for (number, host) in hosts.enumerated() { try folder.record(host, as: "h\(number)") }
        let result = try NetflagsProcess.run(
            "trace", "--json", "--replay-hosts", folder.path, "--from", "h0", "--protocol", "tcp", "--port",
            "9",
            target)
        guard let json = result.lines.first.flatMap({ JSONValue($0) }) else {
            throw NetflagsProcess.Failure.cannot("read \(result)", 0)
        }
        return json
    }

    /// Whether the target refuses a connection.
    func answers(within seconds: Int) throws -> Bool {
        try hosts[0].run(["timeout", "\(seconds)", "bash", "-c", ": > /dev/tcp/\(target)/9"]).output
            .contains("refused")
    }
}
