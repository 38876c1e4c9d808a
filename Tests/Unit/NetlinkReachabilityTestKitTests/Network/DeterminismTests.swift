// SPDX-License-Identifier: Apache-2.0

import Dispatch
import NetlinkReachability
import NetlinkReachabilityTestKit
import SystemSupport
import TestSupport
import Testing

/// The same script leads to the same calls, every time.
struct DeterminismTests {
    /// A script that uses every feature; returns all flags that handles and a loop receive, with times.
    private func story() async throws -> [String] {
        let network = SimulatedNetwork(.wifi)
        let log = FlagsLog()
        let clock = network.clock
        let targets = ["203.0.113.80", "192.0.2.1", "example.com"]
        let handles = try targets.map { try NetworkReachability(host: $0, source: network.source) }
        var observations: [NetworkObservation<ReachabilityFlags>] = []
        defer { for observation in observations { observation.cancel() } }
        for (target, handle) in zip(targets, handles) {
            observations.append(
                try handle.observe { log.append($0, after: "\(target) \(clock.now.offset) ") })
            try await network.settle()
        }
        let path = NetworkReachability(target: .defaultPath, source: network.source)
        let loop = Task {
            for try await flags in path.updates { log.append("loop \(clock.now.offset) \(flags.letters)") }
        }
        try await network.settle { log.all.contains { $0.hasPrefix("loop") } }
        // A loop that has not waited for an element yet is not waited for.
        for (count, condition) in [(2, NetworkCondition.offline), (3, .wifi)] {
            network.apply(condition)
            try await network.settle { log.all.count { $0.hasPrefix("loop") } == count }
            try await network.advance(by: .seconds(1))
        }
        try network.change { try $0.setCarrier("wlan0", isPresent: false) }
        try await network.settle()
        try network.change { try $0.setCarrier("wlan0", isPresent: true) }
        try await network.advance(by: .seconds(3))
        network.apply(.captiveDNS)
        try await network.advance(by: .seconds(2))
        network.apply(.flappingWiFi)
        try await network.advance(by: .seconds(8))
        try network.changeLosingNotifications { try $0.removeInterface("wlan0") }
        try await network.advance(by: .seconds(3))
        loop.cancel()
        try await loop.value
        return log.take().sorted()
    }

    @Test func `a script reports the same each time`() async throws {
        let first = try await story()
        #expect(first.count > 20)
        for round in 1..<Rounds.of(1_000) {
            let again = try await story()
            try #require(again == first, "round \(round)")
        }
    }

    @Test func `once settled, a handler has returned, each time`() async throws {
        let network = SimulatedNetwork(.wired)
        let reachability = NetworkReachability(target: .defaultPath, source: network.source)
        let isOnline = Locked(false)
        let observation = try reachability.observe { result in
            if case .success(let flags) = result {
                isOnline.withLock { $0 = isNetworkReachable(flags: flags) }
            }
        }
        for round in 0..<Rounds.of(1_000) {
            network.apply(round.isMultiple(of: 2) ? .offline : .wired)
            try await network.advance(by: .milliseconds(250))
            try #require(isOnline.withLock { $0 } == !round.isMultiple(of: 2), "round \(round)")
        }
        withExtendedLifetime(observation) {}
    }

    @Test func `once settled, a loop waits again, each time`() async throws {
        let network = SimulatedNetwork(.wired)
        let reachability = NetworkReachability(target: .defaultPath, source: network.source)
        let isOnline = Locked<Bool?>(nil)
        let loop = Task {
            for try await flags in reachability.updates {
                await Task.yield()
                isOnline.withLock { $0 = isNetworkReachable(flags: flags) }
            }
        }
        try await network.settle { isOnline.withLock { $0 } == true }
        for round in 0..<Rounds.of(1_000) {
            network.apply(round.isMultiple(of: 2) ? .offline : .wired)
            try await network.advance(by: .milliseconds(250))
            try #require(isOnline.withLock { $0 } == !round.isMultiple(of: 2), "round \(round)")
        }
        loop.cancel()
        try await loop.value
    }

    @Test func `an iterator that is not awaited does not prevent settling`() async throws {
        let network = SimulatedNetwork(.wired)
        let reachability = NetworkReachability(target: .defaultPath, source: network.source)
        var iterator = reachability.updates.makeAsyncIterator()
        #expect(try await iterator.next() == .reachable)
        network.apply(.offline)
        try await network.settle()
        #expect(try await iterator.next() == [])
    }

    @Test func `settling ends with an error that names a handler that does not return`() async throws {
        let network = SimulatedNetwork(.wired)
        let reachability = NetworkReachability(target: .defaultPath, source: network.source)
        let gate = DispatchSemaphore(value: 0)
        let observation = try reachability.observe(on: .queue(DispatchQueue(label: "gate"))) { _ in
            gate.wait()
        }
        let error = await #expect(throws: SimulationError.self) {
            try await network.settle(within: .milliseconds(50))
        }
        #expect(error?.code == .notSettled)
        #expect(error?.message.contains("a handler has not returned") == true)
        gate.signal()
        try await network.settle()
        withExtendedLifetime(observation) {}
    }

    @Test func `settling ends with an error that names a loop that does not await its next element`()
        async throws
    {
        let network = SimulatedNetwork(.wired)
        let reachability = NetworkReachability(target: .defaultPath, source: network.source)
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let loop = Task {
            for try await flags in reachability.updates where flags.isEmpty {
                for await _ in gate { break }
            }
        }
        try await network.settle { network.listenerCount == 1 }
        network.apply(.offline)
        let error = await #expect(throws: SimulationError.self) {
            try await network.settle(within: .milliseconds(50))
        }
        #expect(error?.message.contains("neither awaits the next ones nor has ended") == true)
        open.yield()
        try await network.settle()
        loop.cancel()
    }
}
