// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkReachabilityTestKit
import Testing
import Uplink

@Suite
struct UplinkIndicatorTests {
    private let network = SimulatedNetwork(.wifi)
    private let indicator: UplinkIndicator

    init() throws {
        indicator = try UplinkIndicator(host: "example.com", source: network.source)
    }

    @Test("the lamp follows the network")
    func lamp() async throws {
        #expect(indicator.light == .red)
        try indicator.start()
        try await network.settle()
        #expect(indicator.light == .green)

        network.apply(.offline)
        try await network.settle()
        #expect(indicator.light == .red)

        network.apply(.cellularOnly)
        // A change within 100 ms of another is delivered at the end of the burst, a quarter of a second later.
        try await network.advance(by: .milliseconds(250))
        #expect(indicator.light == .yellow)
    }

    @Test("the test kit leaves the library's types as they are")
    func types() {
        #expect(IPAddress("nonsense") == nil)
    }

    @Test("the lamp is red while Wi-Fi is out of range, and green when it is back")
    func carrier() async throws {
        try indicator.start()
        try await network.settle()
        try network.change { try $0.setCarrier("wlan0", isPresent: false) }
        try await network.settle()
        #expect(indicator.light == .red)
        try await network.advance(by: .seconds(2))
        try network.change { try $0.setCarrier("wlan0", isPresent: true) }
        try await network.settle()
        #expect(indicator.light == .green)
    }

    @Test("a resolver that hangs does not change the lamp")
    func hangingResolver() async throws {
        network.change { $0.names["example.com"] = .hanging }
        try indicator.start()
        try await network.settle { network.hangingNameCount == 1 }
        #expect(indicator.light == .red)
        network.change { $0.names["example.com"] = .addresses("198.51.100.7") }
        try await network.settle()
        #expect(indicator.light == .green)
    }
}
