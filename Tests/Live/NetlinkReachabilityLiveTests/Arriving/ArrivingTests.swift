// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

/// What people report of packets that arrive, with the kernel's own answers and real packets.
struct ArrivingTests {
    /// Checks that the library says what becomes of a packet, and that this is so.
    private func expect(
        _ host: RoutedHost, _ packet: String, _ said: String, _ code: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let words = packet.split(separator: " ").map(String.init)
        let outcome = try host.outcome(ArrivingPacket(words[0], words[1], words[2]))
        #expect(outcome.contradiction == nil, sourceLocation: sourceLocation)
        let answer = outcome.answer
        #expect(answer.place == said, "\(answer.text)", sourceLocation: sourceLocation)
        #expect(answer.code == code, "\(answer.text)", sourceLocation: sourceLocation)
    }

    @Test(.needs(.veth)) func `the second of two uplinks takes no answer with a strict filter`() throws {
        let host = try RoutedHost()
        try host.host.ip("route add default via 192.0.2.1", "route add default via 198.51.100.1 metric 100")
        try expect(host, "up1 203.0.113.9 198.51.100.2", "delivered", "localAddress")
        try host.set("up1", "rp_filter", 1)
        try expect(host, "up1 203.0.113.9 198.51.100.2", "dropped", "reversePathFilter")
        try expect(host, "up0 203.0.113.9 198.51.100.2", "delivered", "localAddress")
        let text = try host.host.command(["arriving", "up1", "203.0.113.9", "198.51.100.2"])[3]
        #expect(
            text
                == "dropped: the reverse path filter of up1 (strict): the way back to 203.0.113.9 is up0; silently"
        )
        try host.set("all", "rp_filter", 2)
        try expect(host, "up1 203.0.113.9 198.51.100.2", "delivered", "localAddress")
        try host.set("all", "rp_filter", 0)
        try host.host.ip(
            "rule add from 198.51.100.2 lookup 100", "route add default via 198.51.100.1 dev up1 table 100")
        try expect(host, "up1 203.0.113.9 198.51.100.2", "delivered", "localAddress")
    }

    @Test(.needs(.veth))
    func `a socket that is bound to the second uplink gets no answer, and keeps its flags`()
        throws
    {
        let host = try RoutedHost()
        try host.host.ip("route add default via 192.0.2.1", "route add default via 198.51.100.1 metric 100")
        func report() throws -> [String] {
            try host.host.command(["returns", "host", "203.0.113.9", "interface=up1"])
        }
        #expect(try report() == ["gateway", "true", "delivered: this host's own address"])
        try expect(host, "up1 203.0.113.9 198.51.100.2", "delivered", "localAddress")
        try host.set("up1", "rp_filter", 1)
        try expect(host, "up1 203.0.113.9 198.51.100.2", "dropped", "reversePathFilter")
        let cause = "reverse path filter of up1 (strict): the way back to 203.0.113.9 is up0"
        #expect(try report() == ["answerDropped", "true", "dropped: the \(cause); silently"])
    }

    @Test(.needs(.veth)) func `a container host that does not forward drops in silence`() throws {
        let host = try RoutedHost()
        try host.host.ip("route add default via 192.0.2.1")
        try host.host.set("net/ipv4/ip_forward", "0")
        try expect(host, "up2 10.0.0.9 203.0.113.9", "dropped", "notForwarding")
        try host.host.set("net/ipv4/ip_forward", "1")
        try expect(host, "up2 10.0.0.9 203.0.113.9", "up0", "gateway")
        try host.host.ip("route add unreachable 203.0.113.0/24")
        try expect(host, "up2 10.0.0.9 203.0.113.9", "dropped", "unreachable")
        try host.host.ip("route add blackhole 203.0.113.8/30")
        try expect(host, "up2 10.0.0.9 203.0.113.9", "dropped", "blackhole")
    }

    @Test(.needs(.veth)) func `a rule for all packets before the main table leads a pod's packets away`()
        throws
    {
        let host = try RoutedHost()
        try host.host.set("net/ipv4/ip_forward", "1")
        try host.host.ip("route add 10.244.0.0/16 dev up2")
        try expect(host, "up0 192.0.2.9 10.244.0.9", "up2", "onLink")
        try host.host.ip("rule add pref 5270 lookup 52", "route add default dev up1 table 52")
        try expect(host, "up0 192.0.2.9 10.244.0.9", "up1", "onLink")
    }

    @Test(.needs(.veth)) func `an interface without an address takes nothing with a filter`() throws {
        let host = try RoutedHost()
        try host.host.ip("route add default via 192.0.2.1", "addr flush dev up2")
        try expect(host, "up2 203.0.113.9 192.0.2.2", "delivered", "localAddress")
        for filter in [1, 2] {
            try host.set("up2", "rp_filter", filter)
            try expect(host, "up2 203.0.113.9 192.0.2.2", "dropped", "reversePathFilter")
        }
    }

    @Test(.needs(.veth)) func `a rule with the incoming interface counts for what arrives there`() throws {
        let host = try RoutedHost()
        try host.host.ip("rule add iif up2 pref 100 prohibit", "-6 rule add iif up2 pref 100 prohibit")
        for name in ["net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"] { try host.host.set(name, "1") }
        try expect(host, "up2 10.0.0.9 192.0.2.77", "dropped", "prohibited")
        try expect(host, "up1 198.51.100.9 192.0.2.77", "up0", "onLink")
        // The table of the host's own addresses comes first.
        try expect(host, "up2 10.0.0.9 10.0.0.2", "delivered", "localAddress")
        try expect(host, "up2 2001:db8:3::9 2001:db8:1::77", "dropped", "prohibited")
        try expect(host, "up1 2001:db8:2::9 2001:db8:1::77", "up0", "onLink")
    }

    /// The kernel has one errno for a rule that says unreachable and for no route.
    @Test(.needs(.veth)) func `a rule that says unreachable is not taken for no route`() throws {
        let host = try RoutedHost()
        try host.host.ip("rule add to 192.0.2.77 pref 100 unreachable")
        try host.host.set("net/ipv4/ip_forward", "1")
        try expect(host, "up1 198.51.100.9 192.0.2.77", "dropped", "unreachable")
        try expect(host, "up1 198.51.100.9 203.0.113.77", "dropped", "noRoute")
    }

    @Test(.needs(.veth)) func `rules for users look at the user 0, whichever user asks`() throws {
        let host = try RoutedHost()
        try host.host.set("net/ipv6/conf/all/forwarding", "1")
        try host.host.ip("-6 rule add uidrange 0-0 pref 100 prohibit")
        guard TestNamespace.isPrivileged else {
            // A user namespace has rules about its own users alone. This one was taken for one about the machine's.
            return try expect(host, "up0 2001:db8:1::9 2001:db8:2::77", "up1", "onLink")
        }
        try expect(host, "up0 2001:db8:1::9 2001:db8:2::77", "dropped", "prohibited")
        try host.host.ip("-6 rule del pref 100", "-6 rule add uidrange 1-4294967294 pref 100 prohibit")
        try expect(host, "up0 2001:db8:1::9 2001:db8:2::77", "up1", "onLink")
    }

    @Test(.needs(.veth)) func `senders and targets that no packet from outside has are named`() throws {
        let host = try RoutedHost()
        try expect(host, "up0 127.0.0.1 192.0.2.2", "dropped", "martianSource")
        try expect(host, "up0 192.0.2.9 127.0.0.1", "dropped", "martianDestination")
        try expect(host, "up0 198.51.100.2 192.0.2.2", "dropped", "ownSource")
        try host.set("up0", "accept_local", 1)
        try expect(host, "up0 198.51.100.2 192.0.2.2", "delivered", "localAddress")
        try host.set("all", "route_localnet", 1)
        try expect(host, "up0 192.0.2.9 127.0.0.1", "delivered", "localAddress")
    }
}
