// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Fakes
import Glibc
import RoutingModel
import Synchronization
import SystemSupport
import TestSupport
import Testing

@testable import NetlinkReachability

struct StressTests {
    private static let onLink: ReachabilityFlags = [.reachable, .isDirect]
    /// Short here, and as long as one likes with `make stress`.
    private static let seconds = getenv("STRESS_SECONDS").flatMap { Int(String(cString: $0)) } ?? 0

    /// Observes with a handler on a queue, or on the monitor's thread.
    private static func start(
        _ handle: NetworkReachability,
        onMonitorThread: Bool,
        _ handler: @escaping @Sendable (ReachabilityFlags) -> Void
    ) throws -> NetworkObservation<ReachabilityFlags> {
        try handle.observe(on: onMonitorThread ? .onMonitorThread : .queue(.global())) { result in
            if case .success(let flags) = result { handler(flags) }
        }
    }

    @Test(arguments: [false, true])
    func `forty threads that observe, cancel and release while routes flap leave nothing behind`(
        onMonitorThread: Bool
    ) async throws {
        let network = ScriptedNetwork(usesSystemClock: true)
        let shared = try network.handle()
        let calls = Atomic<Int>(0)
        let repeats = Atomic<Int>(0)
        let failures = Locked<[String]>([])
        let limit = ContinuousClock.now + .seconds(Self.seconds)
        try OwnThread.run(40) { thread in
            var next = 0
            while next < 20 || ContinuousClock.now < limit {
                let round = next
                next += 1
                network.setRoute((thread + round).isMultiple(of: 2))
                do {
                    let last = Locked<ReachabilityFlags?>(nil)
                    let own = try Self.start(network.handle(), onMonitorThread: onMonitorThread) { flags in
                        let before = last.withLock { last in
                            defer { last = flags }
                            return last
                        }
                        calls.add(1, ordering: .relaxed)
                        if before == flags { repeats.add(1, ordering: .relaxed) }
                    }
                    let slot = ObservationSlot<ReachabilityFlags>()
                    slot.keep(
                        try Self.start(shared, onMonitorThread: onMonitorThread) { _ in
                            if round.isMultiple(of: 3) { slot.cancel() }
                        })
                    _ = own.current
                    if round.isMultiple(of: 2) { own.cancel() }
                    if !round.isMultiple(of: 3) { slot.release() }
                } catch {
                    failures.withLock { $0.append("\(error)") }
                }
            }
        }
        #expect(failures.withLock { $0 } == [])
        // The threads can be so quick that no handler runs before its observation is released: one stays.
        let staying = try Self.start(shared, onMonitorThread: onMonitorThread) { _ in
            calls.add(1, ordering: .relaxed)
        }
        try await eventually("a handler is called") { calls.load(ordering: .relaxed) > 0 }
        staying.cancel()
        #expect(repeats.load(ordering: .relaxed) == 0)
        // The observations that end in their first call end when it comes.
        try await eventually("every observation has ended") { network.source.monitor.userCount == 0 }
        try await eventually("the thread has ended") { network.source.monitor.threadCount == 0 }
    }

    @Test func `every handle delivers the true flags after a storm`() async throws {
        let network = ScriptedNetwork(usesSystemClock: true)
        let prefixes = (0..<64).compactMap { IPPrefix(IPAddress(10, 0, UInt8($0), 0), length: 24) }
        var observed: [(NetworkReachability, NetworkObservation<ReachabilityFlags>, Recorder)] = []
        for number in 0..<640 {
            let address = IPAddress(10, 0, UInt8(number % 64), UInt8(1 + number / 64))
            let (handle, recorder) = (try network.handle(.address(address)), Recorder())
            let observation = try handle.observe(on: .queue(recorder.queue), recorder.handler)
            observed.append((handle, observation, recorder))
        }
        var random = SeededGenerator(seed: 7)
        for _ in 0..<20_000 {
            let prefix = prefixes.randomElement(using: &random) ?? .allV4
            network.setRoute(Bool.random(using: &random), prefix)
            if Int.random(in: 0..<2_000, using: &random) == 0 { network.overrun() }
        }
        for (handle, observation, recorder) in observed {
            let expected = try await handle.flags()
            try await eventually("\(handle.target) has \(expected.letters)") {
                observation.current == expected
            }
            let all = recorder.all
            #expect(all.last == expected)
            #expect(zip(all, all.dropFirst()).allSatisfy { $0 != $1 })
            observation.cancel()
        }
    }
}
