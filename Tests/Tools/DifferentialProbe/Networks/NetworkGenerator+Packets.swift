// SPDX-License-Identifier: Apache-2.0

internal import TestSupport

extension NetworkGenerator {
    /// In half of the networks, what makes packets take another way than the entry of the table shows, or another
    /// source address: gateways that are the host's own, encapsulations, and addresses and routes of narrow scopes.
    ///
    /// Drawn separately, so that the other networks of known seeds stay the same.
    static func packets(seed: UInt64) -> [Command] {
        var random = SeededGenerator(seed: seed ^ 0x7061_636b)
        guard random.once(in: 2) else { return [] }
        var commands: [Command] = []
        for _ in 0..<random.below(4) { commands += ownGateway(&random) }
        for _ in 0..<random.below(5) { commands.append(scopedAddress(&random)) }
        for _ in 0..<random.below(4) { commands.append(scopedRoute(&random)) }
        for _ in 0..<random.below(4) { commands.append(encapsulation(&random)) }
        return commands
    }

    /// Whether a socket can bind to addresses that the host does not have, in one of four networks.
    static func nonlocalBinding(seed: UInt64) -> [Command] {
        var random = SeededGenerator(seed: seed ^ 0x6269_6e64)
        guard random.once(in: 4) else { return [] }
        var commands: [Command] = []
        if random.once(in: 2) { commands.append(.setting(path: "net/ipv4/ip_nonlocal_bind", value: "1")) }
        if random.once(in: 2) { commands.append(.setting(path: "net/ipv6/ip_nonlocal_bind", value: "1")) }
        if random.once(in: 2) { commands.append(.ip("route add local 203.0.113.0/24 dev lo")) }
        if random.once(in: 2) { commands.append(.ip6("route add local fd00::/64 dev lo")) }
        return commands
    }

    /// A route through an address that is the host's own, or becomes it.
    private static func ownGateway(_ random: inout SeededGenerator) -> [Command] {
        let number = random.below(3)
        let prefix = random.pick(["10.9.0.0/16", "172.16.0.0/12", "198.51.100.0/24", "default"])
        let prefix6 = random.pick(["2001:db8:f::/48", "fd00::/16", "2a00::/16", "default"])
        // The kernel refuses an IPv6 gateway that is an address of the host, but not an address that is a gateway.
        switch random.below(5) {
        case 4:
            let other = random.pick(["lo", "v0", "v1", "v2"])
            return [
                .ip("addr add 10.0.\(number).88/32 dev \(other)"),
                .ip("route add \(prefix) via 10.0.\(number).88 dev v\(number) metric 53"),
            ]
        case 0:
            return [
                .ip6("route add \(prefix6) via 2001:db8:\(number)::77 dev v\(number) metric 50"),
                .ip6("addr add 2001:db8:\(number)::77/64 dev v\(number) nodad"),
            ]
        case 1:
            return [
                .ip("route add \(prefix) via 10.0.\(number).77 dev v\(number) metric 50"),
                .ip("addr add 10.0.\(number).77/24 dev v\(number)"),
            ]
        case 2:
            return [
                .ip(
                    "route add 172.16.0.0/12 metric 51 nexthop via 10.0.\(number).2 dev v\(number) "
                        + "nexthop via 10.0.0.1 dev v0"
                )
            ]
        default: return [.ip("route add \(prefix) via 10.0.\(number).2 dev v\(number) metric 52")]
        }
    }

    /// An address whose scope is narrower than that of most routes, or one beside it, before or after the others.
    private static func scopedAddress(_ random: inout SeededGenerator) -> Command {
        let number = random.below(3)
        let network = random.pick(["172.20.\(number)", "10.0.\(number)", "10.9.\(number)"])
        let scope = random.pick(["link", "host", "global", "200"])
        if random.once(in: 5) {
            let address = random.pick(["10.0.\(number).2/24", "10.0.\(number).2/24", "127.0.0.1/8"])
            return .ip("addr del \(address) dev \(address.hasPrefix("127") ? "lo" : "v\(number)")")
        }
        let link = random.once(in: 6) ? "lo" : "v\(number)"
        return .ip(
            "addr add \(network).\(random.pick([2, 3, 9]))/\(random.pick([24, 24, 32])) dev \(link) scope \(scope)"
        )
    }

    /// A route of a scope of its own, with and without a source address.
    private static func scopedRoute(_ random: inout SeededGenerator) -> Command {
        let number = random.below(3)
        let prefix = random.pick([
            "172.20.0.0/16", "10.9.0.0/16", "198.51.100.0/25", "172.24.0.0/13", "192.0.2.0/24",
        ])
        let source = random.pick(["", "", " src 10.0.\(number).2", " src 10.0.0.2"])
        if random.once(in: 3) {
            return .ip("route add \(prefix) via 10.0.\(number).1 dev v\(number) metric 60\(source)")
        }
        return .ip(
            "route add \(prefix) dev v\(number) scope \(random.pick(["link", "host", "global"])) metric 61\(source)"
        )
    }

    /// A route that puts packets into others.
    private static func encapsulation(_ random: inout SeededGenerator) -> Command {
        let number = random.below(3)
        let outer = random.pick([
            "10.0.\(number).9", "10.0.\(number).2", "10.9.0.1", "198.51.100.7", "192.0.2.1", "203.0.113.9",
        ])
        let outer6 = random.pick(["2001:db8:\(number)::9", "2001:db8:f::9", "2a00::9", "fd00::9"])
        let prefix = random.pick(["10.9.4.0/22", "172.16.0.0/16", "198.51.100.128/25"])
        let prefix6 = random.pick(["2001:db8:f:8::/61", "fd00:0:0:1::/64", "2a00:1::/32"])
        let way = random.pick(["dev v\(number)", "via 10.0.\(number).1 dev v\(number)"])
        let way6 = random.pick(["dev v\(number)", "via 2001:db8:\(number)::1 dev v\(number)"])
        switch random.below(6) {
        case 0: return .ip("route add \(prefix) encap ip id 7 dst \(outer) \(way) metric 70")
        case 1: return .ip("route add \(prefix) encap ip6 id 7 dst \(outer6) \(way) metric 70")
        case 2: return .ip6("route add \(prefix6) encap ip6 id 7 dst \(outer6) \(way6) metric 70")
        case 3: return .ip6("route add \(prefix6) encap seg6 mode encap segs \(outer6) \(way6) metric 70")
        case 4: return .ip6("route add \(prefix6) encap seg6 mode inline segs \(outer6) \(way6) metric 70")
        default: return .ip("route add \(prefix) encap seg6 mode encap segs \(outer6) \(way) metric 70")
        }
    }
}
