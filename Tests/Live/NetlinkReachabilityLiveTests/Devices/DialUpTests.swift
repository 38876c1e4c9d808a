// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import NetlinkReachability
import TestNamespaces
import Testing

@Suite(.needs(.veth, .ppp), .serialized)
struct DialUpTests {
    @Test func `a link that dials is reachable once the protocol is up, until it hangs up`() throws {
        let host = try TestNamespace.oneWire()
        let network = try ObservedNetwork(
            host,
            [
                "10.8.0.1": .unreachable("noRoute"), "198.51.100.1": .unreachable("noRoute"),
                "10.8.0.2": .unreachable("noRoute"),
            ])
        let session = try DialUpSession(host, "nodefaultroute", "noipv6")
        try waitForPeer(on: host)
        try network.expect(["10.8.0.1": .tunnelled("ppp0"), "10.8.0.2": .own])
        try network.expectType("other", of: "10.8.0.1")
        try host.ip("route add default dev ppp0")
        try network.expect(["198.51.100.1": .tunnelled("ppp0")])
        try session.hangUp()
        try host.wait(until: "ppp0 is gone") { try !host.ip("-o link show").contains("ppp0") }
        try network.expect([
            "10.8.0.1": .unreachable("noRoute"), "198.51.100.1": .unreachable("noRoute"),
            "10.8.0.2": .unreachable("noRoute"),
        ])
    }

    @Test func `a link on demand needs a connection, which the first packet establishes`() throws {
        let host = try TestNamespace.oneWire()
        let network = try ObservedNetwork(host, ["198.51.100.1": .unreachable("noRoute")])
        let session = try DialUpSession(
            host, "demand", "noipv6", "nodefaultroute", "ipcp-accept-local", "ipcp-accept-remote")
        try host.wait(until: "pppd waits for traffic") {
            try host.ip("-o -4 addr show").contains("peer 10.112.112.112")
        }
        try host.wait(until: "ppp0 is up") { try host.ip("-o link show dev ppp0").contains("LOWER_UP") }
        try host.ip("route add default dev ppp0")
        let waiting = ObservedNetwork.Expected(
            flags: [.tunnelled, .connectionRequired, .connectionOnTraffic], reason: "notDialled",
            interface: "ppp0")
        try network.expect(["198.51.100.1": waiting])
        _ = try host.run(["bash", "-c", "echo >/dev/udp/198.51.100.1/9"])
        try waitForPeer(on: host)
        // The kernel removes all routes when pppd replaces the addresses.
        try network.expect(["198.51.100.1": .unreachable("noRoute")], afterOthers: true)
        try host.ip("route add default dev ppp0")
        try network.expect(["198.51.100.1": .tunnelled("ppp0")])
        try session.hangUp()
        try host.wait(until: "ppp0 is gone") { try !host.ip("-o link show").contains("ppp0") }
        try network.expect(["198.51.100.1": .unreachable("noRoute")])
    }

    /// Waits until the interface has the negotiated addresses and is up, which pppd does one after the other.
    private func waitForPeer(on host: TestNamespace) throws {
        try host.wait(until: "the peer has answered") {
            // The interface can be missing yet.
            let links = try host.ip("-o link show").split(separator: "\n")
            return try host.ip("-o -4 route show table all").contains("10.8.0.1 dev ppp0 ")
                && links.contains { $0.contains(" ppp0: ") && $0.contains("LOWER_UP") }
        }
    }
}
