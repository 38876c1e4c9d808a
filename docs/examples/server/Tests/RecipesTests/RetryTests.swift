// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import NIOCore
import NetlinkReachability
import NetlinkReachabilityTestKit
import Recipes
import Synchronization
import Testing

@Suite
struct RetryTests {
    private struct Refusal: Error {}

    @Test("nothing is sent until the target is reachable")
    func waits() async throws {
        let network = SimulatedNetwork(.offline)
        let reachability = try NetworkReachability(host: "198.51.100.1", source: network.source)
        let attempts = Counter()
        let task = Task {
            try await RetryPolicy()(whenReachable: reachability, clock: network.clock) {
                attempts.increment()
            }
        }
        try await network.settle { network.listenerCount == 1 }
        #expect(attempts.value == 0)
        network.apply(.wired)
        try await network.advance(by: .milliseconds(250))
        try await task.value
        #expect(attempts.value == 1)
    }

    @Test("a failed attempt is retried after a pause that doubles")
    func retries() async throws {
        let network = SimulatedNetwork(.wired)
        let reachability = try NetworkReachability(host: "198.51.100.1", source: network.source)
        let attempts = Counter()
        let task = Task {
            try await RetryPolicy()(whenReachable: reachability, clock: network.clock) {
                attempts.increment()
                if attempts.value < 3 { throw Refusal() }
            }
        }
        for (attempt, pause) in [(1, 500), (2, 1_000)] {
            try await network.settle { attempts.value == attempt && network.clock.sleeperCount == 1 }
            try await network.advance(by: .milliseconds(pause))
        }
        try await task.value
        #expect(attempts.value == 3)
    }

    @Test("the last failure is thrown")
    func givesUp() async throws {
        let network = SimulatedNetwork(.wired)
        let reachability = try NetworkReachability(host: "198.51.100.1", source: network.source)
        var policy = RetryPolicy()
        policy.attempts = 1
        await #expect(throws: Refusal.self) {
            try await policy(whenReachable: reachability) { throw Refusal() }
        }
    }

    @Test("AsyncHTTPClient throws if no server listens on the port")
    func client() async throws {
        let reachability = try NetworkReachability(host: "127.0.0.1", source: SimulatedNetwork(.wired).source)
        var policy = RetryPolicy()
        policy.attempts = 1
        // The client retries a refused connection until the deadline of the request.
        policy.requestTimeout = .milliseconds(200)
        // Port 1 is reserved, and its service is not used.
        let request = HTTPClientRequest(url: "http://127.0.0.1:1/")
        await #expect(throws: (any Error).self) {
            try await HTTPClient.shared.execute(request, whenReachable: reachability, retry: policy)
        }
    }
}

/// Counts attempts.
private final class Counter: Sendable {
    private let count = Mutex(0)

    var value: Int { count.withLock { $0 } }

    func increment() {
        count.withLock { $0 += 1 }
    }
}
