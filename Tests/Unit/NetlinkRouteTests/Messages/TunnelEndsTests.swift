// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import Testing

@testable import NetlinkRoute

/// IFLA_LINKINFO of tunnels, against what `ip -d link` showed when they were recorded.
struct TunnelEndsTests {
    private static let links = Dictionary(
        uniqueKeysWithValues: Fixture(name: "zoo-up.rtnl").links.map { ($0.name, $0) })

    @Test(
        arguments: [
            ("gnv0", "192.0.2.1", nil), ("gre9", "192.0.2.1", "192.0.2.2"),
            ("gretap9", "192.0.2.1", "192.0.2.2"), ("ip6gre9", "2001:db8:1::1", "2001:db8:1::2"),
            ("ipip9", "192.0.2.1", "192.0.2.2"), ("sit9", "192.0.2.1", "192.0.2.2"),
            ("ip6tnl9", "2001:db8:1::1", "2001:db8:1::2"),
            // They have no remote end.
            ("gre0", nil, nil), ("sit0", nil, nil), ("tunl0", nil, nil), ("ip6tnl0", nil, nil),
            ("vx0", nil, nil),
        ] as [(String, String?, String?)])
    func `the ends of a tunnel are those that ip shows`(name: String, remote: String?, local: String?) throws
    {
        let ends = try #require(Self.links[name]?.ends)
        #expect(ends.remote?.description == remote)
        #expect(ends.local?.description == local)
    }

    @Test func `a vxlan is bound to the wire`() throws {
        let wire = try #require(Self.links["eth0"]?.index)
        #expect(Self.links["vx0"]?.ends?.link == wire)
        #expect(Self.links["gre9"]?.ends?.link == 0)
    }

    @Test func `a vxlan and a geneve keep the mark of the packets inside, and have a port`() throws {
        #expect(Self.links["vx0"]?.ends?.mark == nil)
        #expect(Self.links["vx0"]?.ends?.destinationPort == 4_789)
        #expect(Self.links["gnv0"]?.ends?.mark == nil)
        #expect(Self.links["gnv0"]?.ends?.destinationPort == 6_081)
        #expect(Self.links["gre9"]?.ends?.mark == 0)
        #expect(Self.links["gre9"]?.ends?.destinationPort == nil)
    }

    @Test(arguments: ["wg9", "tun9", "vti9", "vti69", "xf0"])
    func `the ends of other tunnels are not shown`(name: String) throws {
        let link = try #require(Self.links[name])
        #expect(link.isTunnel)
        #expect(link.ends == nil)
    }

    @Test(arguments: ["lo", "eth0", "br9", "vl0", "dummy0", "bnd9", "vrf9"])
    func `other interfaces are no tunnels`(name: String) throws {
        #expect(try !#require(Self.links[name]).isTunnel)
    }
}
