// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import NetlinkReachability
import TestNamespaces
import Testing

struct LinkKindTests {
    @Test(.needs(.tun)) func `targets over a tunnel are transient and never direct`() throws {
        let host = try TestNamespace()
        try host.tunnel("t0", "10.9.0.1/24", "2001:db8:9::1/64")
        try host.expect("10.9.0.9", .tunnelled, "pointToPoint", through: "t0")
        try host.expect("2001:db8:9::9", .tunnelled, "pointToPoint", through: "t0")
        #expect(try host.ask("10.9.0.9").interfaceType == "other")
        try host.ip("route add default dev t0", "-6 route add default via 2001:db8:9::254")
        try host.expect("198.51.100.1", .tunnelled, "pointToPoint", through: "t0")
        try host.expect("2001:db8:f::1", .tunnelled, "gateway", through: "t0", gateway: "2001:db8:9::254")
        try host.expect(.defaultPath, .tunnelled, "pointToPoint")
        try host.expect("10.9.0.1", .own, "localAddress")
    }

    @Test(.needs(.tun)) func `a tunnel with a peer address reaches the peer`() throws {
        let host = try TestNamespace()
        try host.tunnel("t0", "10.9.0.1 peer 10.9.0.2")
        try host.expect("10.9.0.2", .tunnelled, "pointToPoint", through: "t0")
        try host.expect("10.9.0.3", .none, "noRoute")
        try host.expect("10.9.0.1", .own, "localAddress")
    }

    @Test(.needs(.tun)) func `a tunnel without a carrier reaches nothing`() throws {
        let host = try TestNamespace()
        try host.tunnel("t0", "10.9.0.1/24", "2001:db8:9::1/64")
        for _ in 0..<2 {
            try host.setCarrier("t0", isPresent: false)
            try host.expect("10.9.0.9", .none, "noCarrier", through: "t0")
            try host.expect("2001:db8:9::9", .none, "noCarrier", through: "t0")
            try host.expect("10.9.0.1", .own, "localAddress")
            try host.setCarrier("t0", isPresent: true)
            try host.expect("10.9.0.9", .tunnelled, "pointToPoint", through: "t0")
            try host.expect("2001:db8:9::9", .tunnelled, "pointToPoint", through: "t0")
        }
        try host.command(["close-tunnel", "t0"])
        try host.expect("10.9.0.9", .none, "noRoute")
    }

    @Test(.needs(.tun)) func `traffic wakes a dormant tunnel`() throws {
        let host = try TestNamespace()
        try host.tunnel("t0", "10.9.0.1/24")
        try host.ip("link set t0 state dormant")
        let flags: ReachabilityFlags = [.tunnelled, .connectionRequired, .connectionOnTraffic]
        try host.expect("10.9.0.9", flags, "dormant", through: "t0")
        #expect(isNetworkReachable(flags: flags))
        try host.ip("link set t0 state up")
        try host.expect("10.9.0.9", .tunnelled, "pointToPoint", through: "t0")
    }

    @Test(.needs(.tun)) func `a tap carries Ethernet and is not a tunnel`() throws {
        let host = try TestNamespace()
        try host.tunnel("t0", "10.9.0.1/24", kind: "tap")
        try host.expect("10.9.0.9", .direct, "onLink", through: "t0")
        #expect(try host.ask("10.9.0.9").interfaceType == "wiredEthernet")
        try host.setCarrier("t0", isPresent: false)
        try host.expect("10.9.0.9", .none, "noCarrier", through: "t0")
    }

    /// A tunnel with the hardware type of PPP; a real PPP interface needs a peer.
    ///
    /// Before it dials, pppd configures such an interface with placeholder addresses.
    @Test(.needs(.tun)) func `a dial-up link before dialling needs a connection, which traffic establishes`()
        throws
    {
        let host = try TestNamespace()
        try host.dialUp("p0")
        try host.ip("addr add 10.64.64.64 peer 10.112.112.112 dev p0", "link set p0 up")
        try host.ip("route add default dev p0")
        let waiting: ReachabilityFlags = [.tunnelled, .connectionRequired, .connectionOnTraffic]
        try host.expect("198.51.100.1", waiting, "notDialled", through: "p0")
        try host.expect("10.112.112.112", waiting, "notDialled", through: "p0")
        try host.expect("10.64.64.64", .own, "localAddress")
        try host.ip("addr add 192.0.2.1 peer 192.0.2.2 dev p0", "addr del 10.64.64.64 dev p0")
        try host.expect("198.51.100.1", .tunnelled, "pointToPoint", through: "p0")
        try host.expect("192.0.2.2", .tunnelled, "pointToPoint", through: "p0")
    }

    @Test(.needs(.veth, .macvlan)) func `a macvlan has the state of the interface below`() throws {
        let host = try TestNamespace.oneWire()
        try host.ip("link add link w0 name m0 type macvlan", "link set m0 up")
        try host.ip("addr add 198.51.100.1/24 dev m0")
        try host.wait(for: "m0", state: "UP")
        try host.expect("198.51.100.9", .direct, "onLink", through: "m0")
        #expect(try host.ask("198.51.100.9").interfaceType == "wiredEthernet")
        try host.setFarEnd(of: "w0", up: false)
        try host.wait(for: "m0", state: "DOWN")
        try host.expect("198.51.100.9", .none, "noCarrier", through: "m0")
        try host.setFarEnd(of: "w0", up: true)
        try host.wait(for: "m0", state: "UP")
        try host.expect("198.51.100.9", .direct, "onLink", through: "m0")
        try host.ip("link set w0 down")
        try host.wait(for: "m0", state: "DOWN")
        try host.expect("198.51.100.9", .none, "noCarrier", through: "m0")
        try host.ip("link set w0 up")
        try host.wait(for: "m0", state: "UP")
        try host.expect("198.51.100.9", .direct, "onLink", through: "m0")
    }

    @Test(.needs(.veth, .bridge))
    func `a bridge is believed without ports, and follows the carrier of those it has`() throws {
        let host = try TestNamespace.oneWire()
        try host.ip("link add b0 type bridge", "link set b0 up", "addr add 198.51.100.1/24 dev b0")
        try host.expect("198.51.100.9", .direct, "onLink", through: "b0")
        try host.ip("link set w0 master b0")
        try host.wait(for: "b0", state: "UP")
        try host.expect("198.51.100.9", .direct, "onLink", through: "b0")
        try host.setFarEnd(of: "w0", up: false)
        try host.wait(for: "b0", state: "DOWN")
        try host.expect("198.51.100.9", .none, "noCarrier", through: "b0")
        try host.setFarEnd(of: "w0", up: true)
        try host.wait(for: "b0", state: "UP")
        try host.expect("198.51.100.9", .direct, "onLink", through: "b0")
    }

    @Test(.needs(.veth, .bridge, .macvlan))
    func `a dead port below a bridge below a macvlan is noticed at the top`() throws {
        let host = try TestNamespace.oneWire()
        try host.ip("link add b0 type bridge", "link set w0 master b0", "link set b0 up")
        try host.ip("link add link b0 name m0 type macvlan", "link add link m0 name m1 type macvlan")
        try host.ip("link set m0 up", "link set m1 up", "addr add 198.51.100.1/24 dev m1")
        try host.wait(for: "m1", state: "UP")
        try host.expect("198.51.100.9", .direct, "onLink", through: "m1")
        try host.setFarEnd(of: "w0", up: false)
        try host.wait(for: "m1", state: "DOWN")
        try host.expect("198.51.100.9", .none, "noCarrier", through: "m1")
        try host.setFarEnd(of: "w0", up: true)
        try host.wait(for: "m1", state: "UP")
        try host.expect("198.51.100.9", .direct, "onLink", through: "m1")
    }

    @Test(.needs(.ifb)) func `an ifb is Ethernet with the state unknown, which counts as up`() throws {
        let host = try TestNamespace()
        try host.ip("link add i0 type ifb", "addr add 198.51.100.1/24 dev i0")
        try host.expect("198.51.100.9", .none, "noRoute")
        try host.ip("link set i0 up")
        try host.expect("198.51.100.9", .direct, "onLink", through: "i0")
        try host.ip("link set i0 down")
        try host.expect("198.51.100.9", .none, "noRoute")
    }

    /// The kernel shows the wire as a property of the tunnel, not as IFLA_LINK, and leaves the tunnel up when the wire
    /// goes down.
    @Test(
        .needs(.veth, .vxlan),
        arguments: ["", " dev w0"]
    )
    func `a vxlan is Ethernet, and waits while its underlay cannot send`(binding: String) throws {
        let host = try TestNamespace.oneWire()
        try host.ip("link add x0 type vxlan id 7 dstport 4789 remote 192.0.2.9\(binding)")
        try host.ip("addr add 198.51.100.1/24 dev x0", "link set x0 up")
        try host.expect("198.51.100.9", .direct, "onLink", through: "x0")
        try host.setFarEnd(of: "w0", up: false)
        let waiting: ReachabilityFlags = [.direct, .connectionRequired]
        try host.expect("198.51.100.9", waiting, "tunnelWaits", through: "x0")
        try host.setFarEnd(of: "w0", up: true)
        try host.expect("198.51.100.9", .direct, "onLink", through: "x0")
        try host.ip("link set x0 down")
        try host.expect("198.51.100.9", .none, "noRoute")
    }
}
