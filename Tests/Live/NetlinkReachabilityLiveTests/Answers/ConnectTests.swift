// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

/// What connect(2) gives a socket, beside the flags, which are what the routes say.
struct ConnectTests {
    private func host() throws -> TestNamespace {
        let host = try TestNamespace.oneWire()
        try host.addDefaultRoutes()
        return host
    }

    @Test(
        .needs(.veth, .ipsecPolicies),
        arguments: [("198.51.100.7", "src 0.0.0.0/0"), ("2001:db8:f::7", "src ::/0")]
    )
    func `an IPsec policy that blocks refuses a socket and leaves the flags`(
        target: String,
        selector: String
    ) throws {
        let host = try host()
        let before = try host.ask(.host(target))
        #expect(before.flags == .routed && before.connect == "connects from \(before.source)")
        try host.ip("xfrm policy add dir out \(selector) dst \(target) action block")
        let blocked = try host.ask(.host(target))
        #expect(blocked.flags == .routed && blocked.flagsAlone == .routed)
        #expect(blocked.connect.hasPrefix("refused with EPERM: an IPsec policy"), "\(blocked)")
        // The first line had the reason of the route.
        #expect(blocked.reason == "socketRefused", "\(blocked)")
        try host.ip("xfrm policy flush")
        #expect(try host.ask(.host(target)) == before)
    }

    @Test(.needs(.veth)) func `a route that rejects refuses a socket`() throws {
        let host = try host()
        try host.ip("route add prohibit 198.51.100.0/24")
        let refused = try host.ask("198.51.100.7")
        #expect(refused.flags == .none && refused.connect.hasPrefix("refused with EACCES: a route"))
    }

    @Test(.needs(.veth)) func `a socket that cannot be made as the options say shows nothing`() throws {
        let host = try host()
        #expect(try host.ask("198.51.100.7", ["interface=w0"]).connect == "connects from 192.0.2.1")
        #expect(try host.ask("198.51.100.7", ["user=4242"]).connect == "")
        #expect(try host.ask("fe80::9").connect == "")
    }

    /// A guard for 0.0.0.1 and `::`, which once stood for the default path, left both without a result.
    @Test(.needs(.veth), arguments: [Query.defaultPath, .host("0.1.2.3")])
    func `a socket connects to an address of the default path, and to one in 0.0.0.0/8`(
        query: Query
    ) throws {
        #expect(try host().ask(query).connect == "connects from 192.0.2.1")
    }
}
