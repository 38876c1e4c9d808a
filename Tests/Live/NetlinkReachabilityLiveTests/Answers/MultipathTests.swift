// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import NetlinkReachability
import TestNamespaces
import Testing

struct MultipathTests {
    /// Two wires, and in each family one route with a nexthop over each of them.
    ///
    /// The kernel chooses one by the addresses (policy 0), or by the ports too (1).
    private func host(policy: Int) throws -> TestNamespace {
        let host = try TestNamespace.twoWires()
        for family in ["ipv4", "ipv6"] {
            try host.set("net/\(family)/fib_multipath_hash_policy", "\(policy)")
        }
        try host.ip(
            "route add 198.51.100.0/24 nexthop via 192.0.2.254 dev w0 nexthop via 203.0.113.254 dev w1",
            "-6 route add 2001:db8:f::/48 nexthop via 2001:db8::254 dev w0 nexthop via 2001:db8:1::254 dev w1"
        )
        return host
    }

    /// The addresses behind the two routes, without the last number.
    private static let bothFamilies = ["198.51.100.", "2001:db8:f::"]

    /// Expects the same answer over this wire for many addresses.
    ///
    /// The kernel distributes them over all nexthops by a hash, also over those without a carrier.
    private func expect(
        _ host: TestNamespace,
        _ flags: ReachabilityFlags,
        _ reason: String,
        through wire: String,
        among prefixes: [String] = bothFamilies,
        at location: SourceLocation = #_sourceLocation
    ) throws {
        var strays: [Answer] = []
        for target in prefixes.flatMap({ prefix in (1...40).map { "\(prefix)\($0)" } }) {
            let answer = try host.ask(.host(target))
            let isAsExpected =
                answer.flags == flags && answer.flagsAlone == flags && answer.reason == reason
                && answer.interface == wire
            if !isAsExpected { strays.append(answer) }
        }
        #expect(strays.isEmpty, sourceLocation: location)
    }

    // MARK: By the addresses

    /// What the library says about many addresses, those of both wires.
    private func answers(_ host: TestNamespace) throws -> [String: Answer] {
        var answers: [String: Answer] = [:]
        for target in Self.bothFamilies.flatMap({ prefix in (1...40).map { "\(prefix)\($0)" } }) {
            answers[target] = try host.ask(.host(target))
        }
        return answers
    }

    /// All packets of an address take one nexthop, also a dead one, and the flags had been those of the best.
    @Test(.needs(.veth)) func `an address is as reachable as the nexthop of its packets`() throws {
        let host = try host(policy: 0)
        // IPv6 chooses no nexthop whose gateway has failed to answer.
        for neighbour in [
            "192.0.2.254 dev w0", "2001:db8::254 dev w0", "203.0.113.254 dev w1", "2001:db8:1::254 dev w1",
        ] {
            try host.ip("neigh add \(neighbour) lladdr 02:00:00:00:00:01")
        }
        try host.setFarEnd(of: "w0", up: false)
        let answers = try answers(host)
        for (target, answer) in answers {
            #expect(answer.flagsAlone == answer.flags && answer.witness == "", "\(target): \(answer)")
            let expected: (ReachabilityFlags, String) =
                answer.interface == "w1" ? (.routed, "gateway") : (.none, "noCarrier")
            #expect(answer.flags == expected.0 && answer.reason == expected.1, "\(target): \(answer)")
        }
        let reachable = Set(answers.filter { $0.value.flags == .routed }.keys)
        for prefix in Self.bothFamilies {
            #expect(Set(answers.filter { $0.key.hasPrefix(prefix) }.map(\.value.interface)) == ["w0", "w1"])
        }
        #expect(try host.arrivals(at: "w1-far", of: answers.keys.sorted()) == reachable)
        try host.setFarEnd(of: "w1", up: false)
        #expect(try self.answers(host).values.allSatisfy { $0.flags == .none && $0.reason == "noCarrier" })
    }

    @Test(.needs(.veth)) func `the default path leaves through each nexthop, and says that not all do`()
        throws
    {
        let host = try TestNamespace.twoWires()
        try host.ip("route add default nexthop via 192.0.2.254 dev w0 nexthop via 203.0.113.254 dev w1")
        try host.expect(.defaultPath, .routed, "gateway", through: "w0")
        try host.setFarEnd(of: "w0", up: false)
        try host.expect(.defaultPath, .routed, "someConnections", through: "w1")
    }

    /// The packets of one source address are refused, and the default path had been undecided: a report left it out
    /// where the other half of the addresses has another route.
    @Test(.needs(.veth)) func `a rule that refuses packets of one nexthop leaves some of the default path`()
        throws
    {
        let host = try TestNamespace.twoWires()
        try host.ip(
            "route add default nexthop via 192.0.2.254 dev w0 nexthop via 203.0.113.254 dev w1",
            "rule add pref 70 from 192.0.2.1 unreachable")
        let answers = try (1...40).map { try host.ask("193.0.0.\($0)") }
        #expect(answers.allSatisfy { $0.witness == "" })
        #expect(Set(answers.map(\.reason)) == ["gateway", "refusedByRule"])
        try host.expect(.defaultPath, .routed, "someConnections", through: "w0")
        let text = try host.ask(.defaultPath).text
        #expect(text.hasSuffix(", but the rule 70 (from 192.0.2.1/32) says unreachable"), "\(text)")
        try host.ip("route add 0.0.0.0/1 via 203.0.113.254 dev w1")
        try host.expect(.defaultPath, .routed, "gateway", through: "w1")
        let findings = try host.ask(.defaultPath).findings
        #expect(findings.contains { $0.contains("206.0.0.1") }, "\(findings)")
        try host.ip("rule add pref 71 from 203.0.113.1 unreachable")
        try host.expect(.defaultPath, .none)
    }

    /// The kernel skips a dead nexthop, and the answer to a query without a binding lists it.
    @Test(.needs(.veth), arguments: ["tos=0", "tos=16"])
    func `a socket that is bound to the interface of a dead nexthop has no route`(tos: String) throws {
        let host = try TestNamespace.twoWires()
        try host.ip(
            "-6 route add 2001:db8:f::/48 nexthop via 2001:db8::9 dev w0 nexthop via 2001:db8:1::9 dev w1",
            "link set w1 down")
        let answer = try host.ask("2001:db8:f::9", ["interface=w1", tos])
        #expect(answer.flags == .none && answer.reason == "noRouteOutOfInterface", "\(answer)")
    }

    // MARK: By the ports

    @Test(.needs(.veth)) func `with two usable nexthops the answer always names the lower index`() throws {
        let host = try host(policy: 1)
        try expect(host, .routed, "gateway", through: "w0")
        #expect(try host.ask("198.51.100.1").gateway == "192.0.2.254")
        #expect(try host.ask("2001:db8:f::1").gateway == "2001:db8::254")
    }

    @Test(.needs(.veth)) func `without the carrier of one nexthop some connections leave`() throws {
        let host = try host(policy: 1)
        try host.setFarEnd(of: "w0", up: false)
        try expect(host, .routed, "someConnections", through: "w1")
        try host.setFarEnd(of: "w1", up: false)
        try expect(host, .none, "noCarrier", through: "w0")
        try host.setFarEnd(of: "w1", up: true)
        try expect(host, .routed, "someConnections", through: "w1")
        try host.setFarEnd(of: "w0", up: true)
        try expect(host, .routed, "gateway", through: "w0")
    }

    @Test(.needs(.veth)) func `dead nexthops are ignored, and with none left nothing is reachable`() throws {
        let host = try host(policy: 1)
        try host.ip("link set w0 down")
        try expect(host, .routed, "gateway", through: "w1")
        try host.ip("link set w1 down")
        try host.expect("198.51.100.1", .none, "noRoute")
        try host.expect("2001:db8:f::1", .none, "noRoute")
    }

    /// Its address made that of the default path unknown where a rule looks at sources.
    @Test(.needs(.veth)) func `a dead nexthop gives no packet its source`() throws {
        let host = try TestNamespace.twoWires()
        try host.set("net/ipv4/conf/all/ignore_routes_with_linkdown", "1")
        try host.ip(
            "route add default nexthop via 192.0.2.254 dev w0 nexthop via 203.0.113.254 dev w1",
            "rule add pref 41 from 203.0.113.1 lookup 701")
        try host.setFarEnd(of: "w0", up: false)
        let answer = try host.ask(.defaultPath)
        #expect(answer.interface == "w1" && answer.source == "203.0.113.1", "\(answer)")
    }

    @Test(.needs(.veth), arguments: [0, 1])
    func `a bound socket uses only the nexthop of its interface`(policy: Int) throws {
        let host = try host(policy: policy)
        for target in ["198.51.100.1", "2001:db8:f::1"] {
            try host.expect(.host(target), .routed, "gateway", through: "w0", options: "interface=w0")
            try host.expect(.host(target), .routed, "gateway", through: "w1", options: "interface=w1")
        }
        try host.setFarEnd(of: "w1", up: false)
        for target in ["198.51.100.1", "2001:db8:f::1"] {
            try host.expect(.host(target), .routed, "gateway", through: "w0", options: "interface=w0")
            try host.expect(.host(target), .none, options: "interface=w1")
        }
    }

    @Test(.needs(.veth)) func `a dormant nexthop counts less than one that is up`() throws {
        let host = try host(policy: 1)
        try host.ip("link set w0 state dormant")
        try expect(host, .routed, "someConnections", through: "w1")
        try host.ip("link set w1 state dormant")
        let waiting: ReachabilityFlags = [.routed, .connectionRequired]
        try expect(host, waiting, "dormant", through: "w0")
        try host.setFarEnd(of: "w0", up: false)
        try expect(host, waiting, "dormant", through: "w1")
    }
}
