// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

struct RuleTests {
    /// A host whose default routes are only in table 100.
    private func host() throws -> TestNamespace {
        let host = try TestNamespace.oneWire()
        try host.ip("route add default via 192.0.2.254 table 100")
        try host.ip("-6 route add default via 2001:db8::254 table 100")
        return host
    }

    @Test(.needs(.veth)) func `a default route counts only if a rule selects its table`() throws {
        let host = try host()
        try host.expect(.defaultPath, .none, "noDefaultRoute")
        try host.ip("rule add lookup 100 pref 500", "-6 rule add lookup 100 pref 500")
        try host.expect(.defaultPath, .routed, "gateway", gateway: "192.0.2.254")
        try host.expect("198.51.100.1", .routed, "gateway", through: "w0", gateway: "192.0.2.254")
        try host.expect("2001:db8:f::1", .routed, "gateway", through: "w0", gateway: "2001:db8::254")
        try host.ip("rule del pref 500", "-6 rule del pref 500")
        try host.expect(.defaultPath, .none, "noDefaultRoute")
    }

    /// Whether there is such a rule is cached until the kernel notifies of one.
    @Test(.needs(.veth))
    func `a rule about the source that the kernel selects applies from its addition to its removal`() throws {
        let host = try TestNamespace.oneWire()
        try host.expect("192.0.2.9", .direct, "onLink", through: "w0")
        for _ in 0..<2 {
            try host.ip("rule add from 192.0.2.0/24 pref 100 prohibit")
            try host.expect("192.0.2.9", .none, "refusedByRule")
            try host.ip("rule del pref 100")
            try host.expect("192.0.2.9", .direct, "onLink", through: "w0")
        }
    }

    @Test(.needs(.veth)) func `a rule for a mark applies to sockets with that mark`() throws {
        let host = try host()
        try host.ip("rule add fwmark 7 lookup 100", "-6 rule add fwmark 7 lookup 100")
        for target in ["198.51.100.1", "2001:db8:f::1"] {
            try host.expect(.host(target), .none, "noRoute")
            try host.expect(.host(target), .none, "noRoute", options: "mark=8")
            try host.expect(.host(target), .routed, "gateway", options: "mark=7")
        }
        try host.expect(.defaultPath, .routed, "gateway", options: "mark=7")
    }

    /// The rule is for user 0, the user of the tests inside the namespace.
    @Test(.needs(.veth)) func `a rule for a user applies to that user`() throws {
        let host = try host()
        try host.ip("rule add uidrange 0-0 lookup 100", "-6 rule add uidrange 0-0 lookup 100")
        for target in ["198.51.100.1", "2001:db8:f::1"] {
            try host.expect(.host(target), .routed, "gateway", through: "w0")
            try host.expect(.host(target), .routed, "gateway", options: "user=0")
            try host.expect(.host(target), .none, "noRoute", options: "user=1234")
        }
    }

    @Test(.needs(.veth)) func `a rule for a source applies to sockets bound to it`() throws {
        let host = try host()
        try host.address("w0", "192.0.2.2/24", "2001:db8::2/64")
        try host.ip("rule add from 192.0.2.2 lookup 100", "-6 rule add from 2001:db8::2 lookup 100")
        for (target, plain, chosen) in [
            ("198.51.100.1", "192.0.2.1", "192.0.2.2"), ("2001:db8:f::1", "2001:db8::1", "2001:db8::2"),
        ] {
            // An IPv6 socket selects the newest address and looks up again with it.
            if plain == "192.0.2.1" {
                try host.expect(.host(target), .none, "noRoute")
            } else {
                try host.expect(.host(target), .routed, "gateway")
            }
            try host.expect(.host(target), .none, "noRoute", options: "source=\(plain)")
            try host.expect(.host(target), .routed, "gateway", options: "source=\(chosen)")
            try host.expect(.pair(local: chosen, remote: target), .routed, "gateway", through: "w0")
            try host.expect(.pair(local: plain, remote: target), .none, "noRoute")
        }
    }

    @Test(.needs(.veth)) func `a rule for an interface applies to sockets bound to it`() throws {
        let host = try host()
        try host.ip("rule add oif w0 lookup 100", "-6 rule add oif w0 lookup 100")
        for target in ["198.51.100.1", "2001:db8:f::1"] {
            try host.expect(.host(target), .none, "noRoute")
            try host.expect(.host(target), .routed, "gateway", options: "interface=w0")
        }
    }

    @Test(.needs(.veth, .tun)) func `the rules of a full tunnel send all but marked packets into it`() throws
    {
        let host = try TestNamespace.oneWire()
        try host.addDefaultRoutes()
        try host.tunnel("t0", "10.9.0.1/32")
        try host.ip("route add default dev t0 table 51820")
        try host.ip("rule add not fwmark 51820 lookup 51820")
        try host.ip("rule add lookup main suppress_prefixlength 0")
        try host.expect("198.51.100.1", .tunnelled, "pointToPoint", through: "t0")
        try host.expect("198.51.100.1", .routed, "gateway", options: "mark=51820")
        try host.expect("192.0.2.9", .direct, "onLink", through: "w0")
    }
}
