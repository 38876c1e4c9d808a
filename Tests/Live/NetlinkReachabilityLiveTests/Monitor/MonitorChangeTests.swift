// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

/// Changes that the kernel notifies about: each changed target is reported once, and no other.
@Suite(.needs(.veth))
struct MonitorChangeTests {
    @Test func `routes are added, replaced and removed`() throws {
        let monitored = try MonitoredHost.routed()
        try monitored.host.ip("route add unreachable 198.51.100.0/24")
        try monitored.expect(["198.51.100.1": .none])
        // The kernel does not notify about the replaced route.
        try monitored.host.ip("route replace 198.51.100.0/24 dev w1")
        try monitored.expect(["198.51.100.1": .direct])
        try monitored.host.ip("route del 198.51.100.0/24")
        try monitored.expect(["198.51.100.1": .routed])
        try monitored.host.ip("-6 route add unreachable 2001:db8:f::/48")
        try monitored.expect(["2001:db8:f::1": .none])
        try monitored.host.ip("-6 route replace 2001:db8:f::/48 dev w1")
        try monitored.expect(["2001:db8:f::1": .direct])
        try monitored.host.ip("route del default", "-6 route del default")
        try monitored.expect(["198.51.100.1": .none, "default": .none])
    }

    @Test func `rules are added and removed`() throws {
        let monitored = try MonitoredHost.routed()
        try monitored.host.ip("rule add pref 100 to 198.51.100.0/24 prohibit")
        try monitored.expect(["198.51.100.1": .none])
        try monitored.host.ip("-6 rule add pref 100 to 2001:db8:f::/48 prohibit")
        try monitored.expect(["2001:db8:f::1": .none])
        // A table without routes is skipped.
        try monitored.host.ip("rule add pref 50 to 198.51.100.0/24 lookup 100")
        try monitored.expect([:])
        try monitored.host.ip("route add default dev w1 table 100")
        try monitored.expect(["198.51.100.1": .direct])
        try monitored.host.ip("rule del pref 50")
        try monitored.expect(["198.51.100.1": .none])
        try monitored.host.ip("rule del pref 100", "-6 rule del pref 100")
        try monitored.expect(["198.51.100.1": .routed, "2001:db8:f::1": .routed])
    }

    @Test(.needs(.veth, .renaming))
    func `an interface is renamed`() throws {
        let host = try TestNamespace.oneWire()
        try host.addDefaultRoutes()
        try host.address("w0", "fe80::1/64")
        let monitored = try MonitoredHost(
            host,
            [
                "198.51.100.1", "198.51.100.1 interface=w0", "198.51.100.1 interface=x0", "fe80::9%w0",
                "fe80::9%x0", "127.0.0.1",
            ]
        )
        for (old, new) in [("w0", "x0"), ("x0", "w0")] {
            try host.ip("link set \(old) name \(new)")
            try monitored.expect([
                "198.51.100.1 interface=\(old)": .none, "fe80::9%\(old)": .none,
                "198.51.100.1 interface=\(new)": .routed, "fe80::9%\(new)": .direct,
            ])
        }
    }

    @Test func `a setting changes the selected route`() throws {
        let monitored = try MonitoredHost.routed()
        try monitored.host.ip("route add default via 203.0.113.254 metric 20")
        try monitored.host.setFarEnd(of: "w0", up: false)
        try monitored.expect(MonitoredHost.throughW0.all(.none))
        try monitored.host.set("net/ipv4/conf/w0/ignore_routes_with_linkdown", "1")
        try monitored.expect(["198.51.100.1": .routed, "default": .routed, "192.0.2.9": .routed])
    }

    @Test(.needs(.tun))
    func `the process of a tunnel ends`() throws {
        let host = try TestNamespace()
        try host.tunnel("t0", "192.0.2.1/24")
        try host.ip("route add default dev t0")
        let monitored = try MonitoredHost(host, ["198.51.100.1", "192.0.2.1", "127.0.0.1"])
        try host.setCarrier("t0", isPresent: false)
        try monitored.expect(["198.51.100.1": .none])
        try host.setCarrier("t0", isPresent: true)
        try monitored.expect(["198.51.100.1": .tunnelled])
        try host.command(["close-tunnel", "t0"])
        try host.wait(until: "the tunnel is gone") { try !host.ip("-o link show").contains("t0") }
        try monitored.expect(["198.51.100.1": .none, "192.0.2.1": .none])
    }
}
