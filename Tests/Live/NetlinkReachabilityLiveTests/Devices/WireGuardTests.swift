// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import NetlinkReachability
import TestNamespaces
import Testing

@Suite(.needs(.veth, .wireguardPeers))
struct WireGuardTests {
    /// Makes `wg0`, with a peer for some addresses if there are any.
    private func addWireGuard(
        to host: TestNamespace, _ allowed: String = "", endpoint: String = "endpoint 192.0.2.9:51820"
    ) throws {
        try host.ip("link add wg0 type wireguard")
        try host.shell("wg genkey | wg set wg0 fwmark 51820 private-key /proc/self/fd/0")
        guard !allowed.isEmpty else { return }
        try host.shell("wg set wg0 peer $(wg genkey | wg pubkey) \(endpoint) allowed-ips \(allowed)")
    }

    @Test func `a tunnel to one network is transient, and the rest of the host is not`() throws {
        let host = try TestNamespace.oneWire()
        try host.addIPv4DefaultRoute()
        // Outside the tunnel its network is nowhere: the kernel announces a lost interface before its lost routes.
        try host.ip("route add unreachable 10.9.0.0/16")
        let network = try ObservedNetwork(
            host,
            [
                "10.9.0.9": .unreachable("unreachable"), "10.9.0.1": .unreachable("unreachable"),
                "198.51.100.1": .routed("w0", via: "192.0.2.254"), "2001:db8:9::9": .unreachable("noRoute"),
            ])
        try addWireGuard(to: host, "10.9.0.0/24,2001:db8:9::/64")
        try host.ip("link set wg0 up")
        try host.address("wg0", "10.9.0.1/24", "2001:db8:9::1/64")
        try network.expect([
            "10.9.0.9": .tunnelled("wg0"), "10.9.0.1": .own, "2001:db8:9::9": .tunnelled("wg0"),
        ])
        try network.expectType("other", of: "10.9.0.9")
        try host.ip("link set wg0 down")
        // The address stays the host's; its network goes with the interface.
        try network.expect([
            "10.9.0.9": .unreachable("unreachable"), "2001:db8:9::9": .unreachable("noRoute"),
        ])
        try host.ip("link del wg0")
        try network.expect(["10.9.0.1": .unreachable("unreachable")])
    }

    /// What `wg-quick` does for allowed addresses 0.0.0.0/0.
    @Test func `a full tunnel takes every socket but those of its mark`() throws {
        let host = try TestNamespace.oneWire()
        try host.addIPv4DefaultRoute()
        try addWireGuard(to: host, "0.0.0.0/0")
        try host.ip("addr add 10.9.0.2/32 dev wg0", "link set wg0 up")
        let wire = ObservedNetwork.Expected.routed("w0", via: "192.0.2.254")
        let network = try ObservedNetwork(
            host,
            [
                "198.51.100.1": wire, "default": wire, "192.0.2.9": .direct("w0"),
                "198.51.100.1 mark=51820": wire,
            ])
        try host.ip(
            "route add default dev wg0 table 51820", "rule add not fwmark 51820 table 51820",
            "rule add table main suppress_prefixlength 0")
        try network.expect(["198.51.100.1": .tunnelled("wg0"), "default": .tunnelled("wg0")])
        try host.ip("rule del table 51820", "rule del table main suppress_prefixlength 0")
        try network.expect(["198.51.100.1": wire, "default": wire])
    }

    /// What send(2) says to the sender of a datagram.
    private func sendError(_ host: TestNamespace, _ target: String) throws -> String {
        try host.run(["bash", "-c", "echo >/dev/udp/\(target)/9"]).output
    }

    /// connect(2) says nothing, send(2) ENOKEY.
    @Test func `a target that no peer has is not reachable, and the kernel refuses to send to it`() throws {
        let host = try TestNamespace.oneWire()
        try addWireGuard(to: host, "10.9.0.9/32,2001:db8:9::9/128")
        try host.ip("link set wg0 up")
        try host.address("wg0", "10.9.0.1/24", "2001:db8:9::1/64")
        try host.expect("10.9.0.255", .none, "noPeer", through: "wg0")
        for target in ["10.9.0.8", "2001:db8:9::8"] {
            try host.expect(.host(target), .none, "noPeer", through: "wg0")
            #expect(try sendError(host, target).contains("Required key not available"))
        }
        for target in ["10.9.0.9", "2001:db8:9::9"] {
            try host.expect(.host(target), .tunnelled, "pointToPoint", through: "wg0")
            #expect(try sendError(host, target) == "")
        }
        try host.shell("wg set wg0 peer $(wg show wg0 peers) allowed-ips 10.9.0.8/32")
        try host.expect("10.9.0.8", .tunnelled, "pointToPoint", through: "wg0")
        try host.expect("10.9.0.9", .none, "noPeer", through: "wg0")
    }

    /// connect(2) says nothing, send(2) EDESTADDRREQ.
    @Test func `a target whose peer has no endpoint waits until it has one`() throws {
        let host = try TestNamespace.oneWire()
        try addWireGuard(to: host, "10.9.0.0/24", endpoint: "")
        try host.ip("addr add 10.9.0.1/24 dev wg0", "link set wg0 up")
        let waiting: ReachabilityFlags = [.tunnelled, .connectionRequired]
        try host.expect("10.9.0.9", waiting, "tunnelWaits", through: "wg0")
        #expect(try sendError(host, "10.9.0.9").contains("Destination address required"))
        try host.shell("wg set wg0 peer $(wg show wg0 peers) endpoint 192.0.2.9:51820")
        try host.expect("10.9.0.9", .tunnelled, "pointToPoint", through: "wg0")
        #expect(try sendError(host, "10.9.0.9") == "")
    }

    /// The outer packet of the segments goes to an address that another peer has than the inner one.
    @Test(.needs(.segments)) func `the peer of an outer packet decides, and not that of the inner one`()
        throws
    {
        let host = try TestNamespace.twoWires()
        try addWireGuard(to: host, "2001:db8:9::/64")
        try host.shell(
            "wg set wg0 peer $(wg genkey | wg pubkey) endpoint 203.0.113.9:51820 allowed-ips 2001:db8:5::/48")
        try host.ip("link set wg0 up")
        try host.address("wg0", "2001:db8:9::1/64")
        try host.ip("-6 route add 2001:db8:5::/48 encap seg6 mode encap segs 2001:db8:9::9 dev wg0")
        try host.expect("2001:db8:5::1", .tunnelled, "encapsulated", through: "wg0")
        try host.ip("link set w1-far down")
        try host.wait(for: "w1", state: "DOWN")
        try host.expect("2001:db8:5::1", .tunnelled, "encapsulated", through: "wg0")
        try host.ip("link set w0-far down")
        try host.wait(for: "w0", state: "DOWN")
        let waiting: ReachabilityFlags = [.tunnelled, .connectionRequired]
        try host.expect("2001:db8:5::1", waiting, "tunnelWaits", through: "wg0")
    }
}
