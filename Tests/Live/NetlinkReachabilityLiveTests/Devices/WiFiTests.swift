// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestNamespaces
import Testing

@Suite(.needs(.radios))
struct WiFiTests {
    @Test func `a station is reachable while it is associated, and has the type wifi`() throws {
        let host = try TestNamespace()
        let accessPoint = try host.makePeer()
        let radios = try Capability.simulatedRadios()
        try move(radios[0], to: host)
        try move(radios[1], to: accessPoint)
        let station = try interface(in: host)
        let beacon = try interface(in: accessPoint)
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
            let log = try serve(on: beacon, in: accessPoint)
            try associate(station, in: host)
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

    /// Moves a radio from the namespace of this process to that of a host, where it is until the host ends.
    private func move(_ radio: String, to host: TestNamespace) throws {
        try host.shell("nsenter -t \(getpid()) -n iw phy \(radio) set netns \(host.processIdentifier)")
    }

    /// The name of the wireless interface in a namespace.
    private func interface(in host: TestNamespace) throws -> String {
        let shown = try host.shell("iw dev | awk '$1 == \"Interface\" { print $2 }'")
        return try #require(shown.split(separator: "\n").first.map(String.init))
    }

    /// Starts an access point for an open network.
    ///
    /// - Returns: The path of its log; the file with its process is beside it.
    private func serve(on interface: String, in host: TestNamespace) throws -> String {
        let log = "/tmp/access-point-\(host.processIdentifier)"
        let settings = ["interface=\(interface)", "driver=nl80211", "ssid=test", "hw_mode=g", "channel=1"]
        try host.shell(
            """
            printf '%s\\n' \(settings.joined(separator: " ")) >\(log).conf
            hostapd -B -P \(log).pid -f \(log) \(log).conf >/dev/null || { cat \(log); exit 1; }
            """)
        try host.wait(for: interface, state: "UP")
        return log
    }

    /// Associates a station, which can miss the first beacons.
    private func associate(_ station: String, in host: TestNamespace) throws {
        for attempt in 0..<20 {
            try host.shell("iw dev \(station) connect -w test 2412 || [ \(attempt) -lt 19 ]")
            if try host.ip("-o link show dev \(station)").contains("LOWER_UP") { break }
        }
        try host.wait(for: station, state: "UP")
    }
}
