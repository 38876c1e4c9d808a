// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

/// What `--explain` says of the rules that led to a route, and of the path MTU that the route has learned.
@Suite(.needs(.veth))
struct ExplainedRouteTests {
    private func explained(_ arguments: [String], in host: TestNamespace) throws -> JSONValue {
        let run = try RunningNetflags(["--json", "--explain"] + arguments, in: host)
        let row = try #require(try run.row())
        _ = try run.end()
        return row
    }

    private static let selectors: [(String, [String])] = [
        ("from 192.0.2.0/24", ["--source", "192.0.2.1"]), ("to 203.0.113.0/24", []),
        ("not to 198.51.100.9", []),
        ("fwmark 0x7/0xff", ["--mark", "7"]), ("iif lo", []),
        ("ipproto tcp dport 443", ["--protocol", "tcp", "--port", "443"]),
        ("sport 4000-4010", ["--source-port", "4005"]), ("uidrange 4242-4243", ["--uid", "4242"]),
    ]

    @Test(arguments: selectors)
    func `the rule that decides is named as ip prints it, with those that were passed`(
        selector: String, options: [String]
    ) throws {
        let host = try TestNamespace()
        try host.wire("w0", "192.0.2.1/24")
        try host.ip(
            "rule add pref 90 lookup 76", "rule add \(selector) pref 100 lookup 77",
            "route add default via 192.0.2.254 table 77")
        let rules = try #require(try explained(options + ["203.0.113.9"], in: host)["rules"])
        let printed = try host.ip("rule show pref 100").split(whereSeparator: \.isWhitespace)
        #expect(printed.joined(separator: " ") == "100: \(rules["rule"]?.string ?? "")")
        #expect(rules["table"]?.number == 77)
        #expect(
            rules["passed"]
                == .array([.string("0: from all lookup local"), .string("90: from all lookup 76")]))
        #expect(rules["undecided"] == .array([]))
    }

    @Test func `text names the rules only where others than the standard ones count`() throws {
        let host = try TestNamespace()
        try host.wire("w0", "192.0.2.1/24")
        func text() throws -> String {
            try host.run([NetflagsProcess.path, "--explain", "192.0.2.9"]).output
        }
        #expect(try !text().contains("rules"))
        try host.ip("rule add pref 90 lookup 76")
        #expect(try text().contains("rules     32766: from all lookup main; passed 90: from all lookup 76"))
        try host.ip("rule add pref 95 to 192.0.2.9 prohibit")
        #expect(
            try text().contains("rules     95: from all to 192.0.2.9 prohibit; passed 90: from all lookup 76")
        )
    }

    @Test(arguments: [false, true])
    func `the path MTU that a router reports is shown, with its lifetime`(isIPv6: Bool) throws {
        let host = try TestNamespace()
        let router = try host.makePeer()
        let server = try router.makePeer()
        func address(_ network: Int, _ number: Int) -> String {
            isIPv6 ? "2001:db8:\(network)::\(number)" : "10.0.\(network).\(number)"
        }
        let length = isIPv6 ? "/64" : "/24"
        try host.wire("w0", address(1, 1) + length, to: router)
        try router.address("w0-far", address(1, 254) + length)
        try router.wire("w1", address(2, 254) + length, to: server)
        try server.address("w1-far", address(2, 9) + length)
        for name in ["net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"] { try router.set(name, "1") }
        try router.ip("link set w1 mtu 1400")
        try host.ip("route add default via \(address(1, 254))")
        let target = address(2, 9)
        #expect(try explained([target], in: host)["mtu"] == .null)
        // Linux sends UDP with the flag that forbids fragments.
        try host.wait(until: "the path MTU is learned") {
            _ = try host.run(["bash", "-c", "printf '%01440d' 0 > /dev/udp/\(target)/9"])
            return try explained([target], in: host)["mtu"] != .null
        }
        let learned = try #require(try explained([target], in: host)["mtu"])
        #expect(learned["mtu"]?.number == 1_400)
        #expect((1...600).contains(learned["seconds"]?.number ?? 0))
        let text = try host.run([NetflagsProcess.path, "--explain", target]).output
        #expect(text.contains("mtu       path MTU 1400, learned, expires in "), "\(text)")
        #expect(try explained([address(2, 10)], in: host)["mtu"] == .null)
    }
}
