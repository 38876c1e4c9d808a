// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel
internal import TestSupport

/// Draws what decides the order of addresses beside routes and rules: addresses of the host, the policy, and sets.
struct OrderGenerator {
    private var random: SeededGenerator

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed ^ 0x6f72_6465_72)
    }

    // MARK: Networks

    /// Whether the network has a tunnel, which is not a command of `ip` everywhere.
    mutating func hasTunnel() -> Bool { random.once(in: 2) }

    /// Addresses of every scope and label, deprecated, home and temporary ones, default routes, and a tunnel.
    mutating func commands(hasTunnel: Bool) -> [Command] {
        var commands: [Command] = []
        if hasTunnel {
            commands += [
                .ip("link set t0 up"), .ip("addr add 10.0.9.2/24 dev t0"),
                .ip6("addr add 2600:9::2/64 dev t0 nodad"), .ip6("route add 2a00::/16 dev t0 metric 900"),
                .ip("route add 203.0.113.0/24 dev t0 metric 900"),
            ]
        }
        for _ in 0..<(2 + random.below(8)) { commands.append(.ip6(address6())) }
        for _ in 0..<random.below(5) { commands.append(.ip(address4())) }
        if random.once(in: 4) {
            commands += [
                .setting(path: "net/ipv6/conf/v0/use_tempaddr", value: "2"),
                .ip6("addr add 2601:\(random.below(9))::2/64 dev v0 nodad mngtmpaddr"),
            ]
        }
        for _ in 0..<2 {
            let number = random.below(3)
            if !random.once(in: 4) {
                commands.append(.ip("route add default via 10.0.\(number).1 metric 4000"))
            }
            if !random.once(in: 4) {
                commands.append(
                    .ip6("route add default via 2001:db8:\(number)::1 dev v\(number) metric 4000"))
            }
        }
        if random.once(in: 10) { commands += ["v0", "v1", "v2", "t0"].map { .ip6("addr flush dev \($0)") } }
        return commands
    }

    private mutating func address6() -> String {
        let number = random.below(3)
        let prefix = random.pick([
            "fd00:\(number)", "fd00:\(number)", "fec0:\(number)", "2002:c000:20\(number)", "2001:0:\(number)",
            "2600:\(number)", "2600:\(number)", "2a00:\(number)", "3ffe:\(number)",
        ])
        let length = random.pick([32, 48, 64, 64, 64, 128])
        let state = random.pick(["", "", "", " valid_lft forever preferred_lft 0", " home"])
        return "addr add \(prefix)::\(random.pick([2, 3]))/\(length) dev v\(number) nodad\(state)"
    }

    private mutating func address4() -> String {
        let number = random.below(3)
        let address = random.pick([
            "169.254.\(number).2/16", "192.0.2.\(number + 2)/24", "198.51.100.\(number + 2)/28",
            "10.9.\(number).2 peer 10.9.\(number).1/32", "172.16.\(number).2/12", "127.0.\(number).2/8",
        ])
        let state = random.pick(["", "", " valid_lft forever preferred_lft 0"])
        return "addr add \(address) dev v\(number)\(state)"
    }

    // MARK: Policies

    /// A gai.conf that glibc reads again whenever it changes; `nil` for none.
    mutating func gaiConf() -> String? {
        switch random.below(6) {
        case 0: return nil
        case 1: return "reload yes\n"
        case 2: return Self.rfc6724
        default: break
        }
        var lines = ["reload yes"]
        for _ in 0..<(1 + random.below(12)) { lines.append(line()) }
        return lines.joined(separator: "\n") + random.pick(["", "\n", "\n\n# end"])
    }

    private mutating func line() -> String {
        if random.once(in: 8) {
            return random.pick([
                "", "# label ::/0 9", "label", "label ::/0 -1", "label ::/200 1", "labels ::/0 4",
                "precedence fe80::%lo/10 4",
                "precedence ::/0 1x", "scopev4 ::/96 4", "scopev4 10.0.0.0/40 4", "label fd00::/ 7",
                "label fd00::/7",
                "precedence 10.0.0.0/8 3",
            ])
        }
        let space = random.pick([" ", "\t", "  \t "])
        let comment = random.pick(["", "", " # note", " rest"])
        switch random.below(3) {
        case 0:
            return "label\(space)\(prefix())\(space)\(random.below(8))\(comment)"
        case 1:
            return
                "\(space)precedence\(space)\(prefix())\(space)\(random.pick([1, 10, 10, 40, 40, 100]))\(comment)"
        default:
            let prefix = random.pick([
                "10.0.0.0/8", "10.0.\(random.below(3)).0/24", "0.0.0.0/0", "::ffff:10.0.0.0/104",
                "::ffff:0.0.0.0/96",
                "192.0.2.0/24", "127.0.0.0/8", "169.254.0.0/16", "198.51.100.7/+28",
            ])
            return "scopev4\(space)\(prefix)\(space)\(random.pick([2, 2, 5, 14, 14]))\(comment)"
        }
    }

    private mutating func prefix() -> String {
        random.pick([
            "::/0", "::/0", "::1/128", "::/96", "::ffff:0:0/96", "::ffff:10.0.0.0/104", "2002::/16",
            "2001::/32",
            "2001:db8::/32", "2001:db8:1::/48", "fc00::/7", "fd00:1::/32", "fec0::/10", "2600::/12",
            "fe80::/10",
            "ff00::/8",
        ])
    }

    private static let rfc6724 = """
        reload yes
        label ::1/128 0
        label ::/0 1
        label ::ffff:0:0/96 4
        label 2002::/16 2
        label 2001::/32 5
        label fc00::/7 13
        label ::/96 3
        label fec0::/10 11
        label 3ffe::/16 12
        precedence ::1/128 50
        precedence ::/0 40
        precedence ::ffff:0:0/96 35
        precedence 2002::/16 30
        precedence 2001::/32 5
        precedence fc00::/7 3
        precedence ::/96 1
        precedence fec0::/10 1
        precedence 3ffe::/16 1

        """

    // MARK: Sets

    /// A set of two to twelve addresses, some of them the host's or near it.
    mutating func set(about own: [InterfaceAddress]) -> [IPAddress] {
        var set: [IPAddress] = []
        let count = 2 + random.below(11)
        while set.count < count {
            guard let address = address(about: own), !set.contains(address) else { continue }
            set.append(address)
        }
        return set
    }

    private mutating func address(about own: [InterfaceAddress]) -> IPAddress? {
        let (number, host) = (random.below(3), 1 + random.below(9))
        switch random.below(12) {
        case 0 where !own.isEmpty: return random.pick(own).address.withoutZone
        case 1 where !own.isEmpty:
            let near = random.pick(own).address
            return near.family == .v4
                ? IPAddress(v4: UInt32(truncatingIfNeeded: near.low) ^ UInt32(1 << random.below(20)))
                : IPAddress(
                    v6High: near.high ^ UInt64(1) << UInt64(random.below(48)), low: near.low ^ UInt64(host))
        default: break
        }
        return IPAddress(
            random.pick([
                "10.0.\(number).\(host)", "10.0.\(number).\(host)", "10.9.\(number).1", "192.0.2.\(host)",
                "198.51.100.\(host)", "203.0.113.\(host)", "172.16.\(number).\(host)",
                "172.31.\(number).\(host)",
                "169.254.\(number).\(host)",
                "127.0.0.\(host)", "8.8.\(number).\(host)", "224.0.0.\(host)", "::1", "::192.0.2.\(host)",
                "2001:db8:\(number)::\(host)", "2001:db8:\(number)::\(host)", "2001:db8:f\(number)::\(host)",
                "2002:c000:20\(number)::\(host)", "2001:0:\(number)::\(host)", "2600:\(number)::\(host)",
                "2600:9::\(host)", "2a00:\(number)::\(host)", "fd00:\(number)::\(host)",
                "fd00:\(number)::\(host)",
                "fec0:\(number)::\(host)", "3ffe:\(number)::\(host)", "fe80::\(host)", "ff02::\(host)",
                "ff05::\(host)", "ff0e::\(host)", "::ffff:10.0.\(number).\(host)", "2400:\(host)::\(number)",
            ]))
    }
}
