// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkReachabilityTestKit
import Testing

struct ManualClockTests {
    private let network = SimulatedNetwork(.offline)

    @Test func `a sleep ends at its instant, and not before`() async throws {
        let clock = network.clock
        let sleeper = Task { try await clock.sleep(for: .seconds(5)) }
        try await network.settle { clock.sleeperCount == 1 }
        clock.advance(by: .milliseconds(4_999))
        #expect(clock.sleeperCount == 1)
        #expect(clock.nextDue?.offset == .seconds(5))
        clock.advance(by: .milliseconds(1))
        #expect(clock.sleeperCount == 0)
        try await sleeper.value
    }

    @Test func `a sleep ends with its task`() async throws {
        let clock = network.clock
        let sleeper = Task { try await clock.sleep(for: .seconds(5)) }
        try await network.settle { clock.sleeperCount == 1 }
        sleeper.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
        #expect(clock.sleeperCount == 0)
        #expect(clock.nextDue == nil)
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await clock.sleep(for: .seconds(5))
        }
        await #expect(throws: CancellationError.self) { try await late.value }
    }

    @Test func `a wait times out by the clock`() async throws {
        let reachability = NetworkReachability(target: .defaultPath, source: network.source)
        let waiting = Task { try await reachability.waitUntilReachable(timeout: .seconds(30)) }
        try await network.settle { network.listenerCount == 1 }
        try await network.advance(by: .seconds(30))
        let error = await #expect(throws: ReachabilityError.self) { try await waiting.value }
        #expect(error?.code == .timedOut)
    }

    @Test func `a wait ends when the target becomes reachable`() async throws {
        let reachability = NetworkReachability(target: .defaultPath, source: network.source)
        let waiting = Task { try await reachability.waitUntilReachable(timeout: .seconds(30)) }
        try await network.settle { network.listenerCount == 1 }
        network.apply(.wifi)
        #expect(try await waiting.value == .reachable)
    }

    @Test func `due actions run in order, for any distance`() async throws {
        let network = SimulatedNetwork(.flappingWiFi)
        let reachability = try NetworkReachability(host: "203.0.113.80", source: network.source)
        let times = FlagsLog()
        let clock = network.clock
        let observation = try reachability.observe { result in
            if case .success(let flags) = result { times.append("\(clock.now.offset) \(flags.letters)") }
        }
        try await network.advance(by: .seconds(15))
        #expect(
            times.take() == [
                "0.0 seconds -R -------", "5.0 seconds -- -------", "7.0 seconds -R -------",
                "12.0 seconds -- -------", "14.0 seconds -R -------",
            ]
        )
        #expect(try await network.nextDue()?.offset == .seconds(19))
        withExtendedLifetime(observation) {}
    }

    @Test func `the next due instant is known`() async throws {
        let reachability = NetworkReachability(target: .defaultPath, source: network.source)
        #expect(try await network.nextDue() == nil)
        let observation = try reachability.observe { _ in }
        // The periodic query for changes without a notification.
        #expect(try await network.nextDue()?.offset == .seconds(60))
        withExtendedLifetime(observation) {}
    }
}
