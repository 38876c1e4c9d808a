// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
import TestNamespaces
import Testing

/// A USB modem that the kernel's gadget driver plays: one end is the modem's interface, the other its radio side.
@Suite("Modems", .needs(.modem))
struct ModemTests {
    @Test("a modem is cellular and transient, and reachable while its far side is up")
    func modem() throws {
        // sysfs shows the namespace that it was mounted in, and has the only mark of a USB modem.
        let host = try TestNamespace(.networkAndMounts)
        let interfaces = try Capability.simulatedModem()
        for name in [interfaces.modem, interfaces.gadget] {
            try host.shell("nsenter -t \(getpid()) -n ip link set \(name) netns \(host.processIdentifier)")
        }
        try host.shell("mount -t sysfs sysfs /sys")
        let (modem, gadget) = (interfaces.modem, interfaces.gadget)
        // The far side reports the connection when it comes up, to a modem that listens.
        try host.ip("link set \(modem) up", "link set \(gadget) up", "addr add 10.64.0.5/30 dev \(modem)")
        try host.wait(until: "\(modem) has a carrier") {
            try host.ip("-o link show dev \(modem)").contains("LOWER_UP")
        }
        let cellular = ObservedNetwork.Expected(
            flags: [.direct, .transientConnection, .isWWAN], reason: "onLink", interface: modem)
        let network = try ObservedNetwork(
            host, ["10.64.0.6": cellular, "198.51.100.1": .unreachable("noRoute"), "10.64.0.5": .own])
        try network.expectType("cellular", of: "10.64.0.6")
        try host.ip("route add default via 10.64.0.6")
        try network.expect([
            "198.51.100.1": ObservedNetwork.Expected(
                flags: [.tunnelled, .isWWAN], reason: "gateway", interface: modem, gateway: "10.64.0.6")
        ])
        try host.ip("link set \(modem) down")
        try network.expect(["198.51.100.1": .unreachable("noRoute"), "10.64.0.6": .unreachable("noRoute")])
        // The interfaces outlive the namespace in the first one.
        for name in [modem, gadget] { try host.ip("link set \(name) down") }
    }
}
