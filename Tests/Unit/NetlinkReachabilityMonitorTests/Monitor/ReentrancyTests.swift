// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Fakes
import NetlinkReachabilityTestKit
import NetlinkRoute
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

    @Test(arguments: [false, true])
    func `cancel waits for a call that is running, wherever it runs`(onMonitorThread: Bool) async throws {
        let (entered, gate) = (Locked(false), DispatchSemaphore(value: 0))
        let calls = Locked<[String]>([])
        let delivery = onMonitorThread ? CallbackDelivery.onMonitorThread : .queue(recorder.queue)
        let observation = try network.handle().observe(on: delivery) { _ in
            entered.withLock { $0 = true }
            gate.wait()
            calls.withLock { $0.append("call") }
        }
        try await eventually("the call has begun") { entered.withLock { $0 } }
        DispatchQueue(label: "gate").asyncAfter(deadline: .now() + 0.05) { gate.signal() }
        observation.cancel()
        calls.withLock { $0.append("cancelled") }
        #expect(calls.withLock { $0 } == ["call", "cancelled"])
    }

    /// The end came before the registration, which then took the place of another observation.
    @Test func `an observation that ends in its first call leaves nothing behind`() async throws {
        let (kept, recorder) = (try network.handle().observe { _ in }, recorder)
        for _ in 0..<200 {
            let ended = DispatchSemaphore(value: 0)
            let observation = try network.handle().observe(.flags, on: .queue(.global())) { observation, _ in
                observation.cancel()
                ended.signal()
            }
            while ended.wait(timeout: .now()) != .success { await Task.yield() }
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

    @Test(arguments: [CallbackDelivery.onMonitorThread, .queue(.global())])
    func `a handler that gets its observation can end it in the first call`(
        delivery: CallbackDelivery
    ) async throws {
        network.routing.setRoute(.documentation, true)
        let (calls, ended) = (Locked(0), DispatchSemaphore(value: 0))
        let observation = try network.handle().observe(.flags, on: delivery) { observation, result in
            observation.cancel()
            calls.withLock { $0 += 1 }
            #expect((try? result.get())?.isEmpty == false && observation.current == nil)
            ended.signal()
        }
        try await eventually("the call is over") { ended.wait(timeout: .now()) == .success }
        network.setRoute(false)
        await network.source.monitor.settle()
        #expect(calls.withLock { $0 } == 1 && observation.current == nil)
        #expect(network.source.monitor.userCount == 0)
    }

    @Test func `a handler that gets its observation does not keep it`() async throws {
        weak var released: NetworkObservation<NetworkPath>?
        do {
            let observation = try network.source.observe(.path(), on: .queue(recorder.queue)) { own, _ in
                withExtendedLifetime(own) {}
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
