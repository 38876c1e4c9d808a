// SPDX-License-Identifier: Apache-2.0

internal import TestSupport

extension NetworkGenerator {
    /// The tunnels that a network can have.
    static let tunnelNames = ["x0", "x1", "x2"]

    /// Addresses that routes into tunnels lead to, in and behind the networks of both.
    static let tunnelTargets = [
        "10.12.0.9", "10.13.0.9", "2001:db8:12::9", "2001:db8:13::9", "10.9.200.1", "2001:db8:f:8000::9",
        "10.14.0.9",
    ]

    /// The wires send at once, whether or not an address on them answers: their counters show what leaves.
    static let withoutARP = linkNames.map { Command.ip("link set \($0) arp off") }

    /// In half of the networks, one or two tunnels whose outer packets take the drawn routes, and routes into them.
    ///
    /// Drawn separately, so that the other networks of known seeds stay the same. None where the kernel has no kind.
    static func tunnels(seed: UInt64) -> [Command] {
        var random = SeededGenerator(seed: seed ^ 0x7475_6e6e)
        guard random.once(in: 2), !Namespace.tunnelKinds.isEmpty else { return [] }
        return tunnelNames.prefix(1 + random.below(2)).enumerated().flatMap { tunnel($0, $1, &random) }
    }

    /// A tunnel, an address of each family, also of one that it drops, and routes into it and to its remote end.
    private static func tunnel(_ number: Int, _ name: String, _ random: inout SeededGenerator) -> [Command] {
        let kind = random.pick(Namespace.tunnelKinds)
        let isIPv6 = kind == "vxlan" && random.once(in: 3)
        let (wire, other) = (random.below(3), random.below(3))
        let remote = isIPv6 ? remote6(wire, &random) : remote(wire, &random)
        var ends = "remote \(remote)"
        switch random.below(8) {
        case 0, 1: ends += " dev v\(other)"
        case 2, 3: ends += isIPv6 ? " local 2001:db8:\(other)::2" : " local 10.0.\(other).2"
        case 4: ends += isIPv6 ? " local 2001:db8:77::77" : " local 203.0.113.77"
        default: break
        }
        if random.once(in: 6) { ends += " tos 0x10" }
        // Where the outer packets come back, a vxlan would learn another end from them.
        if kind == "vxlan" { ends += " id \(7 + number) dstport \(4_789 + number) nolearning" }
        var commands: [Command] = [
            .ip("link add \(name) mtu \(1_360 - 20 * number) type \(kind) \(ends)"),
            .ip("link set \(name) arp off up"), .ip("addr add 10.\(12 + number).0.2/24 dev \(name)"),
        ]
        commands.append(.ip6("addr add 2001:db8:\(12 + number)::2/64 dev \(name) nodad"))
        if random.once(in: 2) { commands.append(.ip("route add 10.9.128.0/17 dev \(name) metric 80")) }
        if random.once(in: 3) {
            commands.append(.ip6("route add 2001:db8:f:8000::/49 dev \(name) metric 80"))
        }
        if random.once(in: 5) { commands.append(.ip("route add default dev \(name) metric 6000")) }
        if random.once(in: 3) {
            let route = remoteRoute("add", remote, isIPv6, wire)
            commands.append(isIPv6 ? .ip6(route) : .ip(route))
        }
        if random.once(in: 6) {
            let rule =
                "rule add pref 45 to \(remote) \(random.pick(["prohibit", "fwmark 7 blackhole", "tos 0x10 lookup 100"]))"
            commands.append(isIPv6 ? .ip6(rule) : .ip(rule))
        }
        return commands
    }

    /// In one of four networks, a tunnel that lacks an end, or whose kind is rarer.
    static func oddTunnel(seed: UInt64) -> [Command] {
        var random = SeededGenerator(seed: seed ^ 0x6f64_7475)
        guard random.once(in: 4) else { return [] }
        let (wire, own) = (random.below(3), random.below(3))
        let remote6 = remote6(wire, &random)
        let vxlan = "vxlan id 9 dstport 4791"
        let kind = random.pick([
            "\(vxlan) dev v\(wire)", "\(vxlan) dev v\(wire)", vxlan,
            "\(vxlan) dev v\(wire) local 10.0.\(own).2",
            "\(vxlan) dev v\(wire) local 203.0.113.77", "ipip", "gre local 10.0.\(own).2", "gre dev v\(wire)",
            "sit remote \(remote(wire, &random))", "sit", "ip6tnl remote \(remote6)",
            "ip6tnl remote \(remote6) local 2001:db8:\(own)::2", "ip6gre remote \(remote6)",
        ])
        return [
            .ip("link add x2 mtu 1320 type \(kind)"), .ip("link set x2 arp off up"),
            .ip("addr add 10.14.0.2/24 dev x2"),
        ] + (random.once(in: 2) ? [.ip("link set p\(wire) down")] : [])
    }

    private static func remote(_ wire: Int, _ random: inout SeededGenerator) -> String {
        random.pick([
            "10.0.\(wire).9", "10.0.\(wire).1", "10.9.0.9", "198.51.100.9", "192.0.2.9", "172.16.0.9",
            "10.12.0.9",
        ])
    }

    private static func remote6(_ wire: Int, _ random: inout SeededGenerator) -> String {
        random.pick([
            "2001:db8:\(wire)::9", "2001:db8:\(wire)::1", "2001:db8:f::9", "2a00::9", "fd00::9",
            "2001:db8:12::9",
        ])
    }

    /// A command about a route to a remote end.
    private static func remoteRoute(_ verb: String, _ remote: String, _ isIPv6: Bool, _ wire: Int) -> String {
        isIPv6
            ? "route \(verb) \(remote)/128 via 2001:db8:\(wire)::1 dev v\(wire) metric 81"
            : "route \(verb) \(remote)/32 via 10.0.\(wire).1 dev v\(wire) metric 81"
    }

    /// A change below a tunnel or of it, in the words of ip(8).
    static func tunnelChange(_ random: inout SeededGenerator) -> String {
        let wire = random.below(3)
        let isIPv6 = random.once(in: 3)
        let verb = random.pick(["add", "del"])
        switch random.below(16) {
        case 0..<5: return "link set p\(wire) \(random.pick(["up", "down"]))"
        case 5: return "link set v\(wire) \(random.pick(["up", "down"]))"
        case 6: return "link set \(random.pick(tunnelNames)) \(random.pick(["up", "up", "down"]))"
        case 7, 8, 9, 10:
            let remote = isIPv6 ? remote6(wire, &random) : remote(wire, &random)
            return (isIPv6 ? "-6 " : "") + remoteRoute(verb, remote, isIPv6, wire)
        case 11: return "\(isIPv6 ? "-6 " : "")route del default"
        case 12, 13:
            return isIPv6
                ? "addr \(verb) 2001:db8:\(wire)::2/64 dev v\(wire)\(verb == "add" ? " nodad" : "")"
                : "addr \(verb) 10.0.\(wire).2/24 dev v\(wire)"
        case 14:
            return "rule \(verb) pref 46\(verb == "del" ? "" : " to \(remote(wire, &random)) prohibit")"
        default:
            return random.once(in: 3) ? "link del \(random.pick(tunnelNames))" : "route flush dev v\(wire)"
        }
    }
}
