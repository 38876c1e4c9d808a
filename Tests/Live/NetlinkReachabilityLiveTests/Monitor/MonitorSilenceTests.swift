// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import NetlinkReachability
import TestNamespaces
import Testing

/// Changes that remove routes without a route notification.
@Suite(.needs(.veth))
struct MonitorSilenceTests {
    @Test func `setting a link down removes its routes`() throws {
        let monitored = try MonitoredHost.routed()
        try monitored.host.ip("link set w0 down")
        try monitored.expect(
            (MonitoredHost.throughW0 + ["2001:db8::1"]).all(.none)
        )
    }

    @Test func `setting a link without IPv6 down, which sends no route notification, removes its routes`()
        throws
    {
        let monitored = try MonitoredHost.routed()
        try monitored.host.set("net/ipv6/conf/w0/disable_ipv6", "1")
        try monitored.expect(["2001:db8::9": .none, "2001:db8::1": .none, "2001:db8:f::1": .none])
        try monitored.host.ip("link set w0 down")
        try monitored.expect(["192.0.2.9": .none, "198.51.100.1": .none, "default": .none])
    }

    @Test(.needs(.quietIPv6))
    func `setting a link down removes its routes with skip_notify_on_dev_down`() throws {
        let monitored = try MonitoredHost.routed()
        try monitored.host.set("net/ipv6/route/skip_notify_on_dev_down", "1")
        try monitored.host.ip("link set w0 down")
        try monitored.expect((MonitoredHost.throughW0 + ["2001:db8::1"]).all(.none))
    }

    @Test func `removing the last address removes the routes through its gateways`() throws {
        let monitored = try MonitoredHost.routed()
        try monitored.host.ip("addr del 192.0.2.1/24 dev w0")
        try monitored.expect(["192.0.2.9": .none, "192.0.2.1": .none, "198.51.100.1": .none])
    }

    @Test func `deleting a link removes its routes and addresses`() throws {
        let monitored = try MonitoredHost.routed()
        try monitored.host.ip("link del w0")
        try monitored.expect((MonitoredHost.throughW0 + ["192.0.2.1", "2001:db8::1"]).all(.none))
    }

    @Test func `moving a link to another namespace removes its routes and addresses`() throws {
        let monitored = try MonitoredHost.routed()
        let peer = try monitored.host.makePeer()
        try monitored.host.ip("link set w0 netns \(peer.processIdentifier)")
        try monitored.expect((MonitoredHost.throughW0 + ["192.0.2.1", "2001:db8::1"]).all(.none))
    }

    @Test(.needs(.nexthops), arguments: [true, false])
    func `deleting a nexthop object removes its route, and only its nexthop from a group`(
        isCompatible: Bool
    ) throws {
        let host = try TestNamespace.twoWires()
        try host.set("net/ipv4/nexthop_compat_mode", isCompatible ? "1" : "0")
        try host.ip(
            "nexthop add id 10 via 192.0.2.254 dev w0", "nexthop add id 11 via 203.0.113.254 dev w1",
            "nexthop add id 12 group 10/11", "nexthop add id 20 via 2001:db8::254 dev w0",
            "route add 198.51.100.0/24 nhid 10", "route add 198.51.101.0/24 nhid 12",
            "-6 route add 2001:db8:f::/48 nhid 20"
        )
        let monitored = try MonitoredHost(host, ["198.51.100.1", "198.51.101.1", "2001:db8:f::1", "default"])
        try host.ip("nexthop del id 10")
        try monitored.expect(["198.51.100.1": .none])
        try host.ip("nexthop del id 20")
        try monitored.expect(["2001:db8:f::1": .none])
        try host.ip("nexthop del id 11")
        try monitored.expect(["198.51.101.1": .none])
    }

    @Test func `a carrier that changes is detected without route notifications`() throws {
        let monitored = try MonitoredHost.routed()
        let before: [String: ReachabilityFlags] = [
            "192.0.2.9": .direct, "198.51.100.1": .routed, "2001:db8::9": .direct, "2001:db8:f::1": .routed,
            "default": .routed,
        ]
        for _ in 0..<2 {
            try monitored.host.setFarEnd(of: "w0", up: false)
            try monitored.expect(MonitoredHost.throughW0.all(.none))
            try monitored.host.setFarEnd(of: "w0", up: true)
            try monitored.expect(before)
        }
    }

    @Test(.needs(.nexthops))
    func `a lost carrier removes a nexthop object and its route permanently`() throws {
        let host = try TestNamespace.oneWire()
        try host.ip("nexthop add id 10 via 192.0.2.254 dev w0", "route add 198.51.100.0/24 nhid 10")
        let monitored = try MonitoredHost(host, ["198.51.100.1", "127.0.0.1"])
        try host.setFarEnd(of: "w0", up: false)
        try monitored.expect(["198.51.100.1": .none])
        try host.ip("link set w0 down")
        try monitored.expect([:])
        try host.ip("link set w0 up")
        try host.setFarEnd(of: "w0", up: true)
        try monitored.expect([:])
    }

    @Test func `an IPv6 route ends with its lifetime, before the kernel notifies`() throws {
        let host = try TestNamespace.oneWire()
        let monitored = try MonitoredHost(host, ["2001:db8:f::1", "2001:db8:e::1", "2001:db8::9"])
        try host.ip(
            "-6 route add 2001:db8:f::/48 via 2001:db8::254",
            "-6 route add 2001:db8:e::/48 via 2001:db8::254"
        )
        try monitored.expect(["2001:db8:f::1": .routed, "2001:db8:e::1": .routed])
        try host.ip("-6 route replace 2001:db8:f::/48 via 2001:db8::254 expires 1")
        try host.wait(until: "the lifetime is over") {
            try host.run(["ip", "-6", "route", "get", "2001:db8:f::1"]).status != 0
        }
        try monitored.expect(["2001:db8:f::1": .none])
    }

    @Test func `an address ends with its lifetime`() throws {
        let host = try TestNamespace.oneWire()
        let monitored = try MonitoredHost(
            host,
            ["198.51.100.1", "198.51.100.9", "2001:db8:f::1", "2001:db8:f::9", "192.0.2.9"]
        )
        try host.address("w0", "198.51.100.1/24", "2001:db8:f::1/64")
        // The kernel adds the prefix route of an IPv6 address before the local one.
        try monitored.expect(
            [
                "198.51.100.1": .own, "198.51.100.9": .direct, "2001:db8:f::1": .own,
                "2001:db8:f::9": .direct,
            ],
            afterOthers: true
        )
        try host.ip(
            "addr change 198.51.100.1/24 dev w0 valid_lft 1 preferred_lft 1",
            "addr change 2001:db8:f::1/64 dev w0 valid_lft 1 preferred_lft 1"
        )
        try host.wait(until: "the lifetimes are over") {
            let addresses = try host.ip("-o addr show dev w0")
            return !addresses.contains("198.51.100.1") && !addresses.contains("2001:db8:f::1")
        }
        try monitored.expect(
            ["198.51.100.1", "198.51.100.9", "2001:db8:f::1", "2001:db8:f::9"].all(.none)
        )
    }
}
