// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import NetlinkReachability
import NetlinkReachabilityTestKit
import Testing

struct InterfaceKindTests {
    @Test(
        arguments: [
            (.ethernet, "up"), (.wifi, "up"), (.tunnel, "up"), (.tap, "up"), (.bridge, "up"),
            (.cellular, "unknown"), (.wireGuard, "unknown"), (.ppp, "unknown"), (.dummy, "unknown"),
        ] as [(InterfaceKind, String)]
    )
    func `an interface that works has the state that its driver reports`(
        kind: InterfaceKind, state: String
    ) async throws {
        let network = SimulatedNetwork()
        try network.change { host in
            try host.addInterface("x0", kind)
            if kind == .bridge { try host.addInterface("port0", bridge: "x0") }
            try host.addAddress("192.0.2.2", prefixLength: 24, to: "x0")
        }
        let handle = NetworkReachability(address: "192.0.2.9", source: network.source)
        let report = try await handle.report()
        #expect(report.interface?.name == "x0")
        #expect(report.findings.first?.interfaceState?.operationalState == state)
    }
}
