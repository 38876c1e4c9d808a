// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Fakes
import NetlinkReachabilityTestKit
import RoutingModel
import SystemSupport
import TestSupport
import Testing

@testable import NetlinkReachability

private let onLink: ReachabilityFlags = [.reachable, .isDirect]

/// Whether the calling thread is a monitor's.
private var isOnMonitorThread: Bool { ProcessResources.threadName == "netlink-monitor" }

/// Handlers on the monitor's thread; ``CallbackTests`` and ``ReentrancyTests`` test those on queues.
struct DeliveryTests {
    let network = ScriptedNetwork()
    let recorder = Recorder()

    private func settle() async {
        await network.source.monitor.settle()
    }

    private func change(_ isThere: Bool) async {
        network.clock.advance(by: .seconds(1))
        network.setRoute(isThere)
        await settle()
    }

    @Test func `every call comes on the monitor's thread, the first one too`() async throws {
        let places = Locked<[Bool]>([])
        let reachability = try network.handle()
        let observation = try reachability.observe(on: .onMonitorThread) { _ in
            places.withLock { $0.append(isOnMonitorThread) }
        }
        await settle()
        await change(true)
        #expect(places.withLock { $0 } == [true, true])
        observation.cancel()
    }

    @Test func `the values are those that a handler on a queue gets, in the same order`() async throws {
        let (onQueue, onThread) = (Recorder(), Recorder())
        let (first, second) = (try network.handle(), try network.handle())
        let firstObservation = try first.observe(on: .queue(onQueue.queue), onQueue.handler)
        let secondObservation = try second.observe(on: .onMonitorThread, onThread.handler)
        await settle()
        _ = onQueue.all
        var random = SeededGenerator(seed: 5)
        for _ in 0..<60 {
            await change(Bool.random(using: &random))
            onQueue.drain()
        }
        #expect(onThread.all.count > 10)
        #expect(onThread.all == onQueue.all)
        firstObservation.cancel()
        secondObservation.cancel()
    }

    @Test func `the first flags can be skipped, and changes are still delivered`() async throws {
        let reachability = try network.handle()
        let observation = try reachability.observe(on: .onMonitorThread, initial: .skip, recorder.handler)
        await settle()
        #expect(recorder.all.isEmpty)
        await change(true)
        #expect(recorder.all == [onLink])
        observation.cancel()
    }

    @Test func `the current flags are there when the observation has begun`() throws {
        network.routing.setRoute(.documentation, true)
        let reachability = try network.handle()
        let observation = try reachability.observe(on: .onMonitorThread) { _ in }
        #expect(observation.current == onLink)
        observation.cancel()
        #expect(observation.current == nil)
    }

    @Test func `a failure comes on the monitor's thread, and the next answer`() async throws {
        let calls = Locked<[String]>([])
        let reachability = try network.handle()
        let observation = try reachability.observe(on: .onMonitorThread) { result in
            let call =
                switch result {
                case .success(let flags): flags.letters
                case .failure(let error): "\(error.number)"
                }
            calls.withLock { $0.append(isOnMonitorThread ? call : "elsewhere") }
        }
        await settle()
        network.routing.fail(ReachabilityError(operation: "ask", number: 110))
        network.notify(.settings)
        await settle()
        network.routing.fail(nil)
        network.clock.advance(by: .seconds(1))
        await settle()
        let none = ReachabilityFlags().letters
        #expect(calls.withLock { $0 } == [none, "110", none])
        observation.cancel()
    }

    @Test func `the first call about a name has its report`() async throws {
        network.resolver.set("www.example.com", .addresses([IPAddress(192, 0, 2, 1)]))
        network.routing.setRoute(.documentation, true)
        let results = Locked<[Result<ReachabilityFlags, ReachabilityError>]>([])
        let reachability = try network.handle(.host("www.example.com"))
        let observation = try reachability.source.observe(reachability.reportQuery(), on: .onMonitorThread) {
            result in
            results.withLock { $0.append(isOnMonitorThread ? result.map(\.flags) : .success([])) }
        }
        try await eventually("the name is resolved") { results.withLock { !$0.isEmpty } }
        #expect(results.withLock { $0 } == [.success(onLink)])
        observation.cancel()
    }

    @Test func `a busy handler delays the others, and gets the newest flags after that`() async throws {
        let (entered, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let other = try network.handle(.address(IPAddress(192, 0, 2, 2)))
        let otherObservation = try other.observe(on: .onMonitorThread, initial: .skip, recorder.handler)
        await settle()
        let calls = Recorder()
        let reachability = try network.handle()
        let observation = try reachability.observe(on: .onMonitorThread) { result in
            guard case .success(let flags) = result else { return }
            calls.record(flags)
            guard calls.all.count == 1 else { return }
            entered.signal()
            gate.wait()
        }
        try await eventually("the call has begun") { entered.wait(timeout: .now()) == .success }
        for isThere in [true, false, true] {
            network.clock.advance(by: .seconds(1))
            network.setRoute(isThere)
        }
        #expect(otherObservation.current == [])
        gate.signal()
        await settle()
        #expect(calls.all == [[], onLink])
        #expect(recorder.all == [onLink])
        observation.cancel()
        otherObservation.cancel()
    }

    // MARK: What a handler can do

    @Test func `a handler can cancel its observation, and is not called again`() async throws {
        let slot = ObservationSlot<ReachabilityFlags>()
        slot.keep(
            try network.handle().observe(on: .onMonitorThread) { [recorder] result in
                guard case .success(let flags) = result else { return }
                recorder.record(flags)
                slot.cancel()
            })
        await settle()
        await change(true)
        #expect(recorder.all == [[]])
        #expect(network.source.monitor.userCount == 0)
    }

    @Test func `a handler that cancels another observation keeps back a call that was due`() async throws {
        let slots = (ObservationSlot<ReachabilityFlags>(), ObservationSlot<ReachabilityFlags>())
        let recorder = recorder
        for (own, other) in [slots, (slots.1, slots.0)] {
            own.keep(
                try network.handle().observe(on: .onMonitorThread, initial: .skip) { result in
                    guard case .success(let flags) = result else { return }
                    recorder.record(flags)
                    other.cancel()
                })
        }
        await settle()
        await change(true)
        #expect(recorder.all == [onLink])
        slots.0.cancel()
        slots.1.cancel()
    }

    @Test func `a handler can begin another observation, which is called after it`() async throws {
        let (reachability, slot) = (try network.handle(), ObservationSlot<ReachabilityFlags>())
        let events = Locked<[String]>([])
        let observation = try reachability.observe(on: .onMonitorThread) { _ in
            events.withLock { $0.append("begins") }
            let other = try? reachability.observe(on: .onMonitorThread) { _ in
                events.withLock { $0.append("other") }
            }
            if let other { slot.keep(other) }
            events.withLock { $0.append("ends") }
        }
        await settle()
        #expect(events.withLock { $0 } == ["begins", "ends", "other"])
        observation.cancel()
        slot.cancel()
    }

    @Test func `a handler can observe a name, and no call is due when the monitor has settled`() async throws
    {
        let (reachability, other) = (try network.handle(), try network.handle(.host("www.example.com")))
        let results = Locked<[Result<ReachabilityFlags, ReachabilityError>]>([])
        let slot = ObservationSlot<ReachabilityReport>()
        let observation = try reachability.observe(on: .onMonitorThread) { _ in
            let named = try? other.source.observe(other.reportQuery(), on: .onMonitorThread) { result in
                results.withLock { $0.append(result.map(\.flags)) }
            }
            if let named { slot.keep(named) }
        }
        await settle()
        #expect(results.withLock { $0 } == [.success([])])
        observation.cancel()
        slot.cancel()
    }

    @Test func `a handler can cancel the only observation and begin another`() async throws {
        let (first, second) = (ObservationSlot<ReachabilityFlags>(), ObservationSlot<ReachabilityFlags>())
        let (reachability, recorder) = (try network.handle(), recorder)
        first.keep(
            try reachability.observe(on: .onMonitorThread) { _ in
                first.cancel()
                let next = try? reachability.observe(on: .onMonitorThread, recorder.handler)
                if let next { second.keep(next) }
            })
        try await eventually("the second one is called") { recorder.all == [[]] }
        await change(true)
        #expect(recorder.all == [[], onLink])
        second.cancel()
        try await eventually("both threads have ended") { network.source.monitor.threadCount == 0 }
    }

    @Test func `a handler can release its observation`() async throws {
        let (slot, recorder) = (ObservationSlot<ReachabilityFlags>(), recorder)
        let other = try network.handle().observe(on: .onMonitorThread) { _ in }
        slot.keep(
            try network.handle().observe(on: .onMonitorThread, initial: .skip) { result in
                guard case .success(let flags) = result else { return }
                recorder.record(flags)
                slot.release()
            })
        await settle()
        for isThere in [true, false] { await change(isThere) }
        #expect(recorder.all == [onLink])
        #expect(network.source.monitor.userCount == 1)
        other.cancel()
    }

    @Test func `a handler can ask the handle`() async throws {
        let asked = Locked<[ReachabilityFlags?]>([])
        let reachability = try network.handle()
        let observation = try reachability.observe(on: .onMonitorThread) { result in
            guard case .success(let flags) = result else { return }
            let answers = [flags, try? reachability.blockingFlags()]
            asked.withLock { $0 += answers }
        }
        await settle()
        await change(true)
        #expect(asked.withLock { $0 } == [[], [], onLink, onLink])
        observation.cancel()
    }

    @Test func `no call begins after cancel on another thread`() async throws {
        let reachability = try network.handle()
        let observation = try reachability.observe(on: .onMonitorThread, recorder.handler)
        await settle()
        observation.cancel()
        await change(true)
        #expect(recorder.all == [[]])
    }
}
