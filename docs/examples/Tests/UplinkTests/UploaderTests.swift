// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkReachabilityTestKit
import Synchronization
import Testing
import Uplink

@Suite
struct UploaderTests {
    /// A server that counts requests and refuses the first ones.
    private final class Server: Sendable {
        private let counts: Mutex<(received: Int, refusals: Int)>

        init(refusals: Int = 0) {
            counts = Mutex((0, refusals))
        }

        var received: Int { counts.withLock { $0.received } }

        func receive() throws {
            try counts.withLock { counts in
                counts.received += 1
                if counts.received <= counts.refusals { throw Refusal() }
            }
        }
    }

    private struct Refusal: Error {}

    @Test("an upload waits until the host is reachable")
    func waits() async throws {
        let network = SimulatedNetwork(.offline)
        let server = Server()
        let uploader = try Uploader(to: "example.com", source: network.source) { try server.receive() }
        let upload = Task { try await uploader.upload() }
        // The task waits for flags.
        try await network.settle { network.listenerCount == 1 }
        try await network.advance(by: .seconds(299))
        #expect(server.received == 0)
        network.apply(.wired)
        try await upload.value
        #expect(server.received == 1)
    }

    @Test("an upload to an unreachable host fails after five minutes")
    func givesUp() async throws {
        let network = SimulatedNetwork(.offline)
        let uploader = try Uploader(to: "example.com", source: network.source) {}
        let upload = Task { try await uploader.upload() }
        try await network.settle { network.listenerCount == 1 }
        try await network.advance(by: .seconds(300))
        await #expect(throws: ReachabilityError.self) { try await upload.value }
    }

    @Test("a refused upload is retried after 10 s, then after 20 s")
    func retries() async throws {
        let network = SimulatedNetwork(.wired)
        let server = Server(refusals: 2)
        let uploader = try Uploader(to: "192.0.2.1", source: network.source, clock: network.clock) {
            try server.receive()
        }
        let upload = Task { try await uploader.upload() }
        try await network.settle { network.clock.sleeperCount == 1 }
        #expect(server.received == 1)
        try await network.advance(by: .seconds(10))
        try await network.settle { network.clock.sleeperCount == 1 }
        #expect(server.received == 2)
        try await network.advance(by: .seconds(20))
        try await upload.value
        #expect(server.received == 3)
    }
}
