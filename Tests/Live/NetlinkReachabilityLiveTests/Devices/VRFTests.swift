// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

@Suite(.needs(.veth, .vrf))
struct VRFTests {
    @Test func `a wire in a VRF is reached by sockets that are bound to either`() throws {
        let host = try TestNamespace.twoWires()
        // Kernels differ in whether a packet of the VRF can leave it with a source of another interface.
        try host.ip("link add red type vrf table 500", "link set red up", "addr add 198.18.0.1/32 dev red")
        // A lookup that finds nothing in the table of the VRF continues with the main table. The socket gets no answer
        // that arrives outside of the VRF.
        let leaving = ObservedNetwork.Expected(flags: .direct, reason: "answerDropped", interface: "w0")
        let network = try ObservedNetwork(
            host,
            [
                "192.0.2.9": .direct("w0"), "192.0.2.9 interface=red": leaving,
                "192.0.2.9 interface=w0": .direct("w0"),
                "203.0.113.9": .direct("w1"),
                "203.0.113.9 source=192.0.2.1": .direct("w1"),
                "192.0.2.9 interface=w0 source=203.0.113.1": .direct("w0"),
            ])
        try host.ip("link set w0 master red")
        // The kernel moves the addresses of a port to the table of its VRF.
        // A socket binds to the addresses of its own VRF alone.
        try network.expect([
            "192.0.2.9": .unreachable("noRoute"), "192.0.2.9 interface=red": .direct("w0"),
            "203.0.113.9 source=192.0.2.1": .unreachable("notOwnAddress"),
            "192.0.2.9 interface=w0 source=203.0.113.1": .unreachable("notOwnAddress"),
        ])
        try host.setFarEnd(of: "w0", up: false)
        try network.expect([
            "192.0.2.9 interface=red": .unreachable("noCarrier"),
            "192.0.2.9 interface=w0": .unreachable("noCarrier"),
        ])
        try host.setFarEnd(of: "w0", up: true)
        try network.expect([
            "192.0.2.9 interface=red": .direct("w0"), "192.0.2.9 interface=w0": .direct("w0"),
        ])
        try host.ip("link set w0 nomaster")
        try network.expect([
            "192.0.2.9": .direct("w0"), "192.0.2.9 interface=red": leaving,
            "203.0.113.9 source=192.0.2.1": .direct("w1"),
            "192.0.2.9 interface=w0 source=203.0.113.1": .direct("w0"),
        ])
    }

    @Test func `a default route in a VRF serves its own sockets alone`() throws {
        let host = try TestNamespace.twoWires()
        try host.ip("link add red type vrf table 500", "link set red up", "link set w0 master red")
        // The last route of the table, without which lookups continue with the main table.
        try host.ip("route add unreachable default metric 4278198272 vrf red")
        let network = try ObservedNetwork(
            host,
            [
                "198.51.100.1": .unreachable("noRoute"),
                "198.51.100.1 interface=red": .unreachable("noRouteOutOfInterface"),
                "default": .unreachable("noDefaultRoute"),
            ])
        try host.ip("route add default via 192.0.2.254 vrf red")
        try network.expect(["198.51.100.1 interface=red": .routed("w0", via: "192.0.2.254")])
        try host.ip("route add default via 203.0.113.254")
        try network.expect([
            "198.51.100.1": .routed("w1", via: "203.0.113.254"),
            "default": .routed("w1", via: "203.0.113.254"),
        ])
        try host.ip("route del default vrf red")
        try network.expect(["198.51.100.1 interface=red": .unreachable("noRouteOutOfInterface")])
    }

    @Test func `an IPv6 socket whose route leaves its VRF has the source that connect gives`() throws {
        let host = try TestNamespace.twoWires()
        try host.ip(
            "link add red type vrf table 500", "link set red up", "addr add 2001:db8:5::1/64 dev red nodad",
            "link set w0 master red")
        for target in ["2001:db8:1::9", "2001:db8:5::1", "2001:db8:5::9"] {
            let answer = try host.ask(.host(target), ["interface=red"])
            #expect(answer.connect == "connects from \(answer.source)", "\(target): \(answer)")
            // A socket of the probe has no type of service.
            #expect(try host.ask(.host(target), ["interface=red", "tos=16"]).source == answer.source)
        }
    }

    @Test func `an IPv6 socket of a VRF without an address is refused where its route leaves the VRF`() throws
    {
        let host = try TestNamespace.twoWires()
        try host.ip(
            "link add red type vrf table 500", "link set red addrgenmode none", "link set red up",
            "-6 route add local 2001:db8:77::/48 dev lo")
        for target in ["2001:db8:1::9", "2001:db8:77::1"] {
            let answer = try host.ask(.host(target), ["interface=red"])
            #expect(
                answer.flags == .none && answer.connect.hasPrefix("refused with EADDRNOTAVAIL"),
                "\(target): \(answer)")
        }
    }
}
