// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

struct RejectionTests {
    /// A rejecting route type, and the reason in the report.
    struct Refusal: Sendable, CustomStringConvertible {
        var word: String
        var reason: String
        var description: String { word }

        init(_ word: String, _ reason: String) {
            self.word = word
            self.reason = reason
        }
    }

    private func host() throws -> TestNamespace {
        let host = try TestNamespace.oneWire()
        try host.addDefaultRoutes()
        return host
    }

    @Test(
        .needs(.veth),
        arguments: [
            Refusal("blackhole", "blackhole"), Refusal("prohibit", "prohibited"),
            Refusal("unreachable", "unreachable"), Refusal("throw", "noRoute"),
        ]
    )
    func `a rejecting route makes only its addresses unreachable`(refusal: Refusal) throws {
        let host = try host()
        try host.expect("198.51.100.1", .routed, "gateway")
        try host.ip("route add \(refusal.word) 198.51.100.0/24")
        try host.ip("-6 route add \(refusal.word) 2001:db8:f::/48")
        try host.expect("198.51.100.1", .none, refusal.reason)
        try host.expect("2001:db8:f::1", .none, refusal.reason)
        try host.expect("198.51.101.1", .routed, "gateway", through: "w0")
        try host.expect("2001:db8:e::1", .routed, "gateway", through: "w0")
        try host.ip("route del \(refusal.word) 198.51.100.0/24")
        try host.ip("-6 route del \(refusal.word) 2001:db8:f::/48")
        try host.expect("198.51.100.1", .routed, "gateway", through: "w0")
        try host.expect("2001:db8:f::1", .routed, "gateway", through: "w0")
    }

    /// The routes that refuse are listed once for all of the targets.
    @Test(.needs(.veth)) func `each of several targets names the route that refuses it`() throws {
        let host = try host()
        let refusals = [
            ("198.51.100.1", "the route 198.51.100.0/24 in table main says unreachable"),
            ("198.51.100.130", "the route 198.51.100.128/25 in table main prohibits it"),
            ("2001:db8:f::1", "the route 2001:db8:f::/48 in table main drops it (blackhole)"),
        ]
        try host.ip(
            "route add unreachable 198.51.100.0/24", "route add prohibit 198.51.100.128/25",
            "-6 route add blackhole 2001:db8:f::/48")
        let program = [try TestNamespace.program("netflags")]
        let lines = try host.run(program + refusals.map(\.0)).output.split(separator: "\n")
        for (line, (target, reason)) in zip(lines, refusals) {
            #expect(line.hasPrefix(target) && line.contains(reason), "\(line)")
        }
        #expect(lines.count == refusals.count)
    }

    /// The kernel gives the same answer for an unreachable rule and for a missing route, and the reason was "no route".
    @Test(.needs(.veth), arguments: ["blackhole", "prohibit", "unreachable"])
    func `a rejecting rule makes only its addresses unreachable, and the reason names it`(action: String)
        throws
    {
        let host = try host()
        try host.ip("rule add to 198.51.100.0/24 \(action) pref 400")
        try host.ip("-6 rule add to 2001:db8:f::/48 \(action) pref 400")
        for (target, prefix) in [("198.51.100.1", "198.51.100.0/24"), ("2001:db8:f::1", "2001:db8:f::/48")] {
            try host.expect(.host(target), .none, "refusedByRule")
            let text = try host.ask(.host(target)).text
            #expect(text.hasPrefix("the rule 400 (to \(prefix)) "), "\(text)")
        }
        try host.expect("198.51.101.1", .routed, "gateway", through: "w0")
        try host.expect("2001:db8:e::1", .routed, "gateway", through: "w0")
        try host.ip("rule del pref 400", "-6 rule del pref 400")
        try host.expect("198.51.100.1", .routed, "gateway", through: "w0")
        try host.expect("2001:db8:f::1", .routed, "gateway", through: "w0")
    }

    @Test(.needs(.veth)) func `a throw in one table lets the next rule decide`() throws {
        let host = try host()
        try host.ip("route add throw 198.51.100.0/24 table 100", "route add blackhole default table 100")
        try host.ip("rule add lookup 100")
        try host.expect("198.51.100.1", .routed, "gateway", through: "w0")
        try host.expect("198.51.101.1", .none, "blackhole")
        let text = try host.ask("198.51.101.1").text
        #expect(text == "the route 0.0.0.0/0 in table 100 drops it (blackhole)")
    }
}
