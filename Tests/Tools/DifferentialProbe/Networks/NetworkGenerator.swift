// SPDX-License-Identifier: Apache-2.0

internal import TestSupport

/// Draws the commands that make and change a random network.
///
/// It leaves out what a dump does not hold and what changes over time:
/// - routes with lifetimes and neighbours in states that pass: the answer would depend on the time;
/// - rules that suppress a group of interfaces: of a route with nexthops in several groups the kernel chooses one
///   by hash and compares that;
/// - IPv4 routes of four bits and more to groups: routes that go out alike share what the kernel keeps with
///   their nexthop (`nhc_pcpu_rth_output`), so that their type is that of the address that was asked for first;
/// - VRFs, whose rules kernels treat differently; recordings and live tests hold those.
struct NetworkGenerator {
    static let linkNames = ["v0", "v1", "v2"]

    var random: SeededGenerator
    /// Prefixes that lie in and beside each other, so that routes compete.
    private(set) var prefixes4: [String] = []
    private(set) var prefixes6: [String] = []

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        for _ in 0..<(4 + random.below(9)) { prefixes4.append(newPrefix4()) }
        for _ in 0..<(4 + random.below(9)) { prefixes6.append(newPrefix6()) }
    }

    /// The network that every run starts with: three wires, an address of each family and scope on each.
    static var base: [Command] {
        var commands: [Command] = [.ip("link set lo up")]
        for (number, name) in linkNames.enumerated() {
            commands += [
                .ip("link add \(name) type veth peer name p\(number)"),
                .ip("link set p\(number) up"),
                .ip("link set \(name) up"),
                .ip("addr add 10.0.\(number).2/24 brd + dev \(name)"),
                .ip("addr add 2001:db8:\(number)::2/64 dev \(name) nodad"),
                .ip("addr add fe80::\(number + 1)/64 dev \(name) nodad"),
            ]
        }
        return commands
    }

    /// A run of changes: those that both families share first, then IPv4's, then IPv6's.
    mutating func commands() -> [Command] {
        var commands: [Command] = []
        for _ in 0..<random.below(3) { commands.append(setting()) }
        for _ in 0..<random.below(6) { commands.append(.ip(nexthop())) }
        for _ in 0..<(3 + random.below(22)) { commands.append(.ip(change(isIPv6: false))) }
        for _ in 0..<(3 + random.below(22)) { commands.append(.ip6(change(isIPv6: true))) }
        for _ in 0..<random.below(4) { commands.append(.ip(linkChange())) }
        return commands
    }

    private mutating func change(isIPv6: Bool) -> String {
        switch random.below(20) {
        case 0..<12: return route(isIPv6: isIPv6)
        case 12..<16: return rule(isIPv6: isIPv6)
        case 16: return addressChange(isIPv6: isIPv6)
        case 17: return linkChange()
        case 18: return neighbour(isIPv6: isIPv6)
        default: return nexthop()
        }
    }

    private mutating func setting() -> Command {
        let path = random.pick([
            "net/ipv4/conf/all/ignore_routes_with_linkdown",
            "net/ipv6/conf/all/ignore_routes_with_linkdown",
            "net/ipv4/conf/v0/ignore_routes_with_linkdown",
            "net/ipv6/conf/v1/ignore_routes_with_linkdown",
            "net/ipv6/conf/all/forwarding",
            "net/ipv4/ip_forward",
        ])
        return .setting(path: path, value: random.pick(["0", "1"]))
    }

    /// Up more often than down, so that there is something to route over.
    private mutating func linkChange() -> String {
        let name = random.pick(Self.linkNames + ["p0", "p1", "p2"])
        return "link set \(name) \(random.pick(["up", "up", "down"]))"
    }

    private mutating func addressChange(isIPv6: Bool) -> String {
        let number = random.below(3)
        let host = random.pick(["2", "2", "3", "200"])
        // Sometimes an IPv4 address of another interface.
        let network = random.once(in: 4) ? random.below(3) : number
        let address =
            isIPv6
            ? "2001:db8:\(number)::\(host)/\(random.pick([64, 64, 128]))"
            : "10.0.\(network).\(host)/\(random.pick([24, 24, 25, 32]))"
        return "addr \(random.pick(["add", "add", "del"])) \(address) dev v\(number)\(isIPv6 ? " nodad" : "")"
    }

    private mutating func neighbour(isIPv6: Bool) -> String {
        let (link, gateway) = gateway(isIPv6: isIPv6)
        let state = random.pick(["nud failed", "nud failed", "lladdr 02:00:00:00:00:01 nud permanent"])
        return "neigh replace \(gateway) \(state) dev \(link)"
    }

    // MARK: Names

    mutating func gateway(isIPv6: Bool) -> (link: String, address: String) {
        let number = random.below(3)
        let host = random.pick(["1", "9"])
        guard isIPv6 else { return ("v\(number)", "10.0.\(number).\(host)") }
        let isLinkLocal = random.once(in: 3)
        return ("v\(number)", isLinkLocal ? "fe80::9\(host)" : "2001:db8:\(number)::\(host)")
    }

    mutating func prefix(isIPv6: Bool) -> String {
        if random.once(in: 6) { return isIPv6 ? "::/0" : "default" }
        return random.pick(isIPv6 ? prefixes6 : prefixes4)
    }

    private mutating func newPrefix4() -> String {
        if random.once(in: 20) { return random.pick(["224.0.0.0/3", "224.0.0.0/4", "239.0.0.0/8"]) }
        let base: UInt32 = random.pick([
            0x0a09_0000, 0x0a09_0000, 0x0a09_0000, 0xac10_0000, 0xc633_6400, 0x0a00_0100, 0x0a00_0000,
            0xc000_0200, 0xa9fe_0000, 0x7f00_0000,
        ])
        let length = random.pick([1, 4, 8, 12, 15, 16, 16, 17, 23, 24, 24, 25, 28, 30, 31, 32, 32])
        let noise = UInt32(truncatingIfNeeded: random.next()) & random.pick([0, 0xff, 0x1ff, 0xffff])
        let bits = (base | noise) & (UInt32.max << (32 - UInt32(length)))
        return "\(bits >> 24).\(bits >> 16 & 255).\(bits >> 8 & 255).\(bits & 255)/\(length)"
    }

    private mutating func newPrefix6() -> String {
        let high: UInt64 = random.pick([
            0x2001_0db8_000f_0000, 0x2001_0db8_000f_0000, 0x2001_0db8_0001_0000, 0xfd00_0000_0000_0000,
            0x2a00_0000_0000_0000, 0xff05_0000_0000_0000, 0xfe80_0000_0000_0000,
        ])
        let length = random.pick([3, 7, 8, 16, 31, 32, 47, 48, 48, 49, 63, 64, 64, 65, 96, 127, 128, 128])
        var halves = (
            high | random.next() & random.pick([0, 1, 0xffff]), random.next() & random.pick([0, 3])
        )
        if length <= 64 { halves = (halves.0 & (UInt64.max << UInt64(64 - length)), 0) }
        if length > 64, length < 128 { halves.1 &= UInt64.max << UInt64(128 - length) }
        let groups = [halves.0, halves.1].flatMap { half in
            [48, 32, 16, 0].map { String(half >> $0 & 0xffff, radix: 16) }
        }
        return "\(groups.joined(separator: ":"))/\(length)"
    }
}
