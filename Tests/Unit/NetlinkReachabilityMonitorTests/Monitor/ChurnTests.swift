// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Fakes
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import NetlinkReachability

/// Observations that begin and end all the time.
struct ChurnTests {
    private static let threadCount = 8
    /// Fewer here, and as many as one likes with OBSERVATIONS: a million takes minutes.
    private static let count =
        getenv("OBSERVATIONS").flatMap { Int(String(cString: $0)) } ?? Rounds.of(100_000)
    /// Until then the memory that the allocator keeps for each thread still grows.
    private static let settledCount = 1_000_000

    /// Calls of all handlers, and those that came after the end of their observation.
    private final class Tally: Sendable {
        let calls = Atomic<Int>(0)
        let lateCalls = Atomic<Int>(0)
    }

    /// Whether `cancel()` of an observation has returned.
    private final class End: Sendable {
        let isReached = Atomic<Bool>(false)
    }

    /// Begins and ends an observation: its handler, this thread, or its release ends it.
    private static func live(_ number: Int, _ handle: NetworkReachability, _ tally: Tally) throws {
        let (end, slot) = (End(), ObservationSlot<ReachabilityFlags>())
        let delivery = number.isMultiple(of: 2) ? NetworkSource.Delivery.queue(.global()) : .onMonitorThread
        let observation = try handle.observe(on: delivery) { _ in
            tally.calls.add(1, ordering: .relaxed)
            if end.isReached.load(ordering: .acquiring) { tally.lateCalls.add(1, ordering: .relaxed) }
            if number.isMultiple(of: 3) { slot.cancel() }
        }
        if number.isMultiple(of: 3) { slot.keep(observation) }
        if !number.isMultiple(of: 5) {
            observation.cancel()
            end.isReached.store(true, ordering: .releasing)
        }
        // What the handler keeps is released here, unless its call was first.
        slot.release()
    }

    private static func churn(_ count: Int, _ network: ScriptedNetwork, _ tally: Tally) throws {
        let failures = Atomic<Int>(0)
        let handle = try network.handle()
        try OwnThread.run(threadCount) { thread in
            for number in 0..<count / threadCount {
                if number.isMultiple(of: 100) {
                    network.setRoute(number.isMultiple(of: 200))
                    // The notes of the script are no part of an observation.
                    _ = network.routing.takeAsked()
                }
                do {
                    try live(number * threadCount + thread, handle, tally)
                } catch {
                    failures.add(1, ordering: .relaxed)
                }
            }
        }
        _ = network.routing.takeAsked()
        #expect(failures.load(ordering: .relaxed) == 0)
    }

    @Test
    func `eight threads that observe and cancel get no call after that, and leave no memory behind`()
        async
    {
        await #expect(processExitsWith: .success) {
            let network = ScriptedNetwork(usesSystemClock: true)
            let tally = Tally()
            // What the first part leaves is what a process needs once.
            try Self.churn(Self.count / 4 * 3, network, tally)
            try await eventually("all have ended") { network.source.monitor.userCount == 0 }
            let before = ProcessResources.residentBytes
            try Self.churn(Self.count / 4, network, tally)
            try await eventually("all have ended again") { network.source.monitor.userCount == 0 }
            #expect(tally.calls.load(ordering: .relaxed) > 0)
            #expect(tally.lateCalls.load(ordering: .relaxed) == 0)
            guard !ProcessResources.isSanitized, Self.count >= Self.settledCount else { return }
            let growth = ProcessResources.residentBytes - before
            #expect(growth < 8 << 20, "\(growth) bytes more")
        }
    }
}
