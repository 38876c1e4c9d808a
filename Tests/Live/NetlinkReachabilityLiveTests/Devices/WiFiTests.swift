// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

@Suite(.needs(.radios))
struct WiFiTests {
    @Test func `a station is reachable while it is associated, and has the type wifi`() throws {
        let host = try TestNamespace()
        let accessPoint = try host.makePeer()
        let (station, beacon) = try host.takeRadios(with: accessPoint)
        try host.ip("link set \(station) up", "addr add 192.0.2.2/24 dev \(station)")
        try host.ip("route add default via 192.0.2.1")
        let network = try ObservedNetwork(
            host,
            [
                "192.0.2.9": .unreachable("noCarrier"), "198.51.100.1": .unreachable("noCarrier"),
                "default": .unreachable("noCarrier"), "192.0.2.2": .own,
            ])
        let routed = ObservedNetwork.Expected.routed(station, via: "192.0.2.1")
        for _ in 0..<2 {
            let log = try accessPoint.serve("test", on: beacon)
            try host.associate(station, with: "test")
            try network.expect(["192.0.2.9": .direct(station), "198.51.100.1": routed, "default": routed])
            try network.expectType("wifi", of: "192.0.2.9")
            // The access point says goodbye when it ends.
            try accessPoint.shell("kill $(cat \(log).pid)")
            try host.wait(for: station, state: "DOWN")
            try network.expect([
                "192.0.2.9": .unreachable("noCarrier"), "198.51.100.1": .unreachable("noCarrier"),
                "default": .unreachable("noCarrier"),
            ])
        }
        try host.ip("link set \(station) down")
        try network.expect([
            "192.0.2.9": .unreachable("noRoute"), "198.51.100.1": .unreachable("noRoute"),
            "default": .unreachable("noDefaultRoute"),
        ])
    }
}
