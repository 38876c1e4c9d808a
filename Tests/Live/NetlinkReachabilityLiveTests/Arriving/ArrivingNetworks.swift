// SPDX-License-Identifier: Apache-2.0

import TestSupport

/// Draws networks for packets that arrive at a ``RoutedHost``, and the packets.
struct ArrivingNetworks {
    let isIPv6: Bool
    private var random: SeededGenerator

    init(isIPv6: Bool, seed: UInt64) {
        self.isIPv6 = isIPv6
        random = SeededGenerator(seed: seed)
    }

    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    private static let networks6 = ["2001:db8:1::", "2001:db8:2::", "2001:db8:3::"]

    /// The networks of the uplinks, as the beginning of an address.
    private var networks: [String] { isIPv6 ? Self.networks6 : RoutedHost.networks.map { "\($0)." } }

    private func prefix(_ network: String) -> String { isIPv6 ? "\(network)/64" : "\(network)0/24" }

    // MARK: Networks

    /// The commands that make a network, of which a kernel can refuse some.
    mutating func steps() -> [String] {
        var names = Array(RoutedHost.uplinks.prefix(random.pick([2, 3, 3])))
        var steps = masters(of: &names)
        for (network, name) in zip(networks, names) where chance(93) {
            let length = isIPv6 ? "64" : "24"
            steps.append(ip("addr add \(network)2/\(length) dev \(name)\(isIPv6 ? " nodad" : "")"))
        }
        steps += routes(names).map(ip)
        for _ in 0..<random.pick([0, 0, 1, 2, 3, 4]) { steps.append(ip(rule(names))) }
        steps += settings(names)
        if chance(25) { steps.append(RoutedHost.marking) }
        return steps
    }

    private func ip(_ words: String) -> String { (isIPv6 ? "-6 " : "") + words }

    /// Sometimes the last uplink is a port of a bridge or of a VRF.
    private mutating func masters(of names: inout [String]) -> [String] {
        guard chance(25), let port = names.last else { return [] }
        guard chance(50) else {
            let number = names.count - 1
            return [
                "link add red type vrf table 500", "link set red up", "link set \(port) master red",
                ip("route add default via \(networks[number])1 table 500"),
            ]
        }
        names[names.count - 1] = RoutedHost.bridge
        return RoutedHost.bridging(port)
    }

    private mutating func routes(_ names: [String]) -> [String] {
        var routes: [String] = []
        let metrics = isIPv6 ? [10, 20, 30] : [0, 10, 20, 30]
        for network in networks where chance(55) {
            routes.append("default via \(network)1 metric \(random.pick(metrics))")
        }
        let far =
            isIPv6
            ? ["2001:db8:99::/64", "2001:db8:98::/64"]
            : ["203.0.113.0/24", "203.0.113.8/29", "100.64.0.0/10", "172.16.5.0/24"]
        for prefix in far where chance(50) { routes.append(route(to: prefix, names)) }
        if chance(30) {
            routes.append("\(random.pick(["blackhole", "unreachable", "prohibit"])) \(far[0]) metric 1")
        }
        let gateway = isIPv6 ? "via fe80::1" : "via \(random.pick(networks))1"
        for table in [77, 78] {
            routes.append("default \(gateway) dev \(random.pick(names)) onlink table \(table)")
            for prefix in [far[0], prefix(networks[2])] where chance(30) {
                routes.append("\(prefix) dev \(random.pick(names)) table \(table)")
            }
        }
        return routes.map { "route add \($0)" }
    }

    private mutating func route(to prefix: String, _ names: [String]) -> String {
        let (first, second) = (random.pick(networks), random.pick(networks))
        let choices = [
            "\(prefix) via \(first)1", "\(prefix) via \(first)1", "\(prefix) dev \(random.pick(names))",
            "blackhole \(prefix)", "unreachable \(prefix)", "prohibit \(prefix)",
            "\(prefix) nexthop via \(first)1 nexthop via \(second)1",
        ]
        let own =
            isIPv6
            ? ["\(prefix) from 2001:db8:3::/64 via \(first)1"]
            : ["throw \(prefix)", "\(prefix) tos 0x10 via \(first)1"]
        return random.pick(choices + own)
    }

    private mutating func rule(_ names: [String]) -> String {
        let far = isIPv6 ? "2001:db8:99::/64" : "203.0.113.0/24"
        let selectors = [
            "from \(prefix(random.pick(networks)))", "from \(random.pick(networks))2",
            "to \(prefix(random.pick(networks)))", "to \(far)", "from \(far)",
            "iif \(random.pick(names))", "iif \(random.pick(names))", "iif lo", "oif \(random.pick(names))",
            "iif red", "fwmark 7", "fwmark 8/0xf", "ipproto udp dport 7001", "ipproto udp sport 6001",
            "ipproto tcp", "ipproto udp", "tos 0x10", "uidrange 0-0", "uidrange 1000-2000",
            "not from \(prefix(networks[2]))", "from all",
        ]
        let actions = [
            "lookup 77", "lookup 77", "lookup 78", "lookup 500", "prohibit", "blackhole", "unreachable",
            "lookup main suppress_prefixlength 0", "lookup main",
        ]
        let priority = Int.random(in: 1...32_000, using: &random)
        return "rule add \(random.pick(selectors)) pref \(priority) \(random.pick(actions))"
    }

    private mutating func settings(_ names: [String]) -> [String] {
        let folder = "net/ipv\(isIPv6 ? 6 : 4)/conf"
        var settings = isIPv6 ? ["\(folder)/all/forwarding=\(random.pick([0, 1, 1]))"] : []
        if !isIPv6 {
            settings.append("net/ipv4/ip_forward=\(random.pick([0, 1, 1]))")
            settings.append("\(folder)/all/rp_filter=\(random.pick([0, 0, 0, 1, 2]))")
            settings += names.map { "\(folder)/\($0)/rp_filter=\(random.pick([0, 0, 1, 2]))" }
        }
        let switches =
            isIPv6
            ? [("forwarding", 15), ("force_forwarding", 20), ("disable_ipv6", 5)]
            : [
                ("forwarding", 15), ("accept_local", 10), ("src_valid_mark", 15), ("route_localnet", 10),
                ("bc_forwarding", 15), ("send_redirects", 10),
            ]
        for (setting, percent) in switches {
            for name in names where chance(percent) {
                settings.append("\(folder)/\(name)/\(setting)=\(random.pick([0, 1]))")
            }
            // Of these, all is not a setting for all.
            if !isIPv6, setting != "forwarding", chance(percent) {
                settings.append("\(folder)/all/\(setting)=\(setting == "send_redirects" ? 0 : 1)")
            }
        }
        return settings
    }

    // MARK: Packets

    private static let far4 = ["203.0.113.9", "203.0.113.77", "100.64.1.1", "172.16.5.5", "8.8.8.8"]
    private static let oddSources4 = [
        "127.0.0.1", "0.0.0.0", "255.255.255.255", "224.0.0.5", "240.0.0.1", "192.0.2.255", "198.51.100.0",
    ]
    private static let oddTargets4 = [
        "127.0.0.1", "255.255.255.255", "192.0.2.255", "10.0.0.255", "224.0.0.1", "239.1.1.1", "0.0.0.0",
        "240.0.0.1",
    ]
    private static let far6 = ["2001:db8:99::9", "2001:db8:98::9", "fc00::1"]
    private static let odd6 = ["fe80::9", "::", "::1", "ff02::1"]
    private static let oddTargets6 = ["2001:db8:1::", "::1", "2001:db8:aaaa::1"]

    /// Every address to which the host can send something.
    static let neighbours =
        RoutedHost.networks.flatMap { network in [0, 1, 2, 9, 77, 88, 255].map { "\(network).\($0)" } }
        + networks6.flatMap { network in ["", "1", "2", "9", "77"].map { "\(network)\($0)" } }
        + far4 + far6 + ["240.0.0.1", "fe80::1", "fe80::9", "2001:db8:aaaa::1"]

    /// A packet on any uplink.
    mutating func packet() -> ArrivingPacket {
        let number = Int.random(in: 0..<3, using: &random)
        let own = networks.map { "\($0)2" }
        let near = Array(repeating: "\(networks[number])9", count: 4)
        let far = isIPv6 ? Self.far6 : Self.far4
        let others = isIPv6 ? networks.map { "\($0)77" } : networks.map { "\($0)88" }
        let sources = near + others + far
        let targets = own + own + others + far + far[..<1]
        let odd = own + (isIPv6 ? Self.odd6 : Self.oddSources4)
        let oddTargets = isIPv6 ? Self.oddTargets6 : Self.oddTargets4
        var packet = ArrivingPacket(
            RoutedHost.uplinks[number], random.pick(chance(85) ? sources : odd),
            random.pick(chance(88) ? targets : oddTargets))
        packet.port = random.pick([7_000, 7_000, 7_001] + RoutedHost.marks.keys.sorted())
        packet.sourcePort = random.pick([6_000, 6_000, 6_001])
        packet.typeOfService = random.pick([0, 0, 0, 0x10])
        return packet
    }
}
