// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import NetlinkReachability
import TestNamespaces
import Testing

struct LinkStateTests {
    @Test(.needs(.veth)) func `without a carrier nothing behind the link is reachable`() throws {
        let host = try TestNamespace.oneWire()
        try host.addDefaultRoutes()
        for _ in 0..<2 {
            try host.expect("192.0.2.9", .direct, "onLink", through: "w0")
            try host.expect("198.51.100.1", .routed, "gateway", through: "w0")
            try host.setFarEnd(of: "w0", up: false)
            for target in ["192.0.2.9", "198.51.100.1", "2001:db8::9", "2001:db8:f::1", "192.0.2.255"] {
                try host.expect(.host(target), .none, "noCarrier", through: "w0")
            }
            try host.expect(.defaultPath, .none, "noCarrier")
            try host.setFarEnd(of: "w0", up: true)
            try host.expect("2001:db8::9", .direct, "onLink", through: "w0")
            try host.expect("2001:db8:f::1", .routed, "gateway", through: "w0")
        }
    }

    /// The socket of queries receives notifications too.
    @Test(.needs(.veth)) func `notifications that fill the socket between two queries change no answer`()
        throws
    {
        let host = try TestNamespace.twoWires()
        try host.expect("192.0.2.9", .direct, "onLink", through: "w0")
        let flood = (0..<2_000).map { "link set w1 mtu \(1_400 + $0 % 2)" }
        try host.ip(flood)
        try host.setFarEnd(of: "w0", up: false)
        try host.expect("192.0.2.9", .none, "noCarrier", through: "w0")
        try host.setFarEnd(of: "w0", up: true)
        try host.ip(flood)
        try host.expect("192.0.2.9", .direct, "onLink", through: "w0")
    }

    @Test(.needs(.veth)) func `a peer host that ends takes the veth pair with it`() throws {
        let host = try TestNamespace()
        var peer: TestNamespace? = try host.makePeer()
        try host.wire("w0", "192.0.2.1/24", to: peer)
        try peer?.ip("addr add 192.0.2.2/24 dev w0-far")
        try host.expect("192.0.2.2", .direct, "onLink", through: "w0")
        try peer?.expect("192.0.2.2", .own, "localAddress")
        try peer?.expect("192.0.2.1", .direct, "onLink", through: "w0-far")
        try peer?.ip("link set w0-far down")
        try host.wait(for: "w0", state: "DOWN")
        try host.expect("192.0.2.2", .none, "noCarrier", through: "w0")
        peer = nil
        try host.wait(until: "the cable is gone") {
            try !host.ip("-o link show").contains("w0")
        }
        try host.expect("192.0.2.2", .none, "noRoute")
    }

    @Test(.needs(.veth)) func `setting an interface up restores its subnets, not its gateways`() throws {
        let host = try TestNamespace.oneWire()
        try host.set("net/ipv6/conf/w0/keep_addr_on_down", "1")
        try host.addDefaultRoutes()
        try host.ip("link set w0 down")
        for target in ["192.0.2.9", "198.51.100.1", "2001:db8::9", "2001:db8:f::1"] {
            try host.expect(.host(target), .none, "noRoute")
        }
        try host.ip("link set w0 up")
        try host.wait(for: "w0", state: "UP")
        try host.expect("192.0.2.9", .direct, "onLink", through: "w0")
        try host.expect("2001:db8::9", .direct, "onLink", through: "w0")
        try host.expect(.defaultPath, .none, "noDefaultRoute", options: "families=v4")
        try host.addIPv4DefaultRoute()
        try host.expect("198.51.100.1", .routed, "gateway", through: "w0")
    }

    @Test(.needs(.veth))
    func `a deleted interface loses its routes, and a new one of its name is a different interface`() throws {
        let host = try TestNamespace.oneWire()
        let index = try host.index(of: "w0")
        try host.expect("192.0.2.9", .direct, "onLink", options: "interface=w0")
        try host.ip("link del w0")
        try host.expect("192.0.2.9", .none, "noRoute")
        try host.expect("2001:db8::9", .none, "noRoute")
        try host.expect("192.0.2.9", .none, "noInterface", options: "interface=w0")
        try host.expect("fe80::9%\(index)", .none, "noInterface")
        try host.wire("w0", "192.0.2.1/24", "2001:db8::1/64")
        #expect(try host.index(of: "w0") != index)
        try host.expect("192.0.2.9", .direct, "onLink", through: "w0")
        try host.expect("192.0.2.9", .direct, "onLink", options: "interface=w0")
        try host.expect("fe80::9%\(index)", .none, "noInterface")
    }

    @Test(.needs(.veth)) func `a renamed interface is known only by its new name`() throws {
        let host = try TestNamespace.oneWire()
        let index = try host.index(of: "w0")
        try host.expect("192.0.2.9", .direct, "onLink", through: "w0")
        try host.expect("192.0.2.9", .direct, "onLink", options: "interface=w0")
        try host.ip("link set w0 down", "link set w0 name wire0", "link set wire0 up")
        try host.wait(for: "wire0", state: "UP")
        try host.expect("192.0.2.9", .direct, "onLink", through: "wire0")
        try host.expect("192.0.2.9", .direct, "onLink", options: "interface=wire0")
        try host.expect("192.0.2.9", .none, "noInterface", options: "interface=w0")
        try host.address("wire0", "fe80::1/64")
        try host.expect("fe80::9%wire0", .direct, "onLink")
        try host.expect("fe80::9%\(index)", .direct, "onLink")
    }

    @Test(.needs(.veth)) func `interfaces that swap names are found by their new names`() throws {
        let host = try TestNamespace.twoWires()
        try host.expect("192.0.2.9", .direct, "onLink", options: "interface=w0")
        try host.expect("203.0.113.9", .none, "noRouteOutOfInterface", options: "interface=w0")
        try host.ip("link set w0 down", "link set w1 down")
        try host.ip("link set w0 name old", "link set w1 name w0", "link set old name w1")
        try host.ip("link set w0 up", "link set w1 up")
        try host.wait(for: "w0", state: "UP")
        try host.wait(for: "w1", state: "UP")
        try host.expect("192.0.2.9", .none, "noRouteOutOfInterface", options: "interface=w0")
        try host.expect("203.0.113.9", .direct, "onLink", options: "interface=w0")
        try host.expect("203.0.113.9", .direct, "onLink", through: "w0")
    }

    @Test(.needs(.veth)) func `an interface moves to another namespace`() throws {
        let host = try TestNamespace.oneWire()
        let peer = try host.makePeer()
        try host.expect("192.0.2.9", .direct, "onLink", through: "w0")
        try peer.expect("192.0.2.9", .none, "noRoute")
        try host.ip("link set w0 netns \(peer.processIdentifier)")
        try host.expect("192.0.2.9", .none, "noRoute")
        try host.expect("192.0.2.9", .none, "noInterface", options: "interface=w0")
        try peer.ip("addr add 192.0.2.1/24 dev w0", "link set w0 up")
        try peer.wait(for: "w0", state: "UP")
        try peer.expect("192.0.2.9", .direct, "onLink", through: "w0")
        try peer.ip("link set w0 netns \(host.processIdentifier)")
        try host.ip("addr add 192.0.2.1/24 dev w0", "link set w0 up")
        try host.wait(for: "w0", state: "UP")
        try host.expect("192.0.2.9", .direct, "onLink", through: "w0")
        try peer.expect("192.0.2.9", .none, "noRoute")
    }

    @Test(.needs(.veth)) func `a dormant interface needs a connection`() throws {
        let host = try TestNamespace.oneWire()
        try host.addDefaultRoutes()
        try host.ip("link set w0 state dormant")
        try host.expect("192.0.2.9", [.direct, .connectionRequired], "dormant", through: "w0")
        try host.expect("198.51.100.1", [.routed, .connectionRequired], "dormant", through: "w0")
        // The kernel marks IPv6 nexthops over a dormant interface `linkdown`, although it has a carrier.
        try host.expect("2001:db8::9", [.direct, .connectionRequired], "dormant", through: "w0")
        try host.expect("2001:db8:f::1", [.routed, .connectionRequired], "dormant", through: "w0")
        try host.expect("192.0.2.1", .own, "localAddress")
        try host.ip("link set w0 state up")
        try host.expect("192.0.2.9", .direct, "onLink", through: "w0")
        try host.expect("198.51.100.1", .routed, "gateway", through: "w0")
    }

    @Test(.needs(.veth)) func `an interface in dormant mode is dormant with each new carrier`() throws {
        let host = try TestNamespace.oneWire()
        try host.ip("link set w0 mode dormant")
        try host.ip("link set w0-far down")
        try host.wait(for: "w0", state: "DOWN")
        try host.expect("192.0.2.9", .none, "noCarrier", through: "w0")
        try host.ip("link set w0-far up")
        try host.wait(for: "w0", state: "DORMANT")
        try host.expect("192.0.2.9", [.direct, .connectionRequired], "dormant", through: "w0")
        try host.ip("link set w0 state up")
        try host.expect("192.0.2.9", .direct, "onLink", through: "w0")
    }
}
