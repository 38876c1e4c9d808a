// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkReachabilityTestKit
import NetlinkRecording
import Testing

struct NetworkStateTests {
    private static func network() throws -> SimulatedNetwork {
        let network = SimulatedNetwork()
        try network.change { host in
            for name in ["eth0", "eth1"] { try host.addInterface(name) }
            try host.addAddress("192.0.2.2", prefixLength: 24, to: "eth0")
            try host.addAddress("198.51.100.2", prefixLength: 24, to: "eth1")
            try host.addRoute(.default(via: "192.0.2.1"))
            try host.addRoute(.default(via: "198.51.100.1", metric: 10))
        }
        return network
    }

    @Test func `a change that is tried gives the answers of the same change made, and makes none`()
        async throws
    {
        let network = try Self.network()
        let targets = [ReachabilityTarget.defaultPath, .address(IPAddress(192, 0, 2, 9))]
        let before = network.networkState
        let after = try before.applying([NetworkState.Change("link set eth0 down")])
        func gateways(_ state: NetworkState) -> [String?] {
            state.answers(for: targets).map { try? $0.get().gateway?.description }
        }
        #expect(gateways(before) == ["192.0.2.1", nil])
        #expect(gateways(after) == ["198.51.100.1", "198.51.100.1"])
        #expect(gateways(network.networkState) == gateways(before))
        try network.change { try $0.setDown("eth0") }
        #expect(gateways(network.networkState) == gateways(after))
    }

    @Test func `a refusal names the change, and has the errno of the kernel`() throws {
        let state = try Self.network().networkState
        let change = try NetworkState.Change("route add default via 192.0.2.7")
        #expect(throws: NetworkState.Refusal.self) { try state.applying([change]) }
        do throws(NetworkState.Refusal) {
            _ = try state.applying([change])
        } catch {
            #expect(error.change == "route add default via 192.0.2.7")
            #expect(error.number == 17 && !error.isUnknown)
        }
        do throws(NetworkState.Refusal) {
            _ = try NetworkState.Change("route frobnicate default")
        } catch {
            #expect(error.number == nil && error.isUnknown)
            #expect(error.reason.contains("add, append, prepend"))
        }
    }
}
