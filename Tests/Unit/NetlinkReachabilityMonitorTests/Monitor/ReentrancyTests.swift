// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Fakes
import NetlinkReachabilityTestKit
import RoutingModel
import SystemSupport
import Testing

@testable import NetlinkReachability

/// Calls a closure when it is released.
private final class Witness: Sendable {
    let onRelease: @Sendable () -> Void

    init(_ onRelease: @escaping @Sendable () -> Void) {
        self.onRelease = onRelease
    }

    deinit {
        onRelease()
    }
}

struct ReentrancyTests {
    let network = ScriptedNetwork()
    let recorder = Recorder()

    @Test func `a handler can cancel its observation`() async throws {
        let slot = ObservationSlot<ReachabilityFlags>()
        slot.keep(
            try network.handle().observe(on: .queue(recorder.queue)) { [recorder] result in
                guard case .success(let flags) = result else { return }
                recorder.record(flags)
                slot.cancel()
            })
        _ = recorder.all
        network.setRoute(true)
        await network.source.monitor.settle()
        #expect(recorder.all == [[]])
        #expect(network.source.monitor.userCount == 0)
    }

    @Test func `two handlers can cancel each other's observations at the same time`() async throws {
        let slots = (ObservationSlot<ReachabilityFlags>(), ObservationSlot<ReachabilityFlags>())
        let (first, second) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let reachability = try network.handle()
        // Queues of their own have threads of their own: these calls wait for each other.
        slots.0.keep(
            try reachability.observe(on: .queue(DispatchQueue(label: "first"))) { _ in
                first.signal()
                second.wait()
                slots.1.cancel()
            })
        slots.1.keep(
            try reachability.observe(on: .queue(DispatchQueue(label: "second"))) { _ in
                second.signal()
                first.wait()
                slots.0.cancel()
            })
        try await eventually("both are cancelled") { network.source.monitor.userCount == 0 }
    }

    @Test func `a handler can begin another observation`() async throws {
        let (reachability, recorder) = (try network.handle(), recorder)
        let slot = ObservationSlot<ReachabilityFlags>()
        let observation = try reachability.observe(on: .queue(recorder.queue)) { _ in
            let next = try? reachability.observe(on: .queue(recorder.queue), recorder.handler)
            if let next { slot.keep(next) }
        }
        _ = recorder.all
        observation.cancel()
        network.setRoute(true)
        await network.source.monitor.settle()
        #expect(recorder.all == [[], [.reachable, .isDirect]])
        slot.cancel()
    }

    @Test func `a handler can release its observation`() async throws {
        let (slot, recorder) = (ObservationSlot<ReachabilityFlags>(), recorder)
        slot.keep(
            try network.handle().observe(on: .queue(recorder.queue), initial: .skip) { result in
                guard case .success(let flags) = result else { return }
                recorder.record(flags)
                slot.release()
            })
        for isThere in [true, false] {
            network.clock.advance(by: .seconds(1))
            network.setRoute(isThere)
            await network.source.monitor.settle()
            recorder.drain()
        }
        #expect(recorder.all == [[.reachable, .isDirect]])
        #expect(network.source.monitor.userCount == 0)
    }

    @Test func `releasing the observation ends it`() async throws {
        do {
            let observation = try network.handle().observe(on: .queue(recorder.queue), recorder.handler)
            #expect(recorder.all == [[]])
            withExtendedLifetime(observation) {}
        }
        network.setRoute(true)
        await network.source.monitor.settle()
        #expect(recorder.all == [[]])
    }

    @Test func `cancel releases the handler`() throws {
        let isReleased = Locked(false)
        let witness = Locked<Witness?>(Witness { isReleased.withLock { $0 = true } })
        let observation = try network.handle().observe(on: .queue(recorder.queue)) {
            [kept = witness.withLock { $0.take() }] _ in withExtendedLifetime(kept) {}
        }
        _ = recorder.all
        #expect(!isReleased.withLock { $0 })
        observation.cancel()
        _ = recorder.all
        #expect(isReleased.withLock { $0 })
    }

    @Test func `what a handler holds can cancel the observation while it is released`() throws {
        let slot = ObservationSlot<ReachabilityFlags>()
        let witness = Locked<Witness?>(Witness { slot.cancel() })
        let observation = try network.handle().observe(on: .queue(recorder.queue)) {
            [kept = witness.withLock { $0.take() }] _ in withExtendedLifetime(kept) {}
        }
        slot.keep(observation)
        _ = recorder.all
        observation.cancel()
        #expect(observation.current == nil)
    }

    /// Begins an observation whose first call is running: it waits at the gate, and then says so.
    private func observeCall(
        _ onMonitorThread: Bool,
        _ gate: DispatchSemaphore,
        _ calls: Locked<[String]>
    ) async throws -> NetworkObservation<ReachabilityFlags> {
        let entered = Locked(false)
        let delivery = onMonitorThread ? NetworkSource.Delivery.onMonitorThread : .queue(recorder.queue)
        let observation = try network.handle().observe(on: delivery) { _ in
            entered.withLock { $0 = true }
            gate.wait()
            calls.withLock { $0.append("call") }
        }
        try await eventually("the call has begun") { entered.withLock { $0 } }
        return observation
    }

    @Test(arguments: [false, true])
    func `cancel waits for a call that is running, wherever it runs`(onMonitorThread: Bool) async throws {
        let (gate, calls) = (DispatchSemaphore(value: 0), Locked<[String]>([]))
        let observation = try await observeCall(onMonitorThread, gate, calls)
        DispatchQueue(label: "gate").asyncAfter(deadline: .now() + 0.05) { gate.signal() }
        observation.cancel()
        calls.withLock { $0.append("cancelled") }
        #expect(calls.withLock { $0 } == ["call", "cancelled"])
    }

    @Test(arguments: [false, true])
    func `the asynchronous end waits for a call that is running, and blocks no thread`(
        onMonitorThread: Bool
    ) async throws {
        let (gate, calls) = (DispatchSemaphore(value: 0), Locked<[String]>([]))
        let observation = try await observeCall(onMonitorThread, gate, calls)
        // More than the runtime has threads: with one blocked for each, nothing would open the gate.
        let ends = (0..<256).map { _ in
            Task {
                await observation.end()
                calls.withLock { $0.append("ended") }
            }
        }
        try await eventually("the end has begun") { observation.current == nil }
        #expect(calls.withLock { $0.isEmpty })
        for end in ends.prefix(8) { end.cancel() }
        gate.signal()
        for end in ends { await end.value }
        #expect(calls.withLock { $0 } == ["call"] + Array(repeating: "ended", count: 256))
        #expect(network.source.monitor.userCount == 0)
    }

    @Test func `the asynchronous end of an idle or ended observation returns at once`() async throws {
        let isReleased = Locked(false)
        let witness = Locked<Witness?>(Witness { isReleased.withLock { $0 = true } })
        let observation = try network.handle().observe(on: .queue(recorder.queue)) {
            [kept = witness.withLock { $0.take() }] _ in withExtendedLifetime(kept) {}
        }
        _ = recorder.all
        await observation.end()
        #expect(isReleased.withLock { $0 } && network.source.monitor.userCount == 0)
        await observation.end()
        observation.cancel()
    }

    /// The end came before the registration, which then took the place of another observation.
    @Test func `an observation that ends in its first call leaves nothing behind`() async throws {
        let (kept, recorder) = (try network.handle().observe { _ in }, recorder)
        for _ in 0..<200 {
            let observation = try network.source.observe(network.handle().query) { _ in
            } until: { _ in
                true
            }
            while network.source.monitor.userCount > 1 { await Task.yield() }
            withExtendedLifetime(observation) {}
        }
        let next = try network.handle().observe(on: .queue(recorder.queue), recorder.handler)
        await network.source.monitor.settle()
        // A value that is not delivered yet gives way to the newer one.
        #expect(recorder.all == [[]])
        network.setRoute(true)
        await network.source.monitor.settle()
        #expect(recorder.all == [[], [.reachable, .isDirect]])
        #expect(network.source.monitor.userCount == 2)
        next.cancel()
        kept.cancel()
    }

    @Test(arguments: [NetworkSource.Delivery.onMonitorThread, .queue(.global())])
    func `an observation with a condition ends after the call with the value that meets it`(
        delivery: NetworkSource.Delivery
    ) async throws {
        let (calls, query) = (Locked<[ReachabilityFlags?]>([]), try network.handle().query)
        let observation = try network.source.observe(query, on: delivery) { result in
            calls.withLock { $0.append(try? result.get()) }
        } until: {
            !$0.isEmpty
        }
        try await eventually("the first call") { calls.withLock { $0 } == [[]] }
        await network.source.monitor.settle()
        network.clock.advance(by: .seconds(1))
        network.setRoute(true)
        try await eventually("it has ended") { network.source.monitor.userCount == 0 }
        network.setRoute(false)
        await network.source.monitor.settle()
        #expect(calls.withLock { $0 } == [[], [.reachable, .isDirect]] && observation.current == nil)
    }

    @Test(arguments: [NetworkSource.Delivery.onMonitorThread, .queue(.global())])
    func `the first value can meet the condition, and a failure meets none`(
        delivery: NetworkSource.Delivery
    ) async throws {
        network.routing.fail(ReachabilityError(operation: "ask", number: 24))
        let (calls, query) = (Locked<[Bool]>([]), try network.handle().query)
        let observation = try network.source.observe(query, on: delivery) { result in
            calls.withLock { $0.append((try? result.get()) != nil) }
        } until: { _ in
            true
        }
        try await eventually("the failure") { calls.withLock { $0 } == [false] }
        await network.source.monitor.settle()
        network.routing.fail(nil)
        network.clock.advance(by: .seconds(1))
        try await eventually("it has ended") { network.source.monitor.userCount == 0 }
        #expect(calls.withLock { $0 } == [false, true])
        withExtendedLifetime(observation) {}
    }

    @Test func `an observation with a condition is not kept by it`() async throws {
        weak var released: NetworkObservation<NetworkPath>?
        do {
            let observation = try network.source.observe(.path(), on: .queue(recorder.queue)) { _ in
            } until: { _ in
                false
            }
            released = observation
            _ = recorder.all
        }
        #expect(released == nil)
        #expect(network.source.monitor.userCount == 0)
    }

    @Test func `a handler can evaluate the handle`() throws {
        let reachability = try network.handle()
        let asked = Locked<ReachabilityFlags?>(nil)
        let observation = try reachability.observe(on: .queue(recorder.queue)) { _ in
            let flags = try? reachability.blockingFlags()
            asked.withLock { $0 = flags }
        }
        _ = recorder.all
        #expect(asked.withLock { $0 } == [])
        observation.cancel()
    }
}
