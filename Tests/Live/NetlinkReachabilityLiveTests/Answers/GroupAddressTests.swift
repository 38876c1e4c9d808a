// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

struct GroupAddressTests {
    @Test(.needs(.veth)) func `the broadcast address of a network is on its link`() throws {
        let host = try TestNamespace.oneWire()
        try host.expect("192.0.2.255", .direct, "broadcast", through: "w0")
        try host.addDefaultRoutes()
        try host.expect("192.0.2.255", .direct, "broadcast", through: "w0")
        try host.expect("203.0.113.255", .routed, "gateway", through: "w0")
    }

    @Test(.needs(.veth)) func `255.255.255.255 needs a route and uses no gateway`() throws {
        let host = try TestNamespace.oneWire()
        try host.expect("255.255.255.255", .none, "noRoute")
        try host.addDefaultRoutes()
        try host.expect("255.255.255.255", .direct, "broadcast", through: "w0")
        try host.setFarEnd(of: "w0", up: false)
        try host.expect("255.255.255.255", .none, "noCarrier", through: "w0")
    }

    @Test(.needs(.veth)) func `an IPv4 multicast group needs a route and uses no gateway`() throws {
        let host = try TestNamespace.twoWires()
        try host.expect("224.0.0.251", .none, "noRoute")
        try host.ip("route add 224.0.0.0/4 dev w1")
        try host.expect("224.0.0.251", .direct, "multicast", through: "w1")
        try host.ip("route del 224.0.0.0/4 dev w1")
        try host.addDefaultRoutes()
        try host.expect("224.0.0.251", .direct, "multicast", through: "w0")
        try host.expect("239.1.2.3", .direct, "multicast", through: "w0")
        try host.setFarEnd(of: "w0", up: false)
        try host.expect("239.1.2.3", .none, "noCarrier", through: "w0")
    }

    /// The kernel sends to a group without a route when the socket names the interface.
    @Test(
        .needs(.veth),
        arguments: [
            ("255.255.255.255", "broadcast"), ("224.0.0.251", "multicast"), ("239.1.2.3", "multicast"),
        ]
    )
    func `an IPv4 group needs no route from a bound socket`(target: String, reason: String) throws {
        let host = try TestNamespace.twoWires()
        try host.expect(.host(target), .none, "noRoute")
        try host.expect(.host(target), .direct, reason, through: "w1", options: "interface=w1")
        try host.expect(.host(target), .direct, reason, through: "w0", options: "source=192.0.2.1")
        try host.setFarEnd(of: "w1", up: false)
        try host.expect(.host(target), .none, "noCarrier", options: "interface=w1")
    }

    @Test(.needs(.veth)) func `an IPv6 multicast group has a route on each link`() throws {
        let host = try TestNamespace()
        try host.expect("ff05::2", .none, "noRoute")
        try host.wire("w0", "2001:db8::1/64")
        try host.expect("ff05::2", .direct, "multicast")
        try host.expect("ff0e::2", .direct, "multicast")
    }
}
