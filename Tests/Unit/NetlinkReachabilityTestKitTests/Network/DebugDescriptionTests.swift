// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import Dispatch
import NetlinkReachability
import NetlinkReachabilityTestKit
import Testing

/// What a debugger and `String(reflecting:)` show of objects whose state is private.
struct DebugDescriptionTests {
    private let network = SimulatedNetwork(.wifi)

    @Test func `a handle shows its target, and an observation its value`() async throws {
        let handle = NetworkReachability(address: "203.0.113.7", source: network.source)
        #expect(String(reflecting: handle) == "NetworkReachability(203.0.113.7)")
        let observation = try handle.observe { _ in }
        try await network.settle()
        #expect(
            String(reflecting: observation) == "NetworkObservation(\(ReachabilityFlags.reachable.letters))")
        observation.cancel()
    }

    @Test func `a source shows how many receive its changes`() throws {
        let handle = NetworkReachability(address: "203.0.113.7", source: network.source)
        #expect(String(reflecting: network.source) == "NetworkSource(0 observed)")
        let observation = try handle.observe { _ in }
        #expect(String(reflecting: network.source) == "NetworkSource(1 observed)")
        observation.cancel()
    }
}
