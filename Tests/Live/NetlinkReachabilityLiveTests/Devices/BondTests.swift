// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

@Suite(.needs(.veth, .bond))
struct BondTests {
    @Test func `a bond is reachable while one of its ports has a carrier`() throws {
        let host = try TestNamespace()
        try host.wire("w0")
        try host.wire("w1")
        try host.ip(
            "link add bond0 type bond mode active-backup miimon 50", "addr add 192.0.2.1/24 dev bond0",
            "link set bond0 up")
        let network = try ObservedNetwork(
            host,
            [
                "192.0.2.9": .unreachable("noCarrier"), "198.51.100.1": .unreachable("noRoute"),
                "192.0.2.1": .own,
            ])
        for port in ["w0", "w1"] { try host.ip("link set \(port) down", "link set \(port) master bond0") }
        try host.wait(for: "bond0", state: "UP")
        try host.ip("route add default via 192.0.2.254")
        try network.expect([
            "192.0.2.9": .direct("bond0"), "198.51.100.1": .routed("bond0", via: "192.0.2.254"),
        ])
        try network.expectType("wiredEthernet", of: "192.0.2.9")
        try host.ip("link set w0-far down")
        try host.wait(for: "w0", state: "DOWN")
        try network.expect([:])
        try host.ip("link set w1-far down")
        try host.wait(for: "bond0", state: "DOWN")
        try network.expect([
            "192.0.2.9": .unreachable("noCarrier"), "198.51.100.1": .unreachable("noCarrier"),
        ])
        try host.ip("link set w1-far up")
        try host.wait(for: "bond0", state: "UP")
        try network.expect([
            "192.0.2.9": .direct("bond0"), "198.51.100.1": .routed("bond0", via: "192.0.2.254"),
        ])
    }
}
