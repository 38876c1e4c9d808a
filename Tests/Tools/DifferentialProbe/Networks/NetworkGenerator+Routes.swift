// SPDX-License-Identifier: Apache-2.0

internal import TestSupport

extension NetworkGenerator {
    private static let verbs = ["add", "add", "add", "append", "prepend", "replace", "change", "del"]

    /// A command about a route.
    mutating func route(isIPv6: Bool) -> String {
        let verb = random.pick(Self.verbs)
        var destination = prefix(isIPv6: isIPv6)
        if isIPv6, random.once(in: 6) { destination += " from \(sourcePrefix6())" }
        var metric = random.pick(["", "", " metric 5", " metric 10", " metric 20"])
        let way = way(isIPv6: isIPv6)
        // A dump of IPv6 steps over routes that stand between those that the kernel has joined into one, as it
        // does with gateways of one metric: they are in no message. So other routes have metrics of their own.
        let lone = metric.isEmpty ? " metric 1025" : metric + "1"
        let table = random.pick(["", "", "", " table 100", " table 200"])
        let kind = random.below(16)
        if isIPv6, kind < 3 || !way.contains("via") { metric = lone }
        if kind < 2 {
            let type = random.pick(["blackhole", "unreachable", "prohibit", "throw"])
            return "route \(verb) \(type) \(destination)\(metric)\(table)"
        }
        if kind == 2 {
            let type = random.pick(["local", "local", "anycast", "broadcast"])
            // Without a table, ip(8) takes that of own addresses.
            let own = random.once(in: 3) ? " table main" : table
            return
                "route \(verb) \(type) \(destination) dev \(random.pick(["lo", "v0", "v1"]))\(metric)\(own)"
        }
        let extra =
            isIPv6
            ? random.pick(["", "", " pref low", " pref high"]) : random.pick(["", "", "", " tos 0x10"])
        return "route \(verb) \(destination)\(metric)\(table)\(extra)\(way)"
    }

    private mutating func way(isIPv6: Bool) -> String {
        switch random.below(12) {
        case 0, 1:
            var nexthops = ""
            for _ in 0..<(2 + random.below(2)) {
                let (link, gateway) = gateway(isIPv6: isIPv6)
                nexthops += " nexthop via \(gateway) dev \(link) weight \(1 + random.below(3))"
            }
            return nexthops
        case 2, 3: return " nhid \(random.pick([1, 2, 3, 11, 12, 10, 20]))"
        case 4, 5: return " dev \(random.pick(Self.linkNames + ["lo"]))"
        case 6:
            let address = isIPv6 ? "2001:db8:99::1" : "192.0.2.\(random.pick([1, 9]))"
            return " via \(address) dev \(random.pick(Self.linkNames)) onlink"
        case 7 where !isIPv6:
            let (link, gateway) = gateway(isIPv6: true)
            return " via inet6 \(gateway) dev \(link)"
        default:
            let (link, gateway) = gateway(isIPv6: isIPv6)
            return " via \(gateway) dev \(link)"
        }
    }

    private mutating func sourcePrefix6() -> String {
        random.pick(["2001:db8:0::/64", "2001:db8:1::/64", "2001:db8:1::2/128", "2001:db8::/32"])
    }

    /// A command about a nexthop object: 1 to 3 are IPv4's, 11 to 13 IPv6's, 10 and 20 groups.
    mutating func nexthop() -> String {
        let verb = random.pick(["add", "add", "replace", "replace", "del"])
        let number = 1 + random.below(3)
        if verb == "del" { return "nexthop del id \(random.pick([number, number + 10, 10, 20]))" }
        switch random.below(6) {
        case 0: return "nexthop \(verb) id 10 group \(random.pick(["1", "1/2", "1,2/2,1", "1/2/3"]))"
        case 1: return "nexthop \(verb) id 20 group \(random.pick(["11", "11/12", "12,3/11,1"]))"
        case 2: return "nexthop \(verb) id \(random.pick([number, number + 10])) blackhole"
        case 3: return "nexthop \(verb) id \(number) dev \(random.pick(Self.linkNames))"
        default:
            let isIPv6 = random.once(in: 2)
            let (link, gateway) = gateway(isIPv6: isIPv6)
            return "nexthop \(verb) id \(isIPv6 ? number + 10 : number) via \(gateway) dev \(link)"
        }
    }
}
