// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

/// A host whose probe monitors the default path while a test changes its network.
private struct PathHost {
    let host: TestNamespace

    /// Starts a monitor for each restriction, and expects one path from each.
    init(
        _ host: TestNamespace,
        _ restrictions: [String] = ["any"],
        _ first: String...,
        at location: SourceLocation = #_sourceLocation
    ) throws {
        self.host = host
        try host.command(["monitor-paths"] + restrictions)
        try expect(first, at: location)
    }

    /// Expects these paths from each monitor since the last call, and the present path.
    func expect(_ received: String..., at location: SourceLocation = #_sourceLocation) throws {
        try expect(received, at: location)
    }

    /// Expects this path last: the monitor can ask between the steps of the kernel's change, as when a carrier has come
    /// and its routes do not count yet.
    func expect(last: String, at location: SourceLocation = #_sourceLocation) throws {
        let field = try #require(try host.command(["settle-paths"]).first, sourceLocation: location)
        #expect(field.hasSuffix("\(last)|\(last)"), "of \(field)", sourceLocation: location)
    }

    private func expect(_ received: [String], at location: SourceLocation) throws {
        let fields = try host.command(["settle-paths"])
        try #require(fields.count == received.count, sourceLocation: location)
        for (field, expected) in zip(fields, received) {
            let parts = field.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
            #expect(parts.first == expected, "of \(field)", sourceLocation: location)
            if !expected.isEmpty {
                #expect(parts.last == expected, "afresh", sourceLocation: location)
            }
        }
    }
}

@Suite(.needs(.veth))
struct PathMonitorLiveTests {
    @Test func `the default route is added, replaced and removed`() throws {
        let host = try TestNamespace.oneWire()
        let monitored = try PathHost(host, ["any"], "unsatisfied")
        try host.ip("route add default via 192.0.2.254")
        try monitored.expect("satisfied (w0), IPv4 via 192.0.2.254")
        try host.ip("-6 route add default via 2001:db8::254")
        try monitored.expect("satisfied (w0), IPv4, IPv6 via 192.0.2.254 via 2001:db8::254")
        try host.ip("route replace default via 192.0.2.253")
        try monitored.expect("satisfied (w0), IPv4, IPv6 via 192.0.2.253 via 2001:db8::254")
        try host.ip("route del default")
        try monitored.expect("satisfied (w0), IPv6 via 2001:db8::254")
        try host.ip("-6 route del default")
        try monitored.expect("unsatisfied")
    }

    @Test func `a change without effect on the path is not reported`() throws {
        let host = try TestNamespace.twoWires()
        try host.addIPv4DefaultRoute()
        let monitored = try PathHost(host, ["any"], "satisfied (w0), IPv4 via 192.0.2.254")
        try host.ip("route add 198.51.100.0/24 via 203.0.113.254", "addr add 192.0.2.7/24 dev w0")
        try monitored.expect("")
        try host.ip("rule add pref 100 to 198.51.100.0/24 prohibit", "link set w1 down")
        try monitored.expect("")
        try host.ip("link set w1 up mtu 1400")
        try monitored.expect("")
    }

    @Test func `routes removed with their interface are detected`() throws {
        let host = try TestNamespace.twoWires()
        try host.addIPv4DefaultRoute()
        try host.ip("route add default via 203.0.113.254 metric 100")
        let both = "via 192.0.2.254 via 203.0.113.254"
        let monitored = try PathHost(host, ["any"], "satisfied (w0, w1), IPv4 \(both)")
        try host.ip("link set w0 down")
        try monitored.expect("satisfied (w1), IPv4 via 203.0.113.254")
        try host.ip("link del w1")
        try monitored.expect("unsatisfied")
    }

    @Test func `a cable is unplugged and plugged in`() throws {
        let host = try TestNamespace.twoWires()
        try host.addIPv4DefaultRoute()
        try host.ip("route add default via 203.0.113.254 metric 100")
        let both = "via 192.0.2.254 via 203.0.113.254"
        let monitored = try PathHost(host, ["any"], "satisfied (w0, w1), IPv4 \(both)")
        // The kernel follows the metric; a socket bound to the other wire connects.
        try host.setFarEnd(of: "w0", up: false)
        try monitored.expect("unsatisfied (w1) via 203.0.113.254")
        try host.setFarEnd(of: "w0", up: true)
        try monitored.expect(last: "satisfied (w0, w1), IPv4 \(both)")
    }

    @Test func `rules redirect the path`() throws {
        let host = try TestNamespace.twoWires()
        try host.addIPv4DefaultRoute()
        let monitored = try PathHost(host, ["any"], "satisfied (w0), IPv4 via 192.0.2.254")
        try host.ip("route add default via 203.0.113.254 table 77")
        try monitored.expect("")
        try host.ip("rule add pref 100 table 77")
        try monitored.expect("satisfied (w1, w0), IPv4 via 203.0.113.254 via 192.0.2.254")
        try host.ip("rule del pref 100")
        try monitored.expect("satisfied (w0), IPv4 via 192.0.2.254")
    }

    @Test(.needs(.veth, .tun)) func `types are required and prohibited`() throws {
        let host = try TestNamespace.oneWire()
        let monitored = try PathHost(
            host, ["any", "required=wiredEthernet", "required=other", "prohibited=other"],
            "unsatisfied", "unsatisfied", "unsatisfied", "unsatisfied")
        try host.tunnel("tun0", "10.8.0.2/24")
        try host.ip("route add default dev tun0")
        let tunnel = "satisfied (tun0), IPv4"
        try monitored.expect(tunnel, "", tunnel, "")
        let wire = "satisfied (w0), IPv4 via 192.0.2.254"
        try host.ip("route add default via 192.0.2.254 metric 100")
        try monitored.expect("satisfied (tun0, w0), IPv4 via 192.0.2.254", wire, "", wire)
        try host.ip("route del default dev tun0")
        try monitored.expect(wire, "", "unsatisfied", "")
    }

    @Test(.needs(.veth, .renaming)) func `a renamed interface is a different path`() throws {
        let host = try TestNamespace.oneWire()
        try host.addIPv4DefaultRoute()
        let monitored = try PathHost(host, ["any"], "satisfied (w0), IPv4 via 192.0.2.254")
        try host.ip("link set w0 name x0")
        try monitored.expect("satisfied (x0), IPv4 via 192.0.2.254")
    }
}
