// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

struct BindingTests {
    /// It was undecided, and a tunnel with `dev` and a fixed `tos` counted as one whose outer packets leave.
    @Test(.needs(.veth))
    func `a source-specific route to other addresses leaves a bound IPv6 socket decided`()
        throws
    {
        let host = try TestNamespace.twoWires()
        try host.addDefaultRoutes()
        try host.ip("-6 route add throw 2a00::/48 from 2001:db8:1::/64 table 200")
        let options = ["interface=w1", "source=2001:db8:1::1", "user=1234"]
        try host.expect("2001:db8:f::1", .none, "noRouteOutOfInterface", options: options)
        try host.ip("-6 route add unreachable 2001:db8:f::/48 from 2001:db8:2::/64 table 200")
        #expect(try host.ask("2001:db8:f::1", options).error == "undecided")
    }

    /// The kernel answers "on-link" for every destination of a bound IPv4 socket.
    @Test(.needs(.veth)) func `a bound socket uses only the routes of its interface`() throws {
        let host = try TestNamespace.twoWires()
        for target in ["198.51.100.1", "192.0.2.9", "2001:db8:f::1", "2001:db8::9"] {
            try host.expect(.host(target), .none, "noRouteOutOfInterface", options: "interface=w1")
        }
        try host.expect("192.0.2.9", .direct, "onLink", through: "w0", options: "interface=w0")
        try host.expect("2001:db8::9", .direct, "onLink", through: "w0", options: "interface=w0")
        try host.ip("route add default via 203.0.113.254", "-6 route add default via 2001:db8:1::254")
        try host.expect("198.51.100.1", .routed, "gateway", through: "w1", options: "interface=w1")
        try host.expect("2001:db8:f::1", .routed, "gateway", through: "w1", options: "interface=w1")
        try host.expect("198.51.100.1", .none, "noRouteOutOfInterface", options: "interface=w0")
        try host.expect("2001:db8:f::1", .none, "noRouteOutOfInterface", options: "interface=w0")
    }

    @Test(.needs(.veth)) func `the default path of a bound socket leads out of its interface`() throws {
        let host = try TestNamespace.twoWires()
        try host.addDefaultRoutes()
        try host.expect(.defaultPath, .routed, "gateway", through: "w0", options: "interface=w0")
        try host.expect(.defaultPath, .none, options: "interface=w1")
        try host.ip("route add default via 203.0.113.254 metric 500")
        try host.expect(.defaultPath, .routed, "gateway", through: "w1", options: "interface=w1")
        try host.expect(.defaultPath, .routed, "gateway", through: "w0")
    }

    /// A host with two uplinks: the second has its routes in a table of its own, for packets from its address.
    @Test(.needs(.veth)) func `a bound IPv4 socket takes the route of the address that the kernel selects`()
        throws
    {
        let host = try TestNamespace.twoWires()
        try host.addDefaultRoutes()
        try host.ip(
            "rule add from 203.0.113.1 lookup 100", "route add default via 203.0.113.254 dev w1 table 100")
        try host.expect("198.51.100.1", .routed, "gateway", through: "w1", options: "interface=w1")
        try host.expect(.defaultPath, .routed, "gateway", through: "w1", options: "interface=w1")
        try host.expect("198.51.100.1", .routed, "gateway", through: "w0")
        try host.ip("route del default table 100")
        try host.expect("198.51.100.1", .none, "noRouteOutOfInterface", options: "interface=w1")
    }

    @Test(
        .needs(.veth),
        arguments: ["127.0.0.1", "::1"]
    )
    func `a loopback address is reachable through the loopback interface alone`(target: String) throws {
        let host = try TestNamespace.oneWire()
        try host.expect(.host(target), .own, "localAddress", options: "interface=lo")
        try host.expect(.host(target), .none, "noRouteOutOfInterface", options: "interface=w0")
        try host.expect(.host(target), .none, "noInterface", options: "interface=nope")
    }

    @Test(.needs(.veth)) func `a socket that is bound to 127.0.0.1 reaches this host alone`() throws {
        let host = try TestNamespace.oneWire()
        try host.addDefaultRoutes()
        for target in ["192.0.2.9", "198.51.100.1"] {
            try host.expect(.host(target), .none, "loopbackSource", options: "source=127.0.0.1")
        }
        for target in ["192.0.2.1", "127.0.0.1"] {
            try host.expect(.host(target), .own, "localAddress", options: "source=127.0.0.1")
        }
    }

    @Test(.needs(.veth)) func `an interface whose name is not UTF-8 is given by its index`() throws {
        let host = try TestNamespace()
        try host.shell(
            #"ip link add "$(printf 'x\377')" index 77 type veth peer name far && ip link set far up"#
                + #"; ip link set "$(printf 'x\377')" up && ip addr add 192.0.2.1/24 dev "$(printf 'x\377')""#
        )
        try host.expect("192.0.2.9", .direct, "onLink", options: "interface=77")
        try host.expect("192.0.2.9", .none, "noInterface", options: "interface=78")
        // A name comes first.
        try host.wire("77", "198.51.100.1/24")
        try host.expect("198.51.100.9", .direct, "onLink", options: "interface=77")
    }

    @Test(.needs(.veth)) func `a socket that is bound to a missing interface sends nothing`() throws {
        let host = try TestNamespace.oneWire()
        try host.expect("192.0.2.9", .none, "noInterface", options: "interface=nope")
        try host.expect(.defaultPath, .none, "noInterface", options: "interface=nope")
    }

    @Test(.needs(.veth)) func `a source must be an address of this host`() throws {
        let host = try TestNamespace.oneWire()
        try host.expect("192.0.2.9", .direct, "onLink", options: "source=192.0.2.1")
        try host.expect("2001:db8::9", .direct, "onLink", options: "source=2001:db8::1")
        try host.expect("192.0.2.9", .none, "notOwnAddress", options: "source=192.0.2.77")
        try host.expect("2001:db8::9", .none, "notOwnAddress", options: "source=2001:db8::77")
        try host.address("w0", "192.0.2.77/24", "2001:db8::77/64")
        try host.expect("192.0.2.9", .direct, "onLink", options: "source=192.0.2.77")
        try host.expect("2001:db8::9", .direct, "onLink", options: "source=2001:db8::77")
        #expect(try host.ask("192.0.2.9", ["source=192.0.2.77"]).source == "192.0.2.77")
    }

    @Test(.needs(.veth)) func `a source-specific IPv6 route applies to that source alone`() throws {
        let host = try TestNamespace.twoWires()
        try host.ip("-6 route add default from 2001:db8:1::/64 via 2001:db8:1::254 dev w1")
        try host.expect("2001:db8:f::1", .routed, "gateway", options: "source=2001:db8:1::1")
        try host.expect("2001:db8:f::1", .none, "noRoute", options: "source=2001:db8::1")
    }

    /// A socket selects a source address and looks up again with it.
    @Test(.needs(.veth)) func `a source-specific IPv6 default route counts for a socket without a source`()
        throws
    {
        let host = try TestNamespace.oneWire()
        try host.expect("2001:db8:f::1", .none, "noRoute")
        try host.ip("-6 route add default from 2001:db8::/64 via 2001:db8::254 dev w0")
        try host.expect("2001:db8:f::1", .routed, "gateway")
        try host.expect(.defaultPath, .routed, "gateway", gateway: "2001:db8::254")
        #expect(try host.ask("2001:db8:f::1", []).source == "2001:db8::1")
    }
}
