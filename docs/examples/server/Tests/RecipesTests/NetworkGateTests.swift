// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkReachabilityTestKit
import Recipes
import Testing

@Suite
struct NetworkGateTests {
    private let network = SimulatedNetwork(.wired)
    private let host = "198.51.100.1"

    private func gate(_ patience: Duration = .zero) -> NetworkGate {
        var gate = NetworkGate()
        gate.source = network.source
        gate.patience = patience
        return gate
    }

    /// A request that is not answered.
    private func hang() async throws {
        try await Task.sleep(for: .seconds(3_600))
    }

    @Test("without a path a request fails at once, with the reason")
    func refuses() async throws {
        network.apply(.offline)
        let error = await #expect(throws: ReachabilityError.self) {
            try await gate()(to: host) { Issue.record("the request began") }
        }
        #expect(error?.code == .timedOut)
        #expect(error?.reason?.code == .noRoute)
    }

    @Test("a request waits for a path")
    func waits() async throws {
        network.apply(.offline)
        let request = Task { try await gate(.seconds(60))(to: host) { "answer" } }
        try await network.settle { network.listenerCount == 1 }
        network.apply(.wired)
        try await network.advance(by: .milliseconds(250))
        #expect(try await request.value == "answer")
    }

    @Test("an expensive path is refused where it may not be used")
    func cost() async throws {
        network.apply(.cellularOnly)
        var gate = gate()
        #expect(try await gate(to: host) { true })
        gate.allowsExpensive = false
        let error = await #expect(throws: NetworkGate.Refusal.self) {
            try await gate(to: host) { Issue.record("the request began") }
        }
        guard case .expensive = error else { throw try #require(error) }
    }

    @Test("a request ends when its address goes, and when the carrier is gone for longer than the patience")
    func loss() async throws {
        for (patience, change) in [
            (Duration.seconds(30), { try $0.removeAddress("192.0.2.2", from: "eth0") }),
            (.zero, { try $0.setCarrier("eth0", isPresent: false) }),
        ] as [(Duration, (inout SimulatedHost) throws -> Void)] {
            network.apply(.wired)
            try await network.settle()
            let request = Task { try await gate(patience)(to: host, hang) }
            try await network.settle { network.listenerCount == 2 }
            try network.change(change)
            try await network.advance(by: .seconds(1))
            let error = await #expect(throws: NetworkGate.Refusal.self) { try await request.value }
            guard case .lost = error else { throw try #require(error) }
        }
    }

    @Test("a request goes on when the carrier is back within the patience")
    func patience() async throws {
        let (finish, finished) = AsyncStream.makeStream(of: Void.self)
        let request = Task {
            try await gate(.seconds(30))(to: host) {
                for await _ in finish {}
                return "answer"
            }
        }
        try await network.settle { network.listenerCount == 2 }
        try network.change { try $0.setCarrier("eth0", isPresent: false) }
        try await network.advance(by: .seconds(10))
        try network.change { try $0.setCarrier("eth0", isPresent: true) }
        try await network.advance(by: .seconds(60))
        finished.finish()
        #expect(try await request.value == "answer")
    }

    @Test("a request ends when nothing answers any more")
    func silence() async throws {
        try network.change { try $0.addConversation(with: "198.51.100.7") }
        let request = Task { try await gate()(to: host, hang) }
        try await network.settle { network.listenerCount == 2 }
        try await network.advance(by: .seconds(5))
        network.change { $0.silence = .beyondGateway }
        try await network.advance(by: .seconds(20))
        let error = await #expect(throws: NetworkGate.Refusal.self) { try await request.value }
        guard case .silent = error else { throw try #require(error) }
    }

    @Test("an observer has the current path and each change")
    func observer() async throws {
        let observer = try PathObserver(source: network.source)
        #expect(observer.currentPath?.status == .satisfied)
        var paths = observer.updates().makeAsyncIterator()
        #expect(try await paths.next()?.status == .satisfied)
        network.apply(.offline)
        try await network.advance(by: .seconds(1))
        #expect(try await paths.next()?.status == .unsatisfied)
        #expect(observer.currentPath?.status == .unsatisfied)
    }
}
