// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

@Suite(.needs(.veth, .tun, .mounts))
struct LivePathTests {
    private func host(_ resolvConf: String = "nameserver 192.0.2.53\n") throws -> TestNamespace {
        try .withResolver(resolvConf)
    }

    private func path(in host: TestNamespace) throws -> (json: JSONValue, status: Int) {
        let result = try host.run([NetflagsProcess.path, "path", "--json"])
        return (try row(result.output), result.status)
    }

    /// The only line of an output.
    private func row(_ output: String) throws -> JSONValue {
        let lines = output.split(separator: "\n")
        try #require(lines.count == 1, "\(output)")
        return try #require(JSONValue(lines[0]), "\(output)")
    }

    /// A path in one line.
    private func words(_ json: JSONValue) -> String {
        let interfaces = (json["interfaces"]?.elements ?? []).map { interface in
            let mark = interface["isUsed"] == .bool(true) ? "*" : ""
            return "\(mark)\(interface["name"]?.string ?? ""):\(interface["type"]?.string ?? "")"
        }
        let gateways = (json["gateways"]?.elements ?? []).map { "via \($0.string ?? "")" }
        let traits = ["supportsIPv4", "supportsIPv6", "supportsDNS", "isExpensive", "isConstrained"]
            .filter { json[$0] == .bool(true) }
        return ([json["status"]?.string ?? "?"] + interfaces + gateways + traits).joined(separator: " ")
    }

    private func expect(
        _ expected: String,
        in host: TestNamespace,
        status: Int = 0,
        at location: SourceLocation = #_sourceLocation
    ) throws {
        let (json, found) = try path(in: host)
        #expect(words(json) == expected, sourceLocation: location)
        #expect(found == status, sourceLocation: location)
        #expect(json["error"] == .null, sourceLocation: location)
        // check finds the same flags.
        let check = try host.run([NetflagsProcess.path, "--json", "default"])
        let answer = try row(check.output)
        #expect(json["letters"] == answer["letters"], sourceLocation: location)
        #expect(json["reason"] == answer["reason"], sourceLocation: location)
        #expect(check.status == status, sourceLocation: location)
    }

    @Test func `without an interface there is no path`() throws {
        let host = try host()
        try expect("unsatisfied", in: host, status: 1)
        #expect(try path(in: host).json["unsatisfiedReason"] == .string("notAvailable"))
        try host.wire("w0", "192.0.2.1/24")
        try expect("unsatisfied", in: host, status: 1)
    }

    @Test func `wired only`() throws {
        let host = try host()
        try host.wire("w0", "192.0.2.1/24", "2001:db8::1/64")
        try host.ip("route add default via 192.0.2.254", "-6 route add default via 2001:db8::254")
        try expect(
            "satisfied *w0:wiredEthernet via 192.0.2.254 via 2001:db8::254 "
                + "supportsIPv4 supportsIPv6 supportsDNS",
            in: host)
        #expect(try path(in: host).json["unsatisfiedReason"] == .null)
    }

    @Test func `two interfaces are in the order of their metrics`() throws {
        let host = try host()
        try host.wire("w0", "192.0.2.1/24")
        try host.wire("w1", "203.0.113.1/24")
        try host.ip("route add default via 192.0.2.254 metric 600")
        try host.ip("route add default via 203.0.113.254 metric 100")
        try expect(
            "satisfied *w1:wiredEthernet w0:wiredEthernet via 203.0.113.254 via 192.0.2.254 "
                + "supportsIPv4 supportsDNS",
            in: host)
        try host.ip("route add default via 192.0.2.254 metric 50")
        try expect(
            "satisfied *w0:wiredEthernet w1:wiredEthernet via 192.0.2.254 via 203.0.113.254 "
                + "supportsIPv4 supportsDNS",
            in: host)
        // The kernel keeps the route of an unplugged cable.
        try host.ip("link set w0-far down")
        try host.wait(for: "w0", state: "DOWN")
        try expect("unsatisfied w1:wiredEthernet via 203.0.113.254", in: host, status: 1)
    }

    @Test func `IPv6 only, with a link-local router`() throws {
        let host = try host("nameserver 2001:db8:53::53\n")
        try host.wire("w0", "2001:db8::1/64", "fe80::2/64")
        try host.ip("-6 route add default via fe80::1 dev w0")
        try expect("satisfied *w0:wiredEthernet via fe80::1%w0 supportsIPv6 supportsDNS", in: host)
    }

    @Test(arguments: ["nameserver 2001:db8::53\n", "nameserver 198.18.0.53\n"])
    func `without a name server that packets can leave to, there is no DNS`(resolvConf: String) throws {
        let host = try host(resolvConf)
        try host.wire("w0", "192.0.2.1/24")
        try host.ip("route add default via 192.0.2.254", "route add unreachable 198.18.0.0/15")
        try expect("satisfied *w0:wiredEthernet via 192.0.2.254 supportsIPv4", in: host)
    }

    /// Without a name server the C library asks 127.0.0.1.
    @Test(arguments: ["nameserver 127.0.0.1\n", "", "search example.com\n"])
    func `a name server on this host counts while there is a path`(resolvConf: String) throws {
        let host = try host(resolvConf)
        try expect("unsatisfied", in: host, status: 1)
        try host.wire("w0", "192.0.2.1/24")
        try host.ip("route add default via 192.0.2.254")
        try expect("satisfied *w0:wiredEthernet via 192.0.2.254 supportsIPv4 supportsDNS", in: host)
    }

    @Test func `a tunnel with the default route`() throws {
        let host = try host()
        try host.wire("w0", "192.0.2.1/24")
        try host.ip("route add default via 192.0.2.254 metric 100")
        try host.tunnel("tun0", "10.8.0.2/24")
        try host.ip("route add default dev tun0 metric 50")
        try expect(
            "satisfied *tun0:other w0:wiredEthernet via 192.0.2.254 supportsIPv4 supportsDNS", in: host)
        // The rules of a VPN that marks its own packets.
        try host.ip(
            "route del default dev tun0", "route add default dev tun0 table 77",
            "rule add not fwmark 77 table 77", "rule add table main suppress_prefixlength 0"
        )
        try expect(
            "satisfied *tun0:other w0:wiredEthernet via 192.0.2.254 supportsIPv4 supportsDNS", in: host)
    }

    @Test func `all nexthops of a multipath route are used`() throws {
        let host = try host()
        try host.wire("w0", "192.0.2.1/24")
        try host.wire("w1", "203.0.113.1/24")
        try host.ip("route add default nexthop via 203.0.113.254 nexthop via 192.0.2.254")
        try expect(
            "satisfied *w0:wiredEthernet *w1:wiredEthernet via 192.0.2.254 via 203.0.113.254 "
                + "supportsIPv4 supportsDNS",
            in: host)
    }

    @Test func `interfaces without a default route are not listed`() throws {
        let host = try host()
        try host.wire("w0", "192.0.2.1/24")
        try host.ip("route add default via 192.0.2.254")
        let script = """
            for i in $(seq 100); do echo link add v$i type veth peer name p$i; \
            echo link set v$i up; echo link set p$i up; done > /mnt/batch; ip -batch /mnt/batch
            """
        #expect(try host.run(["sh", "-c", script]).status == 0)
        try expect("satisfied *w0:wiredEthernet via 192.0.2.254 supportsIPv4 supportsDNS", in: host)
    }
}
