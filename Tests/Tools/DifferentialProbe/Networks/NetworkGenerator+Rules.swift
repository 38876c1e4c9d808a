// SPDX-License-Identifier: Apache-2.0

internal import TestSupport

extension NetworkGenerator {
    /// A command about a policy rule.
    mutating func rule(isIPv6: Bool) -> String {
        let preference = random.pick([50, 60, 70, 80, 33_000])
        if random.once(in: 4) { return "rule del pref \(preference)" }
        // A host whose own rules are gone is rare, and is one too. For IPv6 see `lostRule6()`.
        if !isIPv6, random.once(in: 60) { return "rule del lookup main" }
        var selectors = random.once(in: 8) ? "not " : ""
        for _ in 0..<random.pick([0, 1, 1, 1, 2]) { selectors += selector(isIPv6: isIPv6) + " " }
        return "rule add pref \(preference) \(selectors)\(action())"
    }

    /// In one of twenty networks, an IPv6 host whose own rule is gone.
    ///
    /// Another rule is added first: until one is added a kernel uses both tables regardless of missing rules, and no
    /// dump holds whether one was ever added. It is drawn separately, so that the networks of known seeds stay the
    /// same.
    static func lostRule6(seed: UInt64) -> [Command] {
        var random = SeededGenerator(seed: ~seed)
        guard random.once(in: 20) else { return [] }
        return [
            .ip6("rule add pref 90 nop"), .ip6("rule del lookup \(random.pick(["main", "main", "local"]))"),
        ]
    }

    private mutating func selector(isIPv6: Bool) -> String {
        switch random.below(12) {
        case 0, 1:
            let number = random.below(3)
            return isIPv6
                ? "from \(random.pick(["2001:db8:\(number)::/64", "2001:db8:\(number)::2", "::/0"]))"
                : "from \(random.pick(["10.0.\(number).0/24", "10.0.\(number).2", "0.0.0.0/0", "0.0.0.0"]))"
        case 2, 3, 4: return "to \(prefix(isIPv6: isIPv6))"
        case 5: return "fwmark \(random.pick(["7", "0x100/0xff00", "0/1", "0x7/0x3"]))"
        case 6: return "uidrange \(random.pick(["0-0", "0-999", "1000-2000"]))"
        case 7: return "iif \(random.pick(["lo", "lo", "v0"]))"
        case 8: return "oif \(random.pick(["v0", "v1", "lo", "gone"]))"
        case 9: return "tos 0x10"
        case 10: return "ipproto \(random.pick(["udp", "tcp"]))"
        default: return random.pick(["dport 53", "sport 1000-2000"])
        }
    }

    private mutating func action() -> String {
        switch random.below(14) {
        case 0, 1: "lookup main suppress_prefixlength \(random.pick([0, 0, 8, 16, 24]))"
        case 2: random.pick(["blackhole", "unreachable", "prohibit"])
        case 3, 4: "goto \(random.pick([70, 80, 32_766, 33_000]))"
        case 5: "nop"
        case 6: "lookup main"
        default: "lookup \(random.pick([100, 100, 200]))"
        }
    }
}
