// SPDX-License-Identifier: Apache-2.0

import Foundation
import NetlinkReachability
import NetlinkReachabilityTestKit
import Testing

@testable import LinuxNetwork

/// A tree like sysfs: Wi-Fi interfaces have their switches below their radio, modems have theirs in the class.
private final class SysfsTree {
    let path = "\(NSTemporaryDirectory())sysfs-\(UUID().uuidString)"
    var switches: RadioSwitches { RadioSwitches(classes: path) }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    func add(_ folder: String, _ files: [String: String]) throws {
        try FileManager.default.createDirectory(
            atPath: "\(path)/\(folder)", withIntermediateDirectories: true)
        for (name, text) in files {
            try Data("\(text)\n".utf8).write(to: URL(fileURLWithPath: "\(path)/\(folder)/\(name)"))
        }
    }
}

struct RadioSwitchesTests {
    private let tree = SysfsTree()
    private let wlan0 = NetworkInterface(index: 3, name: "wlan0", type: .wifi)
    private let wlan1 = NetworkInterface(index: 4, name: "wlan1", type: .wifi)
    private let wwan0 = NetworkInterface(index: 5, name: "wwan0", type: .cellular)

    private func reason(
        _ interfaces: NetworkInterface...,
        required type: NWInterface.InterfaceType? = nil
    ) -> NWPath.UnsatisfiedReason {
        tree.switches.reason(interfaces) { type == nil || type == $0 }
    }

    @Test(arguments: [("1", "0"), ("0", "1"), ("1", "1")])
    func `a Wi-Fi radio that is switched off is the reason`(soft: String, hard: String) throws {
        try tree.add("net/wlan0/phy80211/rfkill0", ["soft": soft, "hard": hard])
        #expect(reason(wlan0) == .wifiDenied)
        #expect(reason(wlan0, required: .wifi) == .wifiDenied)
        #expect(reason(wlan0, required: .wiredEthernet) == .notAvailable)
    }

    @Test func `a radio that is on is not a reason, nor is one without a switch`() throws {
        try tree.add("net/wlan0/phy80211/rfkill0", ["soft": "0", "hard": "0"])
        #expect(reason(wlan0) == .notAvailable)
        #expect(reason(wlan1) == .notAvailable)
        #expect(reason() == .notAvailable)
    }

    @Test func `all radios must be off`() throws {
        try tree.add("net/wlan0/phy80211/rfkill0", ["soft": "1", "hard": "0"])
        try tree.add("net/wlan1/phy80211/rfkill1", ["soft": "0", "hard": "0"])
        #expect(reason(wlan0) == .wifiDenied)
        #expect(reason(wlan0, wlan1) == .notAvailable)
    }

    @Test func `a modem that is switched off is the reason`() throws {
        try tree.add("rfkill/rfkill0", ["type": "wlan", "soft": "0", "hard": "0"])
        try tree.add("rfkill/rfkill1", ["type": "wwan", "soft": "1", "hard": "0"])
        #expect(reason(wwan0) == .cellularDenied)
        #expect(reason(wwan0, required: .wifi) == .notAvailable)
        #expect(reason(wlan0) == .notAvailable)
    }

    @Test func `only an unsatisfied path has a reason`() throws {
        let network = SimulatedNetwork(.wifi)
        let radios = RadioFacts(unsatisfiedReason: { .wifiDenied })
        let monitor = NWPathMonitor(.init(), network.source, radios)
        #expect(monitor.currentPath.unsatisfiedReason == .notAvailable)
        try network.change { try $0.setCarrier("wlan0", isPresent: false) }
        #expect(monitor.currentPath.status == .unsatisfied)
        #expect(monitor.currentPath.unsatisfiedReason == .wifiDenied)
    }
}
