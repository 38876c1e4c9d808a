// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

@Suite(.needs(.veth, .wireguard))
struct WireGuardTests {
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
        try host.ip("link add wg0 type wireguard", "link set wg0 up")
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
        try host.ip("link add wg0 type wireguard", "addr add 10.9.0.2/32 dev wg0", "link set wg0 up")
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
}
