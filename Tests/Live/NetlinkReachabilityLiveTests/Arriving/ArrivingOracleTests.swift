// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import TestNamespaces
import TestSupport
import Testing

/// Random networks: what the library says of packets that arrive, against real packets and the kernel's counters.
struct ArrivingOracleTests {
    /// The beginning of the series: another one for each value of `SOAK_SEED`.
    private static let seed = getenv("SOAK_SEED").flatMap { UInt64(String(cString: $0)) } ?? 11
    private static let packetsOfNetwork = 12

    @Test(.needs(.veth), arguments: [false, true])
    func `a real packet is delivered, forwarded or dropped as the library says, and for its reason`(
        isIPv6: Bool
    ) throws {
        var random = SeededGenerator(seed: Self.seed + (isIPv6 ? 1_000 : 0))
        var (count, dropped) = (0, 0)
        for _ in 0..<Rounds.of(60) {
            let steps = Self.steps(isIPv6: isIPv6, &random)
            let packets = (0..<Self.packetsOfNetwork).map { _ in Self.packet(isIPv6: isIPv6, &random) }
            let host = try Self.network(steps)
            for packet in packets {
                let outcome = try host.outcome(packet)
                count += 1
                if outcome.said == "dropped" { dropped += 1 }
                guard let text = outcome.contradiction else { continue }
                let smallest = try Shrinking.smallest(
                    Found(steps: steps, text: text), steps: \.steps
                ) { steps in
                    let text = try Self.network(steps).outcome(packet).contradiction
                    return text.map { Found(steps: steps, text: $0) }
                }
                Issue.record("\(smallest.text), after \(smallest.steps.joined(separator: "; "))")
                return
            }
        }
        #expect(count >= Self.packetsOfNetwork && dropped > 0)
    }

    /// A contradiction, and the commands that make its network.
    private struct Found {
        let steps: [String]
        let text: String
    }

    /// The network that commands make, of which some fail: a rule can be there already.
    private static func network(_ steps: [String]) throws -> RoutedHost {
        let host = try RoutedHost(isAddressed: false)
        for step in steps {
            if step.hasPrefix("net/") {
                let words = step.split(separator: "=").map(String.init)
                try? host.host.set(words[0], words[1])
            } else {
                _ = try? host.host.ip(step)
            }
        }
        return host
    }

    private static func steps(isIPv6: Bool, _ random: inout SeededGenerator) -> [String] {
        func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
        func one<Value>(_ values: [Value]) -> Value {
            values[Int.random(in: 0..<values.count, using: &random)]
        }
        let networks =
            isIPv6 ? ["2001:db8:1::", "2001:db8:2::", "2001:db8:3::"] : RoutedHost.networks.map { "\($0)." }
        let (family, length) = (isIPv6 ? "-6 " : "", isIPv6 ? 64 : 24)
        let far = isIPv6 ? "2001:db8:99::/64" : "203.0.113.0/24"
        var steps: [String] = []
        for (network, link) in zip(networks, RoutedHost.uplinks) where chance(93) {
            steps.append("\(family)addr add \(network)2/\(length) dev \(link)\(isIPv6 ? " nodad" : "")")
        }
        for network in networks where chance(55) {
            steps.append("\(family)route add default via \(network)1 metric \(one([5, 10, 20]))")
        }
        let (first, second) = (one(networks), one(networks))
        let types = [
            "via \(first)1", "dev \(one(RoutedHost.uplinks))", "nexthop via \(first)1 nexthop via \(second)1",
        ]
        if chance(60) { steps.append("\(family)route add \(far) \(one(types))") }
        if chance(40) {
            steps.append(
                "\(family)route add \(one(["blackhole", "unreachable", "prohibit"])) \(far) metric 1")
        }
        for table in [77, 78] {
            steps.append("\(family)route add default dev \(one(RoutedHost.uplinks)) table \(table)")
        }
        for _ in 0..<one([0, 0, 1, 2, 3]) {
            let selector = one([
                "from \(one(networks))\(isIPv6 ? "" : "0")/\(length)", "to \(far)", "from \(far)",
                "iif \(one(RoutedHost.uplinks))", "iif lo", "fwmark 7", "ipproto udp dport 7000",
                "ipproto udp sport 6000", "ipproto tcp", "uidrange 0-0", "uidrange 1000-2000",
                "oif \(one(RoutedHost.uplinks))",
            ])
            let action = one([
                "lookup 77", "lookup 78", "prohibit", "blackhole", "unreachable",
                "lookup main suppress_prefixlength 0",
            ])
            steps.append(
                "\(family)rule add \(selector) pref \(Int.random(in: 1...30_000, using: &random)) \(action)")
        }
        for group in ["all"] + RoutedHost.uplinks {
            if isIPv6 { break }
            steps.append(
                "net/ipv4/conf/\(group)/rp_filter=\(one(group == "all" ? [0, 0, 0, 1, 2] : [0, 0, 1, 2]))")
        }
        steps.append(
            isIPv6
                ? "net/ipv6/conf/all/forwarding=\(one([0, 1, 1]))" : "net/ipv4/ip_forward=\(one([0, 1, 1]))")
        let settings =
            isIPv6
            ? ["forwarding", "force_forwarding", "disable_ipv6"]
            : ["forwarding", "accept_local", "route_localnet"]
        for link in RoutedHost.uplinks {
            for setting in settings where chance(10) {
                steps.append("net/\(isIPv6 ? "ipv6" : "ipv4")/conf/\(link)/\(setting)=\(one([0, 1]))")
            }
        }
        for setting in ["accept_local", "route_localnet"] where !isIPv6 && chance(8) {
            steps.append("net/ipv4/conf/all/\(setting)=1")
        }
        return steps
    }

    private static func packet(isIPv6: Bool, _ random: inout SeededGenerator) -> [String] {
        func one(_ values: [String]) -> String { values[Int.random(in: 0..<values.count, using: &random)] }
        let number = Int.random(in: 0..<3, using: &random)
        guard isIPv6 else {
            let networks = RoutedHost.networks
            let sources =
                Array(repeating: "\(networks[number]).9", count: 4) + networks.map { "\($0).77" }
                + [
                    "203.0.113.9", "203.0.113.9", "8.8.8.8", networks[(number + 1) % 3] + ".2", "127.0.0.1",
                    "0.0.0.0",
                ]
            let targets =
                networks.map { "\($0).2" } + networks.map { "\($0).2" } + networks.map { "\($0).88" }
                + ["203.0.113.9", "8.8.8.8", "127.0.0.1", "10.0.0.255"]
            return [RoutedHost.uplinks[number], one(sources), one(targets)]
        }
        let sources =
            Array(repeating: "2001:db8:\(number + 1)::9", count: 4) + [
                "2001:db8:99::9", "2001:db8:1::9", "2001:db8:2::2", "fe80::9", "::", "::1", "ff02::1",
            ]
        let targets =
            (1...3).map { "2001:db8:\($0)::2" } + [
                "2001:db8:99::9", "2001:db8:1::77", "2001:db8:3::77", "::1", "2001:db8:aaaa::1",
            ]
        return [RoutedHost.uplinks[number], one(sources), one(targets)]
    }
}
