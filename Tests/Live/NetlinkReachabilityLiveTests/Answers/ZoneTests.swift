// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

struct ZoneTests {
    /// Two wires with a link-local address each.
    private func host() throws -> TestNamespace {
        let host = try TestNamespace()
        try host.wire("w0", "192.0.2.1/24", "fe80::1/64")
        try host.wire("w1", "203.0.113.1/24", "fe80::2/64")
        return host
    }

    @Test(
        .needs(.veth),
        arguments: ["fe80::9", "fe80::1", "febf::9", "ff02::1", "ff01::1"]
    )
    func `without an interface a link-scoped address is not reachable`(target: String) throws {
        try host().expect(.host(target), .none, "needsInterface")
    }

    @Test(.needs(.veth), arguments: ["w0", "w1"]) func `an interface can be given by name and by index`(
        wire: String
    ) throws {
        let host = try host()
        let index = try host.index(of: wire)
        for target in ["fe80::9%\(wire)", "fe80::9%\(index)"] {
            try host.expect(.host(target), .direct, "onLink", through: wire)
        }
        for target in ["ff02::1%\(wire)", "ff02::1%\(index)", "ff05::2%\(wire)"] {
            try host.expect(.host(target), .direct, "multicast", through: wire)
        }
        try host.expect(.socketAddress("fe80::9", zone: index), .direct, "onLink", through: wire)
        try host.expect(.socketAddress("ff02::fb", zone: index), .direct, "multicast", through: wire)
        try host.expect("fe80::9", .direct, "onLink", through: wire, options: "interface=\(wire)")
    }

    @Test(.needs(.veth))
    func `a link-local address of this host is its own on its link, and a neighbour's elsewhere`() throws {
        let host = try host()
        try host.expect("fe80::1%w0", .own, "localAddress")
        try host.expect("fe80::2%w1", .own, "localAddress")
        try host.expect("fe80::1%w1", .direct, "onLink", through: "w1")
    }

    @Test(.needs(.veth)) func `a socket address carries a zone, and 0 means none`() throws {
        let host = try host()
        try host.expect(.socketAddress("fe80::9", zone: 0), .none, "needsInterface")
        try host.expect(.socketAddress("192.0.2.9", zone: 0), .direct, "onLink", through: "w0")
        try host.expect(.socketAddress("::ffff:192.0.2.9", zone: 0), .direct, "onLink", through: "w0")
        try host.expect(.socketAddress("::1", zone: 0), .own, "localAddress")
        try host.expect(.socketAddress("0.0.0.0", zone: 0), .none, "noDefaultRoute")
        try host.expect(.socketAddress("::", zone: 0), .none, "noDefaultRoute")
    }

    @Test(.needs(.veth)) func `an address of a missing interface is not reachable`() throws {
        let host = try host()
        try host.expect("fe80::9%nope", .none, "noInterface")
        try host.expect("fe80::9%9999", .none, "noInterface")
        try host.expect("ff02::1%nope", .none, "noInterface")
        try host.expect(.socketAddress("fe80::9", zone: 9_999), .none, "noInterface")
    }

    @Test(.needs(.veth)) func `a link-scoped address has the state of its link`() throws {
        let host = try host()
        try host.setFarEnd(of: "w0", up: false)
        try host.expect("fe80::9%w0", .none, "noCarrier", through: "w0")
        try host.expect("ff02::1%w0", .none, "noCarrier", through: "w0")
        try host.expect("fe80::9%w1", .direct, "onLink", through: "w1")
        try host.ip("link set w1 down")
        try host.expect("fe80::9%w1", .none)
        try host.expect("ff02::1%w1", .none)
    }

    @Test(.needs(.veth)) func `a zone that is a number is the name of an interface before it is an index`()
        throws
    {
        let host = try TestNamespace()
        try host.wire("12345", "10.9.0.1/24", "fe80::1/64")
        try host.expect("10.9.0.2%12345", .direct, "onLink")
        try host.expect("fe80::9%12345", .direct, "onLink", through: "12345")
        try host.expect("10.9.0.2", .direct, "onLink", options: "interface=12345")
    }

    @Test(.needs(.veth)) func `an IPv4-mapped address is an IPv4 address`() throws {
        let host = try host()
        try host.expect("::ffff:192.0.2.9", .direct, "onLink", through: "w0")
        try host.expect("::ffff:192.0.2.1", .own, "localAddress")
        try host.expect("::ffff:198.51.100.1", .none, "noRoute")
        #expect(try host.ask("::ffff:192.0.2.9").address == "192.0.2.9")
        try host.addIPv4DefaultRoute()
        try host.expect("::ffff:198.51.100.1", .routed, "gateway", gateway: "192.0.2.254")
        try host.expect("::ffff:198.51.100.1", .none, "excludedFamily", options: "families=v6")
    }

    @Test(.needs(.veth)) func `169.254.0.0 asks for a local network`() throws {
        let host = try host()
        try host.expect("169.254.0.0", .none, "noRoute")
        try host.addIPv4DefaultRoute()
        try host.expect("169.254.0.0", .direct, "gateway")
        try host.expect("169.254.0.1", .routed, "gateway")
        try host.setFarEnd(of: "w0", up: false)
        try host.expect("169.254.0.0", .none, "noCarrier")
        try host.ip("route add 169.254.0.0/16 dev w1")
        try host.expect("169.254.0.0", .direct, "onLink")
        try host.expect("169.254.0.1", .direct, "onLink", through: "w1")
    }

    @Test(.needs(.tun)) func `169.254.0.0 over a tunnel is not a local network`() throws {
        let host = try TestNamespace()
        try host.tunnel("t0", "10.9.0.1/24")
        try host.ip("route add default dev t0")
        try host.expect("169.254.0.0", .tunnelled, "pointToPoint")
        try host.ip("route replace default via 10.9.0.2")
        try host.expect("169.254.0.0", .tunnelled, "gateway")
    }
}
