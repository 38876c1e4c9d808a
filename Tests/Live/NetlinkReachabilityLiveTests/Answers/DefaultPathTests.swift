// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import TestNamespaces
import Testing

struct DefaultPathTests {
    /// The ways to ask for it.
    private static let questions: [Question] = [.defaultPath, "0.0.0.0", "::"]

    @Test(.needs(.veth), arguments: questions) func `without a default route there is no default path`(
        question: Question
    ) throws {
        let host = try TestNamespace.oneWire()
        try host.expect(question, .none, "noDefaultRoute")
    }

    @Test(.needs(.veth), arguments: questions) func `an IPv4 default route suffices`(question: Question)
        throws
    {
        let host = try TestNamespace.oneWire()
        try host.ip("route add default via 192.0.2.254")
        try host.expect(question, .routed, "gateway", gateway: "192.0.2.254")
        try host.expect(question, .none, "noDefaultRoute", options: "families=v6")
    }

    @Test(.needs(.veth), arguments: questions) func `an IPv6 default route suffices`(question: Question)
        throws
    {
        let host = try TestNamespace.oneWire()
        try host.ip("-6 route add default via 2001:db8::254")
        try host.expect(question, .routed, "gateway", gateway: "2001:db8::254")
        try host.expect(question, .none, "noDefaultRoute", options: "families=v4")
    }

    @Test(.needs(.veth)) func `with both families IPv4 is reported`() throws {
        let host = try TestNamespace.oneWire()
        try host.addDefaultRoutes()
        try host.expect(.defaultPath, .routed, "gateway", gateway: "192.0.2.254")
        try host.expect(.defaultPath, .routed, "gateway", gateway: "2001:db8::254", options: "families=v6")
    }

    @Test(.needs(.veth)) func `the two halves of the address space are a default route`() throws {
        let host = try TestNamespace.oneWire()
        try host.ip("route add 0.0.0.0/1 via 192.0.2.254", "route add 128.0.0.0/1 via 192.0.2.254")
        try host.expect(.defaultPath, .routed, "gateway", gateway: "192.0.2.254", options: "families=v4")
        try host.expect("198.51.100.1", .routed, "gateway", through: "w0")
        try host.ip("-6 route add ::/1 via 2001:db8::254", "-6 route add 8000::/1 via 2001:db8::254")
        try host.expect(.defaultPath, .routed, "gateway", gateway: "2001:db8::254", options: "families=v6")
    }

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

    /// Linux before 5.3 refuses 0.0.0.1 with EINVAL; with this route every kernel does.
    @Test(.needs(.veth))
    func `where the kernel refuses 0.0.0.1 the default route is found by other addresses`() throws {
        let host = try TestNamespace.oneWire()
        try host.ip("route add blackhole 0.0.0.0/8")
        let network = try ObservedNetwork(host, ["default": .unreachable("noDefaultRoute")])
        let netflags = try TestNamespace.program("netflags")
        #expect(try host.run([netflags, "path"]).status == 1)
        #expect(try host.run([netflags, "wait", "--timeout", "0", "default"]).status == 1)
        // The first line makes the route that the second one reports.
        let watched = try host.run([
            "sh", "-c",
            "timeout 30 '\(netflags)' watch --count 2 default | "
                + "while read -r line; do echo \"$line\"; ip route replace default via 192.0.2.254; done",
        ]).output.split(separator: "\n")
        #expect(watched.count == 2, "\(watched)")
        #expect(watched.first?.contains("no default route") == true, "\(watched)")
        #expect(watched.last?.contains("192.0.2.254") == true, "\(watched)")
        try network.expect(["default": .routed("w0", via: "192.0.2.254")])
        let path = try host.run([netflags, "path", "--json"])
        #expect(path.status == 0 && path.output.contains("\"192.0.2.254\""), "\(path.output)")
        #expect(try host.run([netflags, "wait", "--timeout", "0", "default"]).status == 0)
        try host.ip("route del default")
        try network.expect(["default": .unreachable("noDefaultRoute")])
    }
}
