// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

/// Hosts that have ports of a switch, stacked on the interface to the switch: the conduit, `eth0`.
///
/// A port has a carrier of its own, as a macvlan has with `protodown`. Its driver closes it with the conduit, as the
/// kernel closes VLANs.
struct SwitchTests {
    @Test(.needs(.veth, .protodown)) func `a port has a carrier of its own, and needs its conduit's`() throws
    {
        let host = try TestNamespace()
        let fabric = try Self.connect(host)
        try Self.addPort("lan0", to: host)
        try Self.addPort("wan", to: host)
        try host.address("lan0", "192.0.2.1/24", "2001:db8::1/64")
        try host.ip("addr add 203.0.113.1/24 dev wan", "route add default via 203.0.113.254")
        let routed = ObservedNetwork.Expected.routed("wan", via: "203.0.113.254")
        let network = try ObservedNetwork(
            host, ["192.0.2.9": .direct("lan0"), "2001:db8::9": .direct("lan0"), "default": routed])
        try network.expectType("wiredEthernet", of: "192.0.2.9")
        try Self.setCarrier(of: "lan0", on: host, isPresent: false)
        try network.expect(["192.0.2.9": .unreachable("noCarrier"), "2001:db8::9": .unreachable("noCarrier")])
        try host.ip("link set wan down")
        try network.expect(["default": .unreachable("noDefaultRoute")])
        try Self.setCarrier(of: "lan0", on: host, isPresent: true)
        try host.ip("link set wan up")
        try host.wait(for: "wan", state: "UP")
        try host.ip("route add default via 203.0.113.254")
        try network.expect([
            "192.0.2.9": .direct("lan0"), "2001:db8::9": .direct("lan0"), "default": routed,
        ])
        let losses = [(fabric, "eth0-far", "lowerNoCarrier"), (host, "eth0", "lowerInterfaceDown")]
        for (side, end, reason) in losses {
            try side.ip("link set \(end) down")
            for port in ["lan0", "wan"] { try host.wait(for: port, state: "DOWN") }
            // The cable of one port is plugged in, which Linux 7.3 does not show before the conduit works.
            try host.ip("link set lan0 protodown on", "link set lan0 protodown off")
            let hasCarrier = try host.ip("-o link show dev lan0").contains("LOWER_UP")
            if hasCarrier { try host.wait(for: "lan0", state: "UP") }
            let unreachable = ObservedNetwork.Expected.unreachable(hasCarrier ? reason : "noCarrier")
            try network.expect([
                "192.0.2.9": unreachable, "2001:db8::9": unreachable, "default": .unreachable("noCarrier"),
            ])
            // The kernel notifies about the conduit, and not about a port that has a carrier already.
            try side.ip("link set \(end) up")
            for name in ["eth0", "lan0", "wan"] { try host.wait(for: name, state: "UP") }
            try network.expect([
                "192.0.2.9": .direct("lan0"), "2001:db8::9": .direct("lan0"), "default": routed,
            ])
        }
    }

    @Test(.needs(.veth, .protodown, .vlan, .vlanFiltering))
    func `a VLAN on a bridge of ports is reachable while one of them has a carrier`() throws {
        let host = try TestNamespace()
        let fabric = try Self.connect(host)
        try host.ip("link add br0 type bridge vlan_filtering 1")
        try host.shell("bridge vlan add dev br0 vid 10 self")
        for port in ["lan0", "lan1"] {
            try Self.addPort(port, to: host)
            try host.ip("link set \(port) master br0")
            try host.shell("bridge vlan add dev \(port) vid 10 pvid untagged")
        }
        try host.ip("link set br0 up", "link add link br0 name br0.10 type vlan id 10", "link set br0.10 up")
        try host.wait(for: "br0.10", state: "UP")
        try host.ip("addr add 192.0.2.1/24 dev br0.10", "route add default via 192.0.2.254")
        let reachable = [
            "192.0.2.9": ObservedNetwork.Expected.direct("br0.10"),
            "default": .routed("br0.10", via: "192.0.2.254"),
        ]
        let unreachable = reachable.mapValues { _ in ObservedNetwork.Expected.unreachable("noCarrier") }
        let network = try ObservedNetwork(
            host,
            [
                "192.0.2.9": .direct("br0.10"), "default": .routed("br0.10", via: "192.0.2.254"),
                "192.0.2.1": .own,
            ])
        try network.expectType("wiredEthernet", of: "192.0.2.9")
        try Self.setCarrier(of: "lan0", on: host, isPresent: false)
        try network.expect([:])
        // The one port that is left has no carrier.
        try host.ip("link set lan1 nomaster")
        try host.wait(for: "br0.10", state: "DOWN")
        try network.expect(unreachable)
        try Self.setCarrier(of: "lan0", on: host, isPresent: true)
        try host.wait(for: "br0.10", state: "UP")
        try network.expect(reachable)
        for (side, name) in [(host, "lan0"), (host, "eth0"), (fabric, "eth0-far")] {
            try side.ip("link set \(name) down")
            try host.wait(for: "br0.10", state: "DOWN")
            try network.expect(unreachable)
            try side.ip("link set \(name) up")
            try host.wait(for: "br0.10", state: "UP")
            try network.expect(reachable)
        }
    }

    @Test(.needs(.veth, .vlan)) func `ports that close with their conduit take their routes along`() throws {
        let host = try TestNamespace()
        try host.wire("eth0")
        try host.ip("link add link eth0 name lan0 type vlan id 1", "link set lan0 up")
        try host.wait(for: "lan0", state: "UP")
        try host.ip("addr add 192.0.2.1/24 dev lan0", "route add default via 192.0.2.254")
        let network = try ObservedNetwork(
            host, ["192.0.2.9": .direct("lan0"), "default": .routed("lan0", via: "192.0.2.254")])
        try host.ip("link set eth0 down")
        try network.expect(["192.0.2.9": .unreachable("noRoute"), "default": .unreachable("noDefaultRoute")])
        try host.ip("link set eth0 up", "link set lan0 up")
        try host.wait(for: "lan0", state: "UP")
        try network.expect(["192.0.2.9": .direct("lan0")])
    }

    /// Connects a host to a switch, which has a namespace of its own.
    private static func connect(_ host: TestNamespace) throws -> TestNamespace {
        let fabric = try host.makePeer()
        try host.wire("eth0", to: fabric)
        return fabric
    }

    /// Adds a port that is up and has a carrier.
    private static func addPort(_ name: String, to host: TestNamespace) throws {
        try host.ip("link add link eth0 name \(name) type macvlan", "link set \(name) up")
        try host.wait(for: name, state: "UP")
    }

    /// Removes or restores the carrier of a port.
    private static func setCarrier(of port: String, on host: TestNamespace, isPresent: Bool) throws {
        try host.ip("link set \(port) protodown \(isPresent ? "off" : "on")")
        try host.wait(for: port, state: isPresent ? "UP" : "DOWN")
    }
}
