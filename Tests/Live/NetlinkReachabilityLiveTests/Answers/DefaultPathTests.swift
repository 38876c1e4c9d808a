// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

struct DefaultPathTests {
    /// The ways to ask for it.
    private static let queries: [Query] = [.defaultPath, "0.0.0.0", "::"]

    @Test(.needs(.veth), arguments: queries) func `without a default route there is no default path`(
        query: Query
    ) throws {
        let host = try TestNamespace.oneWire()
        try host.expect(query, .none, "noDefaultRoute")
    }

    @Test(.needs(.veth), arguments: queries) func `an IPv4 default route suffices`(query: Query)
        throws
    {
        let host = try TestNamespace.oneWire()
        try host.ip("route add default via 192.0.2.254")
        try host.expect(query, .routed, "gateway", gateway: "192.0.2.254")
        try host.expect(query, .none, "noDefaultRoute", options: "families=v6")
    }

    @Test(.needs(.veth), arguments: queries) func `an IPv6 default route suffices`(query: Query)
        throws
    {
        let host = try TestNamespace.oneWire()
        try host.ip("-6 route add default via 2001:db8::254")
        try host.expect(query, .routed, "gateway", gateway: "2001:db8::254")
        try host.expect(query, .none, "noDefaultRoute", options: "families=v4")
    }

    @Test(.needs(.veth)) func `with both families IPv4 is reported`() throws {
        let host = try TestNamespace.oneWire()
        try host.addDefaultRoutes()
        try host.expect(.defaultPath, .routed, "gateway", gateway: "192.0.2.254")
        try host.expect(.defaultPath, .routed, "gateway", gateway: "2001:db8::254", options: "families=v6")
    }

    // MARK: Public addresses

    @Test(.needs(.veth)) func `the two halves of the address space are a default route`() throws {
        let host = try TestNamespace.oneWire()
        try host.ip("route add 0.0.0.0/1 via 192.0.2.254", "route add 128.0.0.0/1 via 192.0.2.254")
        try host.expect(.defaultPath, .routed, "gateway", gateway: "192.0.2.254", options: "families=v4")
        try host.expect("198.51.100.1", .routed, "gateway", through: "w0")
        try host.ip("-6 route add ::/1 via 2001:db8::254", "-6 route add 8000::/1 via 2001:db8::254")
        try host.expect(.defaultPath, .routed, "gateway", gateway: "2001:db8::254", options: "families=v6")
        try expectPath(host, "192.0.2.254", "2001:db8::254")
    }

    /// Only the lower half was asked about.
    @Test(.needs(.veth)) func `one half of the address space that leads elsewhere is a default path`() throws
    {
        let host = try TestNamespace.twoWires()
        try host.ip("route add 128.0.0.0/1 via 203.0.113.254")
        try host.expect(.defaultPath, .routed, "gateway", through: "w1", gateway: "203.0.113.254")
        try expectPath(host, "203.0.113.254")
        try host.addIPv4DefaultRoute()
        try host.expect(.defaultPath, .routed, "gateway", through: "w0", gateway: "192.0.2.254")
        // Packets take both.
        try expectPath(host, "192.0.2.254", "203.0.113.254")
        try host.setFarEnd(of: "w0", up: false)
        try host.expect(.defaultPath, .routed, "gateway", through: "w1", gateway: "203.0.113.254")
        try expectPath(host, "203.0.113.254")
    }

    /// `::` was asked about, which this route of OpenVPN and of the IPv6 HOWTO does not match.
    @Test(.needs(.veth)) func `a route of all public IPv6 addresses is a default path`() throws {
        let host = try TestNamespace.twoWires()
        try host.ip("-6 route add 2000::/3 via 2001:db8::254")
        try host.expect(.defaultPath, .routed, "gateway", through: "w0", gateway: "2001:db8::254")
        try expectPath(host, "2001:db8::254")
        #expect(try waitStatus(host) == 0)
    }

    /// The interface of the default route was named.
    @Test(.needs(.veth)) func `a route of all public IPv6 addresses comes before a default route`() throws {
        let host = try TestNamespace.twoWires()
        try host.ip("-6 route add default via 2001:db8:1::254", "-6 route add 2000::/3 via 2001:db8::254")
        try host.expect(.defaultPath, .routed, "gateway", through: "w0", gateway: "2001:db8::254")
        // A socket that is bound to the other wire takes the default route.
        try expectPath(host, "2001:db8::254", "2001:db8:1::254")
    }

    /// What the distributions' scripts and lists of bogons filter.
    private static let filters = [
        ["-6 route add unreachable ::/96"], ["-6 route add blackhole ::/8"],
        ["route add unreachable 0.0.0.0/8"], ["route add prohibit 0.0.0.0/8"],
        ["route add blackhole 0.0.0.0/8", "route add blackhole 240.0.0.0/4"],
        ["route add blackhole 224.0.0.0/3"],
    ]

    /// The filter answered for the default path.
    @Test(.needs(.veth), arguments: filters)
    func `a filter of special addresses does not hide a default route`(filter: [String]) throws {
        let host = try TestNamespace.oneWire()
        try host.addDefaultRoutes()
        for command in filter { try host.ip(command) }
        try host.expect(.defaultPath, .routed, "gateway", gateway: "192.0.2.254", options: "families=v4")
        try host.expect(.defaultPath, .routed, "gateway", gateway: "2001:db8::254", options: "families=v6")
        try expectPath(host, "192.0.2.254", "2001:db8::254")
        try host.ip("route del default", "-6 route del default")
        try host.expect(.defaultPath, .none, "noDefaultRoute")
    }

    @Test(.needs(.veth)) func `an entry over one public address does not hide the other`() throws {
        let host = try TestNamespace.oneWire()
        try host.addIPv4DefaultRoute()
        try host.ip("route add unreachable 12.0.0.0/8")
        try host.expect(.defaultPath, .routed, "gateway", gateway: "192.0.2.254")
        try host.ip("route add local 12.0.0.0/9 dev lo")
        try host.expect(.defaultPath, .routed, "gateway", gateway: "192.0.2.254")
    }

    /// It was a default path, and `wait default` ended with 0.
    @Test(.needs(.veth), arguments: ["-6 route add ::/96 dev w0", "route add 0.0.0.0/8 dev w0"])
    func `a route of special addresses is not a default path`(route: String) throws {
        let host = try TestNamespace.oneWire()
        try host.ip(route)
        try host.expect(.defaultPath, .none, "noDefaultRoute")
        try expectPath(host)
        #expect(try waitStatus(host) == 1)
    }

    /// Events about the halves and about 2000::/3 have to reach what depends on the default path.
    @Test(.needs(.veth)) func `the monitor notices routes of public addresses`() throws {
        let host = try TestNamespace.twoWires()
        let network = try ObservedNetwork(host, ["default": .unreachable("noDefaultRoute")])
        try host.ip("route add 192.0.0.0/3 via 203.0.113.254")
        try network.expect(["default": .routed("w1", via: "203.0.113.254")])
        try host.ip("route add 0.0.0.0/1 via 192.0.2.254")
        try network.expect(["default": .routed("w0", via: "192.0.2.254")])
        try host.ip("route del 0.0.0.0/1", "route del 192.0.0.0/3")
        try network.expect(["default": .unreachable("noDefaultRoute")])
        try host.ip("-6 route add 2000::/3 via 2001:db8::254")
        try network.expect(["default": .routed("w0", via: "2001:db8::254")])
        try host.ip("-6 route del 2000::/3")
        try network.expect(["default": .unreachable("noDefaultRoute")])
    }

    /// Expects the gateways that `netflags path` lists, in their order, and a path that is satisfied if there are any.
    private func expectPath(
        _ host: TestNamespace,
        _ gateways: String...,
        at location: SourceLocation = #_sourceLocation
    ) throws {
        let path = try host.run([try TestNamespace.program("netflags"), "path", "--json"])
        let list = gateways.map { "\"\($0)\"" }.joined(separator: ",")
        #expect(path.output.contains("\"gateways\":[\(list)]"), "\(path.output)", sourceLocation: location)
        #expect(path.status == (gateways.isEmpty ? 1 : 0), "\(path.output)", sourceLocation: location)
    }

    /// The status of `netflags wait default`, without waiting.
    private func waitStatus(_ host: TestNamespace) throws -> Int {
        try host.run([try TestNamespace.program("netflags"), "wait", "--timeout", "0", "default"]).status
    }

    // MARK: Refusals and losses

    @Test(.needs(.veth)) func `an unreachable default route counts only without a better one`() throws {
        let host = try TestNamespace.oneWire()
        try host.ip("route add unreachable default metric 4278198272")
        try host.ip("-6 route add unreachable default metric 4278198272")
        try host.expect(.defaultPath, .none, "unreachable")
        try host.expect(.defaultPath, .none, "unreachable", options: "families=v6")
        try host.expect("198.51.100.1", .none, "unreachable")
        try host.addDefaultRoutes()
        try host.expect(.defaultPath, .routed, "gateway", gateway: "192.0.2.254")
        try host.expect(.defaultPath, .routed, "gateway", gateway: "2001:db8::254", options: "families=v6")
    }

    @Test(.needs(.veth)) func `the IPv6 path counts when the IPv4 path is not reachable`() throws {
        let host = try TestNamespace.twoWires()
        try host.ip("route add default via 192.0.2.254", "-6 route add default via 2001:db8:1::254")
        try host.setFarEnd(of: "w0", up: false)
        try host.expect(.defaultPath, .routed, "gateway", through: "w1", gateway: "2001:db8:1::254")
        try host.setFarEnd(of: "w1", up: false)
        try host.expect(.defaultPath, .none, "noCarrier", through: "w0")
        try host.setFarEnd(of: "w0", up: true)
        try host.expect(.defaultPath, .routed, "gateway", through: "w0", gateway: "192.0.2.254")
    }
}
