// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import Dispatch
import Fakes
import NetlinkReachabilityTestKit
import NetlinkRoute
import RoutingModel
import RoutingSimulation
import SystemSupport
import Testing

@testable import NetlinkReachability

private let onLink: ReachabilityFlags = [.reachable, .isDirect]

struct CallbackTests {
    let network = ScriptedNetwork()
    let recorder = Recorder()

    /// Waits until the monitor and the handler have nothing to do.
    private func settle() async {
        await network.source.monitor.settle()
        recorder.drain()
    }

    private func started(_ initial: NetworkReachability.InitialValue = .deliver) throws -> NetworkReachability
    {
        let reachability = try network.handle()
        try reachability.start(.flags, on: .queue(recorder.queue), initial: initial, recorder.handler)
        return reachability
    }

    @Test func `the first flags come at once`() async throws {
        let reachability = try started()
        #expect(recorder.all == [[]])
        await settle()
        #expect(recorder.all == [[]])
        reachability.stop()
    }

    @Test func `a change is delivered, and nothing else`() async throws {
        let reachability = try started()
        await settle()
        network.setRoute(true)
        await settle()
        network.notify(.settings)
        await settle()
        network.clock.advance(by: .seconds(1))
        await settle()
        network.clock.advance(by: .seconds(1))
        network.setRoute(false)
        await settle()
        #expect(recorder.all == [[], onLink, []])
        reachability.stop()
    }

    @Test func `the first flags can be skipped, and changes are still delivered`() async throws {
        let reachability = try started(.skip)
        await settle()
        #expect(recorder.all.isEmpty)
        network.setRoute(true)
        await settle()
        #expect(recorder.all == [onLink])
        reachability.stop()
    }

    @Test func `a change while stopped is in the first flags after a restart`() async throws {
        let reachability = try started()
        await settle()
        reachability.stop()
        network.routing.setRoute(.documentation, true)
        try reachability.start(.flags, on: .queue(recorder.queue), recorder.handler)
        await settle()
        #expect(recorder.all == [[], onLink])
        reachability.stop()
    }

    @Test func `a restart delivers the current flags again, equal or not`() async throws {
        let reachability = try started()
        _ = recorder.all
        reachability.stop()
        try reachability.start(.flags, on: .queue(recorder.queue), recorder.handler)
        #expect(recorder.all == [[], []])
        reachability.stop()
    }

    @Test func `starting twice replaces the handler and starts one monitor`() async throws {
        let reachability = try started()
        _ = recorder.all
        let second = Recorder()
        try reachability.start(.flags, on: .queue(second.queue), second.handler)
        await settle()
        _ = second.all
        network.setRoute(true)
        await settle()
        #expect(recorder.all == [[]])
        #expect(second.all == [[], onLink])
        #expect(network.starts == 1)
        reachability.stop()
    }

    @Test func `a first evaluation that fails is passed to the handler, and its flags follow`() async throws {
        network.routing.fail(ReachabilityError(operation: "ask", number: 24))
        let numbers = Locked<[Int32]>([])
        let reachability = try network.handle()
        try reachability.start(.flags, on: .queue(recorder.queue)) { [recorder] result in
            recorder.handler(result)
            if case .failure(let error) = result { numbers.withLock { $0.append(error.number) } }
        }
        await settle()
        #expect(numbers.withLock { $0 } == [24] && recorder.all.isEmpty)
        network.routing.fail(nil)
        network.clock.advance(by: .seconds(1))
        await settle()
        #expect(numbers.withLock { $0 } == [24] && recorder.all == [[]])
        reachability.stop()
    }

    @Test(arguments: 0..<3)
    func `a stopped handle never calls again, wherever and whatever it delivers`(place: Int) async throws {
        let delivery = [CallbackDelivery.ownQueue, .queue(recorder.queue), .onMonitorThread][place]
        let calls = Locked(0)
        let handles = (try network.handle(), try network.handle())
        try handles.0.start(.flags, on: delivery) { _ in calls.withLock { $0 += 1 } }
        try handles.1.start(.reports(), on: delivery) { _ in calls.withLock { $0 += 1 } }
        try await eventually("both handlers were called") { calls.withLock { $0 } == 2 }
        await settle()
        handles.0.stop()
        handles.1.stop()
        network.setRoute(true)
        await settle()
        #expect(calls.withLock { $0 } == 2)
    }

    @Test func `nothing is delivered after stop`() async throws {
        let reachability = try started()
        await settle()
        reachability.stop()
        network.setRoute(true)
        await settle()
        #expect(recorder.all == [[]])
    }

    @Test func `stop on the queue keeps a call back that was due already`() async throws {
        let reachability = try network.handle()
        recorder.suspend()
        try reachability.start(.flags, on: .queue(recorder.queue), recorder.handler)
        // On the queue before the first call, and yet the call is due.
        let other = DispatchQueue(label: "other")
        let isStopped = Locked(false)
        other.sync {
            reachability.stop()
            isStopped.withLock { $0 = true }
        }
        recorder.resume()
        #expect(isStopped.withLock { $0 })
        #expect(recorder.all.isEmpty)
    }

    @Test func `stopping twice, or what was never started, does nothing`() throws {
        let reachability = try network.handle()
        reachability.stop()
        try reachability.start(.flags) { _ in }
        reachability.stop()
        reachability.stop()
        #expect(reachability.currentFlags == nil)
    }

    @Test func `a slow handler gets the newest flags and not all`() async throws {
        let reachability = try started()
        _ = recorder.all
        recorder.suspend()
        for isThere in [true, false, true] {
            network.clock.advance(by: .seconds(1))
            network.setRoute(isThere)
            await settle()
        }
        recorder.resume()
        #expect(recorder.all == [[], onLink])
        reachability.stop()
    }

    @Test func `opposite changes during a slow handler are not delivered`() async throws {
        let reachability = try started()
        _ = recorder.all
        recorder.suspend()
        for isThere in [true, false] {
            network.clock.advance(by: .seconds(1))
            network.setRoute(isThere)
            await settle()
        }
        recorder.resume()
        #expect(recorder.all == [[]])
        reachability.stop()
    }

    @Test func `calls do not overlap on a concurrent queue`() async throws {
        let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
        let state = Locked((running: 0, most: 0))
        let reachability = try network.handle()
        try reachability.start(.flags, on: .queue(queue)) { _ in
            state.withLock { $0 = ($0.running + 1, max($0.most, $0.running + 1)) }
            for _ in 0..<100 { _ = reachability.currentFlags }
            state.withLock { $0.running -= 1 }
        }
        for round in 0..<50 {
            network.clock.advance(by: .seconds(1))
            network.setRoute(round % 2 == 0)
            await settle()
        }
        reachability.stop()
        queue.sync(flags: .barrier) {}
        #expect(state.withLock { $0.most } == 1)
    }

    // MARK: Current flags

    @Test func `the current flags of an address are there when start returns, and gone after stop`() throws {
        network.routing.setRoute(.documentation, true)
        let reachability = try network.handle()
        #expect(reachability.currentFlags == nil)
        try reachability.start(.flags, on: .queue(recorder.queue), recorder.handler)
        #expect(reachability.currentFlags == onLink)
        reachability.stop()
        #expect(reachability.currentFlags == nil)
    }

    @Test func `the debug description has the target, and the flags while it is started`() throws {
        network.routing.setRoute(.documentation, true)
        let reachability = try network.handle()
        #expect("\(reachability)" == "NetworkReachability(192.0.2.1)")
        try reachability.start(.flags, on: .queue(recorder.queue), recorder.handler)
        #expect("\(reachability)" == "NetworkReachability(192.0.2.1, \(onLink.letters))")
        reachability.stop()
    }

    @Test func `the current flags do not wait for a slow handler`() async throws {
        let reachability = try started()
        recorder.suspend()
        network.setRoute(true)
        await settle()
        #expect(reachability.currentFlags == onLink)
        recorder.resume()
        reachability.stop()
    }

    // MARK: Interfaces that come

    @Test func `an interface that does not exist has no path until it appears`() async throws {
        network.routing.change { $0.snapshot.apply(.removedLink(index: 2)) }
        let reachability = try network.handle(.host("fe80::1%eth0"))
        try reachability.start(.flags, on: .queue(recorder.queue), recorder.handler)
        #expect(recorder.all == [[]])
        network.routing.setRoute(IPPrefix("fe80::/64"), true)
        network.wire(2, "eth0")
        await settle()
        #expect(recorder.all == [[], onLink])
        reachability.stop()
    }
}
