// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

struct MetricTests {
    /// Two wires with a default route each, in this order.
    private func host(_ metrics: (String, String)) throws -> TestNamespace {
        let host = try TestNamespace.twoWires()
        for (wire, metric, v4, v6) in [
            ("w0", metrics.0, "192.0.2.254", "2001:db8::254"),
            ("w1", metrics.1, "203.0.113.254", "2001:db8:1::254"),
        ] {
            try host.ip("route add default via \(v4) dev \(wire) metric \(metric)")
            try host.ip("-6 route add default via \(v6) dev \(wire) metric \(metric)")
        }
        return host
    }

    @Test(.needs(.veth)) func `of two default routes the one with the lower metric is taken`() throws {
        let host = try host(("200", "100"))
        try host.expect("198.51.100.1", .routed, "gateway", through: "w1", gateway: "203.0.113.254")
        try host.expect("2001:db8:f::1", .routed, "gateway", through: "w1", gateway: "2001:db8:1::254")
        try host.ip("route del default metric 100", "-6 route del default metric 100")
        try host.expect("198.51.100.1", .routed, "gateway", through: "w0", gateway: "192.0.2.254")
        try host.expect("2001:db8:f::1", .routed, "gateway", through: "w0", gateway: "2001:db8::254")
    }

    @Test(.needs(.veth)) func `a route whose interface lost its carrier is still selected and not reachable`()
        throws
    {
        let host = try host(("100", "200"))
        try host.setFarEnd(of: "w0", up: false)
        try host.expect("198.51.100.1", .none, "noCarrier", through: "w0")
        try host.expect("2001:db8:f::1", .none, "noCarrier", through: "w0")
        try host.setFarEnd(of: "w0", up: true)
        try host.expect("198.51.100.1", .routed, "gateway", through: "w0")
        try host.expect("2001:db8:f::1", .routed, "gateway", through: "w0")
    }

    @Test(.needs(.veth, .ignoredLinkdown))
    func `ignore_routes_with_linkdown of all interfaces selects the next metric`() throws {
        try ignoreDeadEnds(of: ["all"])
    }

    @Test(.needs(.veth)) func `ignore_routes_with_linkdown of each interface selects the next metric`() throws
    {
        try ignoreDeadEnds(of: ["w0", "w1"])
    }

    private func ignoreDeadEnds(of interfaces: [String]) throws {
        let host = try host(("100", "200"))
        for interface in interfaces {
            try host.set("net/ipv4/conf/\(interface)/ignore_routes_with_linkdown", "1")
            try host.set("net/ipv6/conf/\(interface)/ignore_routes_with_linkdown", "1")
        }
        try host.expect("198.51.100.1", .routed, "gateway", through: "w0")
        try host.setFarEnd(of: "w0", up: false)
        try host.expect("198.51.100.1", .routed, "gateway", through: "w1", gateway: "203.0.113.254")
        try host.expect("2001:db8:f::1", .routed, "gateway", through: "w1", gateway: "2001:db8:1::254")
        try host.expect("192.0.2.9", .routed, "gateway", through: "w1")
        try host.setFarEnd(of: "w1", up: false)
        try host.expect("198.51.100.1", .none, "noRoute")
        try host.expect("2001:db8:f::1", .none, "noRoute")
        try host.setFarEnd(of: "w0", up: true)
        try host.expect("198.51.100.1", .routed, "gateway", through: "w0")
        try host.expect("2001:db8:f::1", .routed, "gateway", through: "w0")
    }

    @Test(.needs(.veth)) func `among equal default routes the kernel's neighbour state decides`() throws {
        let host = try TestNamespace.twoWires()
        try host.ip("route add default via 192.0.2.254 dev w0")
        try host.ip("route append default via 203.0.113.254 dev w1")
        try host.ip("neigh replace 203.0.113.254 dev w1 lladdr 02:00:00:00:00:02 nud permanent")
        try host.ip("neigh replace 192.0.2.254 dev w0 nud failed")
        try host.expect("198.51.100.1", .routed, "gateway", through: "w1", gateway: "203.0.113.254")
        try host.ip("neigh replace 192.0.2.254 dev w0 lladdr 02:00:00:00:00:01 nud permanent")
        try host.ip("neigh replace 203.0.113.254 dev w1 nud failed")
        try host.expect("198.51.100.1", .routed, "gateway", through: "w0", gateway: "192.0.2.254")
    }
}
