// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import Testing

@testable import NetlinkReachability

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

    /// The modes of the recorded ones are `any`.
    @Test func `recorded tunnels carry what their kernel sends through them`() throws {
        for (name, payloads) in [
            ("ipip9", [.ipv4, .labels]), ("tunl0", [.ipv4, .labels]), ("sit9", .all), ("ip6tnl9", .all),
            ("gre9", .all), ("ip6gre9", .all), ("vx0", .all),
        ] as [(String, TunnelPayloads)] {
            #expect(try #require(Self.links[name]?.tunnel).value.payloads == payloads, "\(name)")
        }
    }

    @Test(
        arguments: [
            ("ipip", 0, [.ipv4, .labels]), ("ipip", 4, .ipv4), ("ipip", 137, .labels), ("ipip", nil, .ipv4),
            ("ipip", 41, []), ("ip6tnl", 0, .all), ("ip6tnl", 4, .ipv4), ("ip6tnl", 41, .ipv6),
            ("ip6tnl", 137, .labels), ("ip6tnl", nil, .all), ("sit", 41, .all), ("gre", 41, .all),
        ] as [(String, UInt8?, TunnelPayloads)])
    func `the mode of a tunnel says which packets it carries, also one with external ends`(
        kind: String, ipProtocol: UInt8?, payloads: TunnelPayloads
    ) throws {
        let mode = ipProtocol.map { MessageBytes.attribute(9, [$0]) } ?? []
        // COLLECT_METADATA
        for external in [[], MessageBytes.attribute(kind == "gre" ? 18 : 19, [])] {
            let message = MessageBytes.link().adding(
                18,
                MessageBytes.attribute(1, Array("\(kind)\0".utf8))
                    + MessageBytes.attribute(2, mode + external))
            guard case .change(.link(let report)) = message.content else {
                Issue.record("another message was parsed")
                return
            }
            #expect(try #require(report.link.tunnel).value.payloads == payloads)
        }
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
