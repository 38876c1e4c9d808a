// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import NetlinkReachability
import TestNamespaces
import Testing

/// Interfaces and routes on top of a wire.
struct LayeredLinkTests {
    private static let wire = ObservedNetwork.Expected.direct("w0")

    @Test(.needs(.veth, .vlan)) func `a VLAN is Ethernet, and has the carrier of its wire`() throws {
        let host = try TestNamespace.oneWire()
        let network = try ObservedNetwork(
            host, ["198.51.100.9": .unreachable("noRoute"), "default": .unreachable("noDefaultRoute")])
        try host.ip(
            "link add link w0 name w0.7 type vlan id 7", "addr add 198.51.100.1/24 dev w0.7",
            "link set w0.7 up")
        try host.wait(for: "w0.7", state: "UP")
        try host.ip("route add default via 198.51.100.254")
        let routed = ObservedNetwork.Expected.routed("w0.7", via: "198.51.100.254")
        try network.expect(["198.51.100.9": .direct("w0.7"), "default": routed])
        try network.expectType("wiredEthernet", of: "198.51.100.9")
        try host.setFarEnd(of: "w0", up: false)
        try host.wait(for: "w0.7", state: "DOWN")
        try network.expect(["198.51.100.9": .unreachable("noCarrier"), "default": .unreachable("noCarrier")])
        try host.setFarEnd(of: "w0", up: true)
        try host.wait(for: "w0.7", state: "UP")
        try network.expect(["198.51.100.9": .direct("w0.7"), "default": routed])
        try host.ip("link del w0.7")
        try network.expect([
            "198.51.100.9": .unreachable("noRoute"), "default": .unreachable("noDefaultRoute"),
        ])
    }

    /// The kernel can drop the packets of the fourth ("Dead loop on virtual device"); older ones send them.
    @Test(.needs(.veth, .vxlan))
    func `what is said to leave through tunnels in each other arrives, and through three it does`() throws {
        let host = try TestNamespace.oneWire()
        try host.ip("neigh add 192.0.2.9 lladdr 02:00:00:00:00:09 dev w0")
        var below = "192.0.2"
        for number in 1...5 {
            let name = "t\(number)"
            try host.ip(
                "link add \(name) type vxlan id \(number) local \(below).1 remote \(below).9 "
                    + "dstport \(4_000 + number)",
                "link set \(name) up", "addr add 10.0.\(number).1/24 dev \(name)",
                "neigh add 10.0.\(number).9 lladdr 02:00:00:00:00:09 dev \(name)")
            below = "10.0.\(number)"
        }
        let targets = (1...5).map { "10.0.\($0).9" }
        let arrivals = try host.arrivals(at: "w0-far", of: targets)
        #expect([3, targets.count].contains(arrivals.count))
        for (depth, target) in targets.enumerated() {
            let answer = try host.ask(.host(target))
            let isReachable = !answer.flags.contains(.connectionRequired)
            #expect(isReachable == (answer.reason == "onLink") && isReachable == (depth < 3), "\(answer)")
            #expect(arrivals.contains(target) || !isReachable, "\(answer)")
        }
    }

    @Test(.needs(.veth, .xfrm)) func `an IPsec interface is a tunnel, whose wire carries other packets`()
        throws
    {
        let host = try TestNamespace.oneWire()
        let network = try ObservedNetwork(
            host,
            [
                "10.9.0.9": .unreachable("noRoute"), "2001:db8:9::9": .unreachable("noRoute"),
                "192.0.2.9": Self.wire,
            ])
        try host.ip("link add x0 type xfrm dev w0 if_id 7", "link set x0 up")
        try host.address("x0", "10.9.0.1/24", "2001:db8:9::1/64")
        try network.expect(["10.9.0.9": .tunnelled("x0"), "2001:db8:9::9": .tunnelled("x0")])
        try host.setFarEnd(of: "w0", up: false)
        try host.wait(for: "w0", state: "DOWN")
        // The packets of x0 take the route to the remote end of an IPsec state, wherever that leads.
        try network.expect([
            "10.9.0.9": .tunnelled("x0"), "2001:db8:9::9": .tunnelled("x0"),
            "192.0.2.9": .unreachable("noCarrier"),
        ])
        try host.setFarEnd(of: "w0", up: true)
        try network.expect([
            "10.9.0.9": .tunnelled("x0"), "2001:db8:9::9": .tunnelled("x0"), "192.0.2.9": Self.wire,
        ])
    }

    @Test(.needs(.veth, .mpls))
    func `a route that pushes MPLS labels leads through its gateway, and routes of labels are ignored`()
        throws
    {
        let host = try TestNamespace.oneWire()
        let network = try ObservedNetwork(
            host, ["198.51.100.1": .unreachable("noRoute"), "2001:db8:f::1": .unreachable("noRoute")])
        try host.ip(
            "route add 198.51.100.0/24 encap mpls 100/200 via 192.0.2.254",
            "-6 route add 2001:db8:f::/48 encap mpls 300 via 2001:db8::254")
        try network.expect([
            "198.51.100.1": .encapsulated("w0", via: "192.0.2.254"),
            "2001:db8:f::1": .encapsulated("w0", via: "2001:db8::254"),
        ])
        try host.set("net/mpls/platform_labels", "1000")
        try host.ip(
            "-M route add 100 via inet 192.0.2.254",
            "-M route add 101 as 102 via inet6 2001:db8::254")
        try network.expect([:])
        try host.ip("route del 198.51.100.0/24")
        try network.expect(["198.51.100.1": .unreachable("noRoute")])
    }
}
