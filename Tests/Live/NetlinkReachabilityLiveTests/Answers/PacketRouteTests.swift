// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

/// Where a packet takes another route than the entry of the table says.
struct PacketRouteTests {
    /// The report had the gateway of the entry, which no packet is sent to.
    @Test(.needs(.veth)) func `a gateway that is an address of this host is ignored, as the kernel does`()
        throws
    {
        let host = try TestNamespace.oneWire()
        try host.ip("route add default via 192.0.2.1")
        try host.expect("198.51.100.1", .direct, "onLink", through: "w0", gateway: "")
        try host.ip("route add 203.0.113.0/24 via 192.0.2.254")
        try host.expect("203.0.113.1", .routed, "gateway", through: "w0", gateway: "192.0.2.254")
    }

    /// The kernel decides when the route is added, by the addresses of the interface of the route.
    @Test(.needs(.veth)) func `such a gateway is ignored after its address is gone, and no other one is`()
        throws
    {
        let host = try TestNamespace.oneWire()
        try host.ip(
            "addr add 192.0.2.7/24 dev w0", "route add 198.51.100.0/24 via 192.0.2.7 dev w0",
            "addr del 192.0.2.7/24 dev w0", "route add 203.0.113.0/24 via 192.0.2.8 dev w0",
            "addr add 192.0.2.8/24 dev w0", "addr add 192.0.2.9/32 dev lo",
            "route add 100.64.0.0/10 via 192.0.2.9 dev w0")
        try host.expect("198.51.100.1", .direct, "onLink", through: "w0", gateway: "")
        try host.expect("203.0.113.1", .routed, "gateway", through: "w0", gateway: "192.0.2.8")
        try host.expect("100.64.0.1", .routed, "gateway", through: "w0", gateway: "192.0.2.9")
    }

    @Test(.needs(.veth)) func `one nexthop of several can have such a gateway`() throws {
        let host = try TestNamespace.oneWire()
        try host.ip("route add 198.51.100.0/24 nexthop via 192.0.2.1 dev w0")
        try host.expect("198.51.100.1", .direct, "onLink", through: "w0", gateway: "")
    }

    /// Without an address, packets leave from 0.0.0.0, and were taken to be answered.
    @Test(.needs(.veth)) func `IPv4 without an address of its own is not reachable`() throws {
        let host = try TestNamespace()
        try host.wire("w0", "2001:db8::1/64")
        try host.ip("route add 192.0.2.0/24 dev w0", "route add default via 192.0.2.254")
        try host.expect("198.51.100.1", .none, "unusableSource")
        try host.expect("192.0.2.9", .none, "unusableSource")
        try host.expect(.defaultPath, .none, "unusableSource")
        try host.ip("addr add 169.254.3.4/16 dev w0")
        try host.expect("198.51.100.1", .routed, "gateway", through: "w0")
    }

    /// The scope of an address limits how far it is a source.
    @Test(.needs(.veth)) func `an IPv4 address that is valid on its link alone is a source on the link`()
        throws
    {
        let host = try TestNamespace()
        try host.wire("w0")
        try host.ip("addr add 192.0.2.1/24 dev w0 scope link", "route add default via 192.0.2.254")
        try host.expect("192.0.2.9", .direct, "onLink", through: "w0")
        try host.expect("198.51.100.1", .none, "unusableSource")
        try host.ip("addr add 203.0.113.1/32 dev lo")
        try host.expect("198.51.100.1", .routed, "gateway", through: "w0")
        #expect(try host.ask("198.51.100.1").source == "203.0.113.1")
    }

    /// A router advertisement without a usable prefix was a default path.
    @Test(.needs(.veth)) func `IPv6 from a link-local address is not reachable behind a gateway`() throws {
        let host = try TestNamespace()
        try host.wire("w0", "fe80::1/64")
        try host.ip("-6 route add default via fe80::254 dev w0", "-6 route add 2001:db8:5::/64 dev w0")
        try host.expect("2001:db8:f::1", .none, "unusableSource")
        try host.expect(.defaultPath, .none, "unusableSource")
        try host.expect("fe80::9%w0", .direct, "onLink", through: "w0")
        try host.expect("2001:db8:5::9", .direct, "onLink", through: "w0")
        try host.address("w0", "2001:db8::1/64")
        try host.expect("2001:db8:f::1", .routed, "gateway", through: "w0", gateway: "fe80::254")
    }

    // MARK: Redirects

    /// A host with a router that knows a better one for what is behind both, and targets on the link.
    private func redirectedHost() throws -> (host: TestNamespace, router: TestNamespace) {
        let host = try TestNamespace()
        let router = try host.makePeer()
        try host.wire("w0", "192.0.2.1/24", "2001:db8::1/64", "fe80::1/64", to: router)
        for setting in ["ipv4/conf/all", "ipv4/conf/w0", "ipv6/conf/w0"] {
            try host.set("net/\(setting)/accept_redirects", "1")
        }
        try router.address("w0-far", "192.0.2.254/24", "2001:db8::254/64", "fe80::254/64")
        try router.set("net/ipv4/ip_forward", "1")
        try router.set("net/ipv6/conf/all/forwarding", "1")
        try router.ip(
            "route add 198.51.100.0/24 via 192.0.2.253", "route add 203.0.113.9 dev w0-far",
            "-6 route add 2001:db8:f::/48 via fe80::253 dev w0-far", "-6 route add 2001:db8:e::9 dev w0-far")
        try host.ip(
            "route add default via 192.0.2.254", "-6 route add default via fe80::254 dev w0",
            // The kernel takes a redirect to a neighbour that answers.
            "neigh add 192.0.2.253 lladdr 02:00:00:00:00:02 dev w0",
            "neigh add 203.0.113.9 lladdr 02:00:00:00:00:09 dev w0")
        return (host, router)
    }

    /// Sends to a target until its router has redirected the host.
    private func redirect(_ host: TestNamespace, to target: String, until way: String) throws {
        try host.wait(until: "\(target) is redirected") {
            // The kernel takes a redirect for the segment that it repeats after a second: while connect(2) sends the
            // first one, it owns the socket.
            _ = try host.run(["timeout", "1.5", "bash", "-c", "exec 3<>/dev/tcp/\(target)/7 2>/dev/null"])
            return try host.ip("-o route get \(target)").contains(way)
        }
    }

    /// The flags and the gateway had been those of the entry, which packets to the target no longer take.
    @Test(.needs(.veth)) func `after a redirect the gateway is that of the packets, and the entry stays`()
        throws
    {
        let (host, router) = try redirectedHost()
        defer { _ = router }
        try host.expect("198.51.100.1", .routed, "gateway", through: "w0", gateway: "192.0.2.254")
        try host.expect("2001:db8:f::1", .routed, "gateway", through: "w0", gateway: "fe80::254")
        try redirect(host, to: "198.51.100.1", until: "via 192.0.2.253 ")
        try redirect(host, to: "2001:db8:f::1", until: "via fe80::253 ")
        try host.expect("198.51.100.1", .routed, "gateway", through: "w0", gateway: "192.0.2.253")
        try host.expect("2001:db8:f::1", .routed, "gateway", through: "w0", gateway: "fe80::253")
        // Other packets take the entry.
        try host.expect("198.51.100.2", .routed, "gateway", through: "w0", gateway: "192.0.2.254")
        try host.expect("2001:db8:f::2", .routed, "gateway", through: "w0", gateway: "fe80::254")
        #expect(try host.ip("route show default").contains("via 192.0.2.254 "))
        let netflags = try TestNamespace.program("netflags")
        let words = try host.run([netflags, "--explain", "198.51.100.1"]).output
        #expect(words.contains("through gateway 192.0.2.253 on w0"))
        #expect(words.contains("nexthop   via 192.0.2.254 on w0"))
        try host.ip("route flush cache")
        try host.expect("198.51.100.1", .routed, "gateway", through: "w0", gateway: "192.0.2.254")
    }

    @Test(.needs(.veth)) func `a target that a router redirects to itself is on the link`() throws {
        let (host, router) = try redirectedHost()
        defer { _ = router }
        try redirect(host, to: "203.0.113.9", until: "via 203.0.113.9 ")
        // The exception of IPv4 has the target for a gateway.
        try host.expect("203.0.113.9", .direct, "onLink", through: "w0")
        try redirect(host, to: "2001:db8:e::9", until: "2001:db8:e::9 from :: dev w0 ")
        try host.expect("2001:db8:e::9", .direct, "onLink", through: "w0")
        for target in ["203.0.113.9", "2001:db8:e::9"] { #expect(try host.ask(.host(target)).gateway == "") }
    }

    // MARK: Sources

    @Test(.needs(.veth)) func `an address is no source until duplicate address detection has ended`() throws {
        let host = try TestNamespace()
        try host.wire("w0", "fe80::1/64")
        try host.ip("-6 route add default via fe80::254 dev w0")
        // Detection never ends on a link without a carrier, but its routes are gone then: make it slow instead.
        try host.set("net/ipv6/conf/w0/accept_dad", "1")
        try host.set("net/ipv6/conf/w0/dad_transmits", "100")
        try host.ip("addr add 2001:db8::1/64 dev w0")
        try host.expect("2001:db8:f::1", .none, "unusableSource")
        let state = "is tentative until duplicate address detection ends"
        #expect(
            try host.ask("2001:db8:f::1").text
                == "no usable source address on w0: only link-local, and 2001:db8::1 \(state)")
        let bound = try host.ask("2001:db8:f::1", ["source=2001:db8::1"])
        #expect(bound.reason == "notOwnAddress" && bound.text == "the source 2001:db8::1 \(state)")
        try host.ip("addr del 2001:db8::1/64 dev w0")
        try host.address("w0", "2001:db8::1/64")
        try host.expect("2001:db8:f::1", .routed, "gateway", through: "w0")
    }

    @Test(.needs(.veth)) func `the reason names an address that failed duplicate address detection`() throws {
        let host = try TestNamespace()
        let other = try host.makePeer()
        try host.wire("w0", "fe80::1/64", to: other)
        try other.address("w0-far", "fe80::2/64", "2001:db8::1/64")
        try host.set("net/ipv6/conf/w0/accept_dad", "1")
        try host.ip("-6 route add default via fe80::2 dev w0", "addr add 2001:db8::1/64 dev w0")
        try host.wait(until: "detection has failed") {
            try host.ip("-6 addr show dev w0").contains("dadfailed")
        }
        let state = "failed duplicate address detection"
        try host.expect("2001:db8:f::1", .none, "unusableSource")
        #expect(
            try host.ask("2001:db8:f::1").text
                == "no usable source address on w0: only link-local, and 2001:db8::1 \(state)")
        #expect(
            try host.ask("2001:db8:f::1", ["source=2001:db8::1"]).text == "the source 2001:db8::1 \(state)")
    }

    /// The link-local address of an interface is the only one that can be the source of packets on its link.
    @Test(.needs(.veth)) func `the reason names a link-local address that is tentative`() throws {
        let host = try TestNamespace()
        try host.wire("w0")
        try host.set("net/ipv6/conf/w0/accept_dad", "1")
        try host.set("net/ipv6/conf/w0/dad_transmits", "100")
        try host.ip("addr add fe80::1/64 dev w0")
        try host.expect("fe80::9%w0", .none, "noSourceAddress")
        #expect(
            try host.ask("fe80::9%w0").text
                == "no IPv6 address of this host can be the source on w0: "
                + "fe80::1 is tentative until duplicate address detection ends")
    }

    @Test(.needs(.veth)) func `TCP does not connect to groups and broadcast addresses`() throws {
        let host = try TestNamespace.oneWire()
        try host.addDefaultRoutes()
        for target in ["192.0.2.255", "255.255.255.255", "239.1.2.3", "ff02::1%w0", "ff0e::1"] {
            let answer = try host.ask(.host(target), ["protocol=6"])
            #expect(answer.flags == .none && answer.reason == "groupOverTCP", "\(target): \(answer)")
        }
        try host.expect("192.0.2.255", .direct, "broadcast", through: "w0")
        #expect(try host.ask("192.0.2.9", ["protocol=6"]).flags == .direct)
    }

    @Test(.needs(.veth)) func `a source that bind takes by a setting is one`() throws {
        let host = try TestNamespace.oneWire()
        try host.addDefaultRoutes()
        let foreign = ["source=2001:db8:9::9"]
        #expect(try host.ask("2001:db8:f::1", foreign).reason == "notOwnAddress")
        try host.set("net/ipv6/ip_nonlocal_bind", "1")
        #expect(try host.ask("2001:db8:f::1", foreign).flags == .routed)
    }
}
