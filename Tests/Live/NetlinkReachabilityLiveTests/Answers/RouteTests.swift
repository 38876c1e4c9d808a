// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

struct RouteTests {
    @Test(.needs(.veth)) func `a neighbour on the link is reachable and direct`() throws {
        let host = try TestNamespace.oneWire()
        try host.expect("192.0.2.9", .direct, "onLink", through: "w0")
        try host.expect("2001:db8::9", .direct, "onLink", through: "w0")
        #expect(try host.ask("192.0.2.9").source == "192.0.2.1")
        #expect(try host.ask("2001:db8::9").source == "2001:db8::1")
        #expect(try host.ask("192.0.2.9").interfaceType == "wiredEthernet")
    }

    @Test(.needs(.veth)) func `a target behind a gateway is reachable and not direct`() throws {
        let host = try TestNamespace.oneWire()
        try host.addDefaultRoutes()
        try host.expect("198.51.100.1", .routed, "gateway", through: "w0", gateway: "192.0.2.254")
        try host.expect("2001:db8:f::1", .routed, "gateway", through: "w0", gateway: "2001:db8::254")
        #expect(try host.ask("198.51.100.1").source == "192.0.2.1")
    }

    @Test(.needs(.veth)) func `without a route nothing is reachable`() throws {
        let host = try TestNamespace.oneWire()
        for _ in 0..<2 {
            try host.expect("198.51.100.1", .none, "noRoute")
            try host.expect("2001:db8:f::1", .none, "noRoute")
            try host.addDefaultRoutes()
            try host.expect("198.51.100.1", .routed, "gateway")
            try host.expect("2001:db8:f::1", .routed, "gateway")
            try host.ip("route del default", "-6 route del default")
        }
    }

    @Test(.needs()) func `a namespace with only loopback reaches only itself`() throws {
        let host = try TestNamespace()
        try host.expect("127.0.0.1", .own, "localAddress")
        try host.expect("192.0.2.9", .none, "noRoute")
        try host.expect("2001:db8::9", .none, "noRoute")
        try host.expect(.defaultPath, .none, "noDefaultRoute")
    }

    @Test(.needs(.veth)) func `an IPv4 route can have an IPv6 gateway`() throws {
        let host = try TestNamespace.oneWire()
        try host.ip("route add 198.51.100.0/24 via inet6 2001:db8::254 dev w0")
        try host.expect("198.51.100.1", .routed, "gateway", through: "w0", gateway: "2001:db8::254")
    }

    @Test(.needs(.veth)) func `an onlink gateway is a gateway`() throws {
        let host = try TestNamespace.oneWire()
        try host.ip("route add 198.51.100.0/24 via 10.99.0.1 dev w0 onlink")
        try host.ip("-6 route add 2001:db8:f::/48 via 2001:db8:99::1 dev w0 onlink")
        try host.expect("198.51.100.1", .routed, "gateway", through: "w0", gateway: "10.99.0.1")
        try host.expect("2001:db8:f::1", .routed, "gateway", through: "w0", gateway: "2001:db8:99::1")
    }

    @Test(.needs(.veth)) func `a route without a gateway is direct for every prefix length`() throws {
        let host = try TestNamespace.oneWire()
        try host.ip("route add default dev w0", "-6 route add default dev w0")
        try host.expect("198.51.100.1", .direct, "onLink", through: "w0")
        try host.expect("2001:db8:f::1", .direct, "onLink", through: "w0")
        try host.expect(.defaultPath, .direct, "onLink", through: "w0")
    }

    // connect(2) accepts the route. The kernel counts each datagram as one without a route.
    @Test(.needs()) func `an IPv6 route out of the loopback interface sends nothing`() throws {
        let host = try TestNamespace()
        try host.ip("-6 route add 2001:db8:f::/48 dev lo")
        try host.expect("2001:db8:f::1", .none, "unreachable", through: "lo")
        func discarded() throws -> Int? {
            let counters = try host.shell("cat /proc/net/snmp6").split(separator: "\n")
            return counters.first { $0.hasPrefix("Ip6OutNoRoutes") }?.split(separator: " ").last
                .flatMap { Int($0.filter(\.isNumber)) }
        }
        let before = try #require(try discarded())
        // A refusal of the one before is an error of the next one.
        try host.shell("for i in 1 2 3; do bash -c 'echo > /dev/udp/2001:db8:f::1/9'; done")
        #expect(try #require(try discarded()) >= before + 3)
    }

    @Test(.needs(.veth)) func `an expired IPv6 route is gone although dumps list it`() throws {
        let host = try TestNamespace.oneWire()
        try host.ip("-6 route add 2001:db8:f::/48 via 2001:db8::254 dev w0 expires 2")
        try host.expect("2001:db8:f::1", .routed, "gateway", through: "w0")
        try host.wait(until: "the route expires") {
            try host.run(["ip", "-6", "route", "get", "2001:db8:f::1"]).status != 0
        }
        #expect(try host.ip("-6 route show").contains("2001:db8:f::/48"))
        try host.expect("2001:db8:f::1", .none, "noRoute")
    }

    @Test(.needs(.veth)) func `without IPv6 only IPv4 is reachable`() throws {
        let host = try TestNamespace.oneWire()
        try host.addDefaultRoutes()
        try host.set("net/ipv6/conf/all/disable_ipv6", "1")
        try host.expect("2001:db8::9", .none)
        try host.expect("2001:db8::1", .none)
        try host.expect("::1", .none)
        try host.expect("fe80::9%w0", .none)
        try host.expect(.defaultPath, .none, options: "families=v6")
        try host.expect("192.0.2.9", .direct, "onLink", through: "w0")
        try host.expect(.defaultPath, .routed, "gateway", gateway: "192.0.2.254")
    }
}
