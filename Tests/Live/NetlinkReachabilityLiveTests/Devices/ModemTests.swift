// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import NetlinkReachability
import TestNamespaces
import Testing

struct ModemTests {
    /// The kernel's gadget driver plays the modem: one end is the modem's interface, the other its radio side.
    @Test(.needs(.modem))
    func `a USB modem is cellular and transient, and reachable while its far side is up`() throws {
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

    @Test(.needs(.wwan))
    func `an interface of the kind wwan is cellular, a tunnel, and reachable while it is up`() throws {
        let host = try TestNamespace()
        let device = try Capability.simulatedWWAN()
        try host.ip("link add dev m0 parentdev \(device) type wwan linkid 7", "addr add 10.64.0.5/30 dev m0")
        let network = try ObservedNetwork(
            host,
            [
                "10.64.0.6": .unreachable("noRoute"), "2001:db8:f::1": .unreachable("noRoute"),
                "default": .unreachable("noDefaultRoute"),
            ])
        let cellular = ObservedNetwork.Expected(
            flags: [.tunnelled, .isWWAN], reason: "pointToPoint", interface: "m0")
        try host.ip("link set m0 up")
        try network.expect(["10.64.0.6": cellular])
        try network.expectType("cellular", of: "10.64.0.6")
        try host.address("m0", "2001:db8::5/64")
        try host.ip("route add default dev m0", "-6 route add default dev m0")
        try network.expect(["2001:db8:f::1": cellular, "default": cellular])
        try host.ip("link set m0 down")
        let noRoute = ObservedNetwork.Expected.unreachable("noRoute")
        try network.expect([
            "10.64.0.6": noRoute, "2001:db8:f::1": noRoute, "default": .unreachable("noDefaultRoute"),
        ])
        try host.ip("link set m0 up", "route add default dev m0")
        try network.expect(["10.64.0.6": cellular, "default": cellular])
        try host.ip("link del m0")
        try network.expect(["10.64.0.6": noRoute, "default": .unreachable("noDefaultRoute")])
    }
}
