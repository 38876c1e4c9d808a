// SPDX-License-Identifier: Apache-2.0

internal import TestSupport

extension NetworkGenerator {
    /// What networks of the change run have beside the base: a dummy, whose carrier a test can take, a VLAN, a bridge
    /// with a port, secondary addresses, and a VRF where the kernel has VRFs.
    static var changeBase: [Command] {
        base + [
            .ip("link add d0 type dummy"), .ip("link set d0 up"), .ip("addr add 10.0.7.2/24 dev d0"),
            .ip("addr add 2001:db8:7::2/64 dev d0 nodad"), .ip("addr add fe80::7/64 dev d0 nodad"),
            .ip("link add link v0 name v0.7 type vlan id 7"), .ip("link set v0.7 up"),
            .ip("addr add 10.0.8.2/24 dev v0.7"), .ip("addr add 2001:db8:8::2/64 dev v0.7 nodad"),
            .ip("link add br0 type bridge"), .ip("link add d1 type dummy"), .ip("link set d1 master br0"),
            .ip("link set d1 up"), .ip("link set br0 up"), .ip("addr add 10.0.9.2/24 dev br0"),
            .ip("addr add 2001:db8:9::2/64 dev br0 nodad"), .ip("addr add 10.0.1.3/24 dev v1"),
            .ip("addr add 10.0.1.4/24 dev v1"), .ip("addr add 10.0.0.66 peer 10.0.66.1/32 dev v0"),
            .ip("link add link v2 name mv0 type macvlan"), .ip("link set mv0 up"),
            .ip("addr add 10.0.11.2/24 dev mv0"),
        ] + vrfBase
    }

    private static var vrfBase: [Command] {
        guard Namespace.hasVRF else { return [] }
        return [
            .ip("link add red type vrf table 300"), .ip("link set red up"), .ip("link add d2 type dummy"),
            .ip("link set d2 master red"), .ip("link set d2 up"), .ip("addr add 10.0.10.2/24 dev d2"),
            .ip("addr add 2001:db8:10::2/64 dev d2 nodad"),
        ]
    }

    private static let changeLinks = linkNames + ["p0", "p1", "p2", "d0", "d1", "d2", "mv0", "v0.7", "br0"]

    /// The setting that decides over secondary addresses, on or off.
    mutating func promotion() -> Command {
        .setting(path: "net/ipv4/conf/v1/promote_secondaries", value: random.pick(["0", "1"]))
    }

    /// A change in the words of ip(8), as a user gives it.
    mutating func hostChange() -> String {
        let isIPv6 = random.once(in: 2)
        let family = isIPv6 ? "-6 " : ""
        switch random.below(33) {
        case 0..<9: return family + route(isIPv6: isIPv6)
        case 9..<12: return family + removedRoute(isIPv6: isIPv6)
        case 12, 13, 14: return family + rule(isIPv6: isIPv6)
        case 15, 16, 17: return address()
        case 18, 19, 20: return "link set \(random.pick(Self.changeLinks)) \(random.pick(["up", "down"]))"
        case 21: return "link set \(random.pick(["d0", "d1"])) carrier \(random.pick(["on", "off"]))"
        case 22: return flush()
        case 23: return wordyAddress()
        case 24: return wordyRule(isIPv6)
        case 25:
            return "link set \(random.pick(["d0", "d1", "v2"])) \(random.pick(["nomaster", "master br0"]))"
        case 26: return "link del \(random.pick(Self.changeLinks))"
        case 27:
            return
                "link set \(random.pick(Self.changeLinks)) mtu \(random.pick([66, 1_300, 1_600, 9_000, 65_536]))"
        case 28, 29: return setting()
        default: return random.pick(Self.oddChanges)
        }
    }

    /// A change in the words of sysctl(8).
    private mutating func setting() -> String {
        let link = random.pick(Self.changeLinks + ["all", "lo"])
        let known = ["forwarding", "disable_ipv6", "disable_ipv6", "force_forwarding"].filter {
            Namespace.exists("/proc/sys/net/ipv6/conf/default/\($0)")
        }
        let names = known.map { "ipv6/conf/\(link)/\($0)" } + ["ipv4/conf/\(link)/forwarding"]
        return "sysctl net/\(random.pick(names))=\(random.pick([0, 1]))"
    }

    /// Numbers, addresses and prefixes that ip(8) reads otherwise than most programs do.
    private static let oddChanges = [
        "rule add not l3mdev pref 52", "-6 rule add not l3mdev pref 52",
        "rule add from 0/0 lookup 100 pref 53",
        "rule add from 10.0.1/24 lookup 100 pref 54", "rule add from ::/0 unreach pref 55",
        "rule add to 10.9.0.0/255.255.0.0 tab 100 pref 56", "rule add tos 0x11 lookup 100 pref 57",
        "rule add tos 10 lookup 100 pref 58", "rule add dport 70000 lookup 100 pref 59",
        "rule add not to 10/8 nop",
        "route add 10.9/16 via 10.0.0.9", "route add 10.9.0.0/255.255.0.0 via 10.0.1.9 metric 010",
        "route add 10.9.0.0/16 via 10.0.2.9 mtu 4294967295", "route add 10.9 dev v1", "route del 10.9/16",
        "route add dev v1 scope 100 10.9.0.0/16", "route add 10.9/16 dev v0 tos 10",
        "route add 0/0 dev v2 met 5",
        "route add default via 2001:db8:1::9 metric 7", "route add 10.9/16 via inet6 2001:db8:0::9",
        "-6 route flush root 2001:db8::/16", "route flush root 10.9/8", "-6 route flush via 2001:db8:1::/64",
        "addr add 10.0.1.77/24 brd - dev v1", "addr add 10.0.0.78/24 brd 10.0.0.9 dev v0",
        "addr flush to 10.0.1/24",
        "addr add 10.0.2.79/32 brd 10.9.0.1 dev v2", "addr del 10.0.1.77/255.255.255.0 dev v1",
        "addr del 10.0.0.78/24 dev v0", "addr add 10.0.2/24 dev v2 scope 200",
    ]

    private mutating func removedRoute(isIPv6: Bool) -> String {
        let way = random.pick(["", " dev \(random.pick(Self.linkNames))", ""])
        return "route del \(prefix(isIPv6: isIPv6))\(random.pick(["", "", " metric 10"]))\(way)"
    }

    private mutating func address() -> String {
        let verb = random.pick(["add", "del"])
        let (number, link) = random.pick([
            (0, "v0"), (1, "v1"), (1, "v1"), (2, "v2"), (7, "d0"), (8, "v0.7"), (9, "br0"), (10, "d2"),
            (11, "mv0"),
        ])
        if random.once(in: 3) {
            return
                "addr \(verb) 2001:db8:\(number)::\(random.pick(["2", "2", "3"]))/64 dev \(link)\(verb == "add" ? " nodad" : "")"
        }
        return "addr \(verb) 10.0.\(number).\(random.pick(["2", "2", "2", "3", "4", "200"]))/24 dev \(link)"
    }

    private mutating func flush() -> String {
        let link = random.pick(Self.changeLinks)
        return random.pick([
            "addr flush dev \(link)", "-6 addr flush dev \(link)", "-4 addr flush dev \(link) scope global",
            "addr flush to 10.0.1.0/24", "route flush dev \(link)", "-6 route flush dev \(link)",
            "route flush table 100", "-6 route flush table 200", "route flush root 10.9.0.0/16",
            "route flush scope link", "route flush proto kernel", "rule flush", "-6 rule flush",
        ])
    }

    private mutating func wordyAddress() -> String {
        let verb = random.pick(["add", "replace", "change"])
        let (number, link) = random.pick([(0, "v0"), (1, "v1"), (7, "d0"), (8, "v0.7")])
        let word = random.pick(["", " noprefixroute", " brd +", " scope link", " label \(link)"])
        let host = random.pick(["2", "3", "77"])
        return random.once(in: 2)
            ? "addr \(verb) 10.0.\(number).\(host)/24 dev \(link)\(word)"
            : "addr \(verb) 2001:db8:\(number)::\(host)/64 dev \(link) nodad\(word == " noprefixroute" ? word : "")"
    }

    private mutating func wordyRule(_ isIPv6: Bool) -> String {
        // Rules that differ in their protocol alone are two, and the tables here do not hold it.
        let priority = random.pick([51, 61, 71])
        let words = random.pick([
            "lookup 0", "l3mdev", "type blackhole", "goto 80", "lookup main suppress_ifgroup 5",
            "lookup 100 protocol static", "from \(isIPv6 ? "2001:db8::/32" : "10.0.0.0/8") lookup 100",
            "table main suppress_ifgroup default",
        ])
        return "\(isIPv6 ? "-6 " : "")rule add prio \(priority) \(words)"
    }

    /// Addresses in each network that something can lead to, but for IPv4 groups: see ``NetworkGenerator``.
    func hostTargets() -> [String] {
        var targets: [String] = ["198.51.100.7", "2001:db8:ff::7", "127.0.0.1", "::1", "10.9.0.1"]
        for number in [0, 1, 2, 7, 8, 9, 10, 11] {
            targets += ["10.0.\(number).9", "10.0.\(number).2", "2001:db8:\(number)::9"]
        }
        targets += [
            "10.0.1.3", "10.0.1.255", "10.0.1.0", "10.0.66.1", "2001:db8:1::2", "fe80::9%v1", "fe80::9%d0",
            "fe80::9%d2",
        ]
        for prefix in prefixes4.filter({ !$0.hasPrefix("22") }).prefix(6) + prefixes6.prefix(6) {
            targets.append(String(prefix.prefix { $0 != "/" }))
        }
        return targets
    }
}
