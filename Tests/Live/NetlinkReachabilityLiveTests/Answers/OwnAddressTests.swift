// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

struct OwnAddressTests {
    @Test(.needs(), arguments: ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
    func `loopback is this host`(target: String) throws {
        let host = try TestNamespace()
        try host.expect(.host(target), .own, "localAddress")
    }

    @Test(.needs(.veth)) func `an own address is local while it exists`() throws {
        let host = try TestNamespace.oneWire()
        try host.expect("192.0.2.1", .own, "localAddress")
        try host.expect("2001:db8::1", .own, "localAddress")
        try host.expect("192.0.2.7", .direct, "onLink", through: "w0")
        try host.expect("2001:db8::7", .direct, "onLink", through: "w0")
        try host.address("w0", "192.0.2.7/24", "2001:db8::7/64")
        try host.expect("192.0.2.7", .own, "localAddress")
        try host.expect("2001:db8::7", .own, "localAddress")
        try host.ip("addr del 192.0.2.7/24 dev w0", "addr del 2001:db8::7/64 dev w0")
        try host.expect("192.0.2.7", .direct, "onLink", through: "w0")
        try host.expect("2001:db8::7", .direct, "onLink", through: "w0")
    }

    @Test(.needs(.veth)) func `an own address does not need a carrier`() throws {
        let host = try TestNamespace.oneWire()
        try host.setFarEnd(of: "w0", up: false)
        try host.expect("192.0.2.1", .own, "localAddress")
        try host.expect("2001:db8::1", .own, "localAddress")
    }

    @Test(.needs(.veth)) func `an IPv4 address of an interface that is down is local`() throws {
        let host = try TestNamespace.oneWire()
        try host.ip("link set w0 down")
        try host.expect("192.0.2.1", .own, "localAddress")
        // IPv6 addresses are removed when the interface goes down.
        try host.expect("2001:db8::1", .none, "noRoute")
    }

    @Test(.needs(.veth)) func `the subnet anycast address of a router is local`() throws {
        let host = try TestNamespace.oneWire()
        try host.expect("2001:db8::", .direct, "onLink", through: "w0")
        try host.set("net/ipv6/conf/all/forwarding", "1")
        try host.expect("2001:db8::", .own, "anycastAddress")
        try host.set("net/ipv6/conf/all/forwarding", "0")
        try host.expect("2001:db8::", .direct, "onLink", through: "w0")
    }

    /// They were local addresses, whatever the state of the interface.
    @Test(.needs(.veth)) func `packets leave by an anycast route that a program added`() throws {
        let host = try TestNamespace.oneWire()
        try host.ip(
            "-6 route add anycast 2001:db8:a::/48 dev w0", "-6 route add anycast 2001:db8:b::/48 dev lo",
            "route add anycast 198.51.100.0/24 dev w0")
        try host.expect("2001:db8:a::7", .direct, "onLink", through: "w0")
        try host.expect("198.51.100.7", .direct, "onLink", through: "w0")
        try host.expect("2001:db8:b::7", .none, "unreachable")
        try host.setFarEnd(of: "w0", up: false)
        try host.expect("2001:db8:a::7", .none, "noCarrier")
    }

    @Test(.needs()) func `a prefix with a local route is local`() throws {
        let host = try TestNamespace()
        try host.ip("route add local 198.51.100.0/24 dev lo", "-6 route add local 2001:db8:f::/48 dev lo")
        try host.expect("198.51.100.77", .own, "localAddress")
        try host.expect("2001:db8:f::77", .own, "localAddress")
        try host.expect("198.51.101.77", .none, "noRoute")
    }
}
