// SPDX-License-Identifier: Apache-2.0

internal import TestSupport

extension NetworkGenerator {
    /// The MTU of each interface, by which a socket shows the interface that it has selected.
    ///
    /// The far ends of the wires have 1,500.
    static let mtus: [(name: String, mtu: Int32)] = [
        ("v0", 1_490), ("v1", 1_480), ("v2", 1_460), ("x0", 1_360), ("x1", 1_340), ("x2", 1_320),
        ("lo", 65_536),
    ]

    /// The commands that give each wire its MTU.
    static let distinctMTUs = mtus.filter { linkNames.contains($0.name) }.map {
        Command.ip("link set \($0.name) mtu \($0.mtu)")
    }

    /// Commands that only the witness run adds: source-specific IPv6 default routes, alone in half of the networks
    /// that have them, a VRF where the kernel has VRFs, and what is a default path or only looks like one.
    static func witnessCommands(seed: UInt64) -> [Command] {
        var random = SeededGenerator(seed: seed ^ 0x5157_4e53)
        var commands: [Command] = []
        if random.once(in: 3) {
            if random.once(in: 2) { commands += plainDefaults.map { .ip6("route del \($0)") } }
            for _ in 0..<(1 + random.below(2)) {
                let number = random.below(3)
                let source = random.pick(["2001:db8:\(number)::/64", "2001:db8:\(random.below(3))::/64"])
                commands.append(
                    .ip6("route add default from \(source) via fe80::99 dev v\(number) metric 3000"))
            }
        }
        if random.once(in: 4), Namespace.hasVRF {
            commands += [
                .ip("link add red type vrf table 500"), .ip("link set red up"),
                .ip("link set v2 master red"),
                // The change of VRF took it.
                .ip("addr add 2001:db8:2::2/64 dev v2 nodad"),
                .ip("route add default via 10.0.2.1 table 500"),
                .ip6("route add default via 2001:db8:2::1 table 500"),
            ]
        }
        return commands + publicRoutes(seed: seed) + deadNexthops(seed: seed) + oddities(seed: seed)
    }

    /// Routes with several nexthops, one of them without a carrier, and what the kernel chooses one by.
    static func deadNexthops(seed: UInt64) -> [Command] {
        var random = SeededGenerator(seed: seed ^ 0x6861_7368)
        guard random.once(in: 3) else { return [] }
        let (dead, other) = (random.below(3), random.below(3))
        var commands: [Command] = [
            .ip(
                "route add 10.9.0.0/16 metric 70 nexthop via 10.0.\(dead).1 dev v\(dead) "
                    + "nexthop via 10.0.\(other).1 dev v\(other)"),
            .ip6(
                "route add 2001:db8:9::/48 metric 70 nexthop via 2001:db8:\(dead)::1 dev v\(dead) "
                    + "nexthop via 2001:db8:\(other)::1 dev v\(other)"),
            .ip("link set p\(dead) down"),
        ]
        for family in ["ipv4", "ipv6"] where random.once(in: 2) {
            commands.append(
                .setting(path: "net/\(family)/fib_multipath_hash_policy", value: "\(random.below(4))"))
        }
        if random.once(in: 2) {
            commands += [
                .ip(
                    "route add default metric 1 nexthop via 10.0.\(dead).1 dev v\(dead) "
                        + "nexthop via 10.0.\(other).1 dev v\(other)"),
                .ip6(
                    "route add 2000::/3 metric 1 nexthop via 2001:db8:\(dead)::1 dev v\(dead) "
                        + "nexthop via 2001:db8:\(other)::1 dev v\(other)"),
            ]
        }
        return commands
    }

    /// Null routes, default routes from link-local addresses, loopback addresses behind an interface, and rules by
    /// alternative names.
    static func oddities(seed: UInt64) -> [Command] {
        var random = SeededGenerator(seed: seed ^ 0x6f64_6473)
        let number = random.below(3)
        var commands: [Command] = []
        if random.once(in: 8) {
            commands.append(.ip("route add 198.51.100.0/24 via 127.0.0.1 dev lo metric 90"))
        }
        if random.once(in: 8) { commands.append(.ip6("route add 2001:db8:9::/48 dev lo metric 90")) }
        if random.once(in: 8) {
            let own = "169.254.7.\(number + 1)"
            commands.append(.ip("addr add \(own)/16 dev v\(number)"))
            // On purpose it is no default path, although a socket connects: `WitnessException.unusableSource`.
            let metric = random.pick([1, 91])
            commands.append(.ip("route add default dev v\(number) src \(own) metric \(metric)"))
        }
        if random.once(in: 8) {
            commands += [
                .setting(path: "net/ipv4/conf/v\(number)/route_localnet", value: "1"),
                .ip("route add 127.7.0.0/16 dev v\(number)"),
            ]
        }
        if random.once(in: 8) {
            commands += [
                .ip("link property add dev v\(number) altname uplink\(number)"),
                .ip("rule add pref 61 oif uplink\(number) lookup \(random.pick([100, 200]))"),
            ]
        }
        return commands
    }

    /// Routes that halve the address space or contain all public addresses, with and without a default route, and
    /// filters and routes of special addresses.
    private static func publicRoutes(seed: UInt64) -> [Command] {
        var random = SeededGenerator(seed: seed ^ 0x7075_626c)
        var commands: [Command] = []
        guard random.once(in: 2) else { return commands }
        func gateway() -> String {
            let number = random.below(3)
            return "via 10.0.\(number).1 dev v\(number)"
        }
        func gateway6() -> String {
            let number = random.below(3)
            return "via 2001:db8:\(number)::1 dev v\(number)"
        }
        if random.once(in: 3) { commands += plainDefaults.map { .ip("route del \($0)") } }
        if random.once(in: 3) { commands += plainDefaults.map { .ip6("route del \($0)") } }
        if random.once(in: 2) { commands.append(.ip("route add default \(gateway()) metric 4000")) }
        if random.once(in: 2) { commands.append(.ip6("route add default \(gateway6()) metric 4000")) }
        if random.once(in: 3) { commands.append(.ip("route add 0.0.0.0/1 \(gateway())")) }
        if random.once(in: 3) { commands.append(.ip("route add 128.0.0.0/1 \(gateway())")) }
        if random.once(in: 3) { commands.append(.ip6("route add 2000::/3 \(gateway6()) metric 4001")) }
        for filter in filters where random.once(in: 4) { commands.append(.ip("route add \(filter)")) }
        for filter in filters6 where random.once(in: 4) { commands.append(.ip6("route add \(filter)")) }
        return commands
    }

    private static let filters = [
        "unreachable 0.0.0.0/8", "prohibit 0.0.0.0/8 metric 5", "blackhole 0.0.0.0/8 metric 6",
        "0.0.0.0/8 dev v0 metric 7", "blackhole 240.0.0.0/4", "blackhole 224.0.0.0/3",
        "unreachable 127.0.0.0/8 table main",
    ]

    private static let filters6 = [
        "unreachable ::/96", "blackhole ::/8 metric 4002", "unreachable ::ffff:0.0.0.0/96",
        "::/96 dev v0 metric 4003",
        "unreachable 2002::/16", "unreachable 2001:db8::/32 metric 4004",
    ]

    private static let plainDefaults = ["default", "default", "default"]
}
