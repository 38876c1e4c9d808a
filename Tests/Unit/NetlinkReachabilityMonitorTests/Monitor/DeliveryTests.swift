// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Fakes
import NetlinkReachabilityTestKit
import NetlinkRoute
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
        try reachability.start(.flags, on: .onMonitorThread) { _ in
            places.withLock { $0.append(isOnMonitorThread) }
        }
        await settle()
        await change(true)
        #expect(places.withLock { $0 } == [true, true])
        reachability.stop()
    }

    @Test func `the values are those that a handler on a queue gets, in the same order`() async throws {
        let (onQueue, onThread) = (Recorder(), Recorder())
        let (first, second) = (try network.handle(), try network.handle())
        try first.start(.flags, on: .queue(onQueue.queue), onQueue.handler)
        try second.start(.flags, on: .onMonitorThread, onThread.handler)
        await settle()
        _ = onQueue.all
        var random = SeededGenerator(seed: 5)
        for _ in 0..<60 {
            await change(Bool.random(using: &random))
            onQueue.drain()
        }
        #expect(onThread.all.count > 10)
        #expect(onThread.all == onQueue.all)
        first.stop()
        second.stop()
    }

    @Test func `the first flags can be skipped, and changes are still delivered`() async throws {
        let reachability = try network.handle()
        try reachability.start(.flags, on: .onMonitorThread, initial: .skip, recorder.handler)
        await settle()
        #expect(recorder.all.isEmpty)
        await change(true)
        #expect(recorder.all == [onLink])
        reachability.stop()
    }

    @Test func `the current flags are there when start returns`() throws {
        network.routing.setRoute(.documentation, true)
        let reachability = try network.handle()
        try reachability.start(.flags, on: .onMonitorThread) { _ in }
        #expect(reachability.currentFlags == onLink)
        reachability.stop()
        #expect(reachability.currentFlags == nil)
    }

    @Test func `a failure comes on the monitor's thread, and the next answer`() async throws {
        let calls = Locked<[String]>([])
        let reachability = try network.handle()
        try reachability.start(.flags, on: .onMonitorThread) { result in
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
        reachability.stop()
    }

    @Test func `the first call about a name has its report`() async throws {
        network.resolver.set("www.example.com", .addresses([IPAddress(192, 0, 2, 1)]))
        network.routing.setRoute(.documentation, true)
        let results = Locked<[Result<ReachabilityFlags, ReachabilityError>]>([])
        let reachability = try network.handle(.host("www.example.com"))
        try reachability.start(.reports(), on: .onMonitorThread) { result in
            results.withLock { $0.append(isOnMonitorThread ? result.map(\.flags) : .success([])) }
        }
        try await eventually("the name is resolved") { results.withLock { !$0.isEmpty } }
        #expect(results.withLock { $0 } == [.success(onLink)])
        reachability.stop()
    }

    @Test func `a busy handler delays the others, and gets the newest flags after that`() async throws {
        let (entered, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let other = try network.handle(.address(IPAddress(192, 0, 2, 2)))
        try other.start(.flags, on: .onMonitorThread, initial: .skip, recorder.handler)
        await settle()
        let calls = Recorder()
        let reachability = try network.handle()
        try reachability.start(.flags, on: .onMonitorThread) { result in
            guard case .success(let flags) = result else { return }
            calls.record(flags)
            guard calls.all.count == 1 else { return }
            entered.signal()
            gate.wait()
        }
        await Task.detached { Self.wait(entered) }.value
        for isThere in [true, false, true] {
            network.clock.advance(by: .seconds(1))
            network.setRoute(isThere)
        }
        #expect(other.currentFlags == [])
        gate.signal()
        await settle()
        #expect(calls.all == [[], onLink])
        #expect(recorder.all == [onLink])
        reachability.stop()
        other.stop()
    }

    private static func wait(_ semaphore: DispatchSemaphore) {
        semaphore.wait()
    }

    // MARK: What a handler can do

    @Test func `a handler can stop its handle, and is not called again`() async throws {
        let reachability = try network.handle()
        try reachability.start(.flags, on: .onMonitorThread) { [recorder, weak reachability] result in
            guard case .success(let flags) = result else { return }
            recorder.record(flags)
            reachability?.stop()
        }
        await settle()
        await change(true)
        #expect(recorder.all == [[]])
        #expect(reachability.currentFlags == nil)
        #expect(network.source.monitor.userCount == 0)
    }

    @Test func `a handler that stops another handle keeps back a call that was due`() async throws {
        let handles = (try network.handle(), try network.handle())
        let recorder = recorder
        for (own, other) in [handles, (handles.1, handles.0)] {
            try own.start(.flags, on: .onMonitorThread, initial: .skip) { [weak other] result in
                guard case .success(let flags) = result else { return }
                recorder.record(flags)
                other?.stop()
            }
        }
        await settle()
        await change(true)
        #expect(recorder.all == [onLink])
        handles.0.stop()
        handles.1.stop()
    }

    @Test func `a handler can start another handle, which is called after it`() async throws {
        let (reachability, other) = (try network.handle(), try network.handle())
        let events = Locked<[String]>([])
        try reachability.start(.flags, on: .onMonitorThread) { _ in
            events.withLock { $0.append("begins") }
            try? other.start(.flags, on: .onMonitorThread) { _ in events.withLock { $0.append("other") } }
            events.withLock { $0.append("ends") }
        }
        await settle()
        #expect(events.withLock { $0 } == ["begins", "ends", "other"])
        reachability.stop()
        other.stop()
    }

    @Test func `a handler can start a name, and no call is due when the monitor has settled`() async throws {
        let (reachability, other) = (try network.handle(), try network.handle(.host("www.example.com")))
        let results = Locked<[Result<ReachabilityFlags, ReachabilityError>]>([])
        try reachability.start(.flags, on: .onMonitorThread) { _ in
            try? other.start(.reports(), on: .onMonitorThread) { result in
                results.withLock { $0.append(result.map(\.flags)) }
            }
        }
        await settle()
        #expect(results.withLock { $0 } == [.success([])])
        reachability.stop()
        other.stop()
    }

    @Test func `a handler can restart its handle, the only one`() async throws {
        let reachability = try network.handle()
        let recorder = recorder
        try reachability.start(.flags, on: .onMonitorThread) { [weak reachability] _ in
            reachability?.stop()
            try? reachability?.start(.flags, on: .onMonitorThread, recorder.handler)
        }
        try await eventually("the handle is restarted") { recorder.all == [[]] }
        await change(true)
        #expect(recorder.all == [[], onLink])
        reachability.stop()
        try await eventually("both threads have ended") { network.source.monitor.threadCount == 0 }
    }

    @Test func `a handler can release its handle`() async throws {
        let kept = Locked<NetworkReachability?>(nil)
        let recorder = recorder
        let other = try network.handle()
        try other.start(.flags, on: .onMonitorThread) { _ in }
        do {
            let reachability = try network.handle()
            kept.withLock { $0 = reachability }
            try reachability.start(.flags, on: .onMonitorThread) { result in
                guard case .success(let flags) = result else { return }
                recorder.record(flags)
                let released = kept.withLock { $0.take() }
                withExtendedLifetime(released) {}
            }
        }
        await settle()
        await change(true)
        #expect(recorder.all == [[]])
        #expect(network.source.monitor.userCount == 1)
        other.stop()
    }

    @Test func `a handler can ask its handle`() async throws {
        let asked = Locked<[ReachabilityFlags?]>([])
        let reachability = try network.handle()
        try reachability.start(.flags, on: .onMonitorThread) { [weak reachability] result in
            guard case .success(let flags) = result else { return }
            let answers = [flags, reachability?.currentFlags, try? reachability?.flags()]
            asked.withLock { $0 += answers }
        }
        await settle()
        await change(true)
        #expect(asked.withLock { $0 } == [[], [], [], onLink, onLink, onLink])
        reachability.stop()
    }

    @Test func `a handle can change from the thread to a queue and back`() async throws {
        let reachability = try network.handle()
        try reachability.start(.flags, on: .onMonitorThread, recorder.handler)
        await settle()
        try reachability.start(.flags, on: .queue(recorder.queue), recorder.handler)
        await settle()
        #expect(recorder.all == [[], []])
        try reachability.start(.flags, on: .onMonitorThread, recorder.handler)
        await settle()
        await change(true)
        #expect(recorder.all == [[], [], [], onLink])
        reachability.stop()
    }

    @Test func `no call begins after stop on another thread, unless it had begun`() async throws {
        let reachability = try network.handle()
        try reachability.start(.flags, on: .onMonitorThread, recorder.handler)
        await settle()
        reachability.stop()
        await change(true)
        #expect(recorder.all == [[]])
    }
}
