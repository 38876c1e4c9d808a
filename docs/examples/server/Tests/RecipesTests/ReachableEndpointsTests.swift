// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkReachabilityTestKit
import Recipes
import Testing

@Suite
struct ReachableEndpointsTests {
    private let network = SimulatedNetwork()
    private let far = IPAddress(198, 51, 100, 1)
    private let near = IPAddress(192, 0, 3, 9)

    init() throws {
        try network.change { host in
            try host.addInterface("eth0")
            try host.addAddress("192.0.2.2", prefixLength: 24, to: "eth0")
            try host.addInterface("eth1")
            try host.addAddress("192.0.3.2", prefixLength: 24, to: "eth1")
            try host.addRoute(SimulatedRoute(to: "198.51.100.0/24", via: "192.0.2.1"))
            host.names["db.example"] = .addresses("198.51.100.1", "192.0.3.9")
        }
    }

    @Test("a list comes at first, and whenever other addresses can be reached")
    func changes() async throws {
        let lists = ReachableEndpoints(host: "db.example", source: network.source)
        let (stream, continuation) = AsyncStream.makeStream(of: [IPAddress].self)
        let task = Task {
            for try await list in lists { continuation.yield(list) }
        }
        var received = stream.makeAsyncIterator()
        #expect(await received.next() == [near, far])
        try await settled()
        try network.change { try $0.setCarrier("eth1", isPresent: false) }
        try await network.advance(by: .seconds(1))
        #expect(await received.next() == [far])
        try await settled()
        try network.change { try $0.setCarrier("eth0", isPresent: false) }
        try await network.advance(by: .seconds(1))
        #expect(await received.next() == [])
        try await settled()
        try network.change { try $0.setCarrier("eth1", isPresent: true) }
        try await network.advance(by: .seconds(1))
        #expect(await received.next() == [near])
        task.cancel()
        _ = await task.result
    }

    /// Waits until the order is followed.
    private func settled() async throws {
        try await network.settle { network.listenerCount == 1 }
    }
}
