// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import Dispatch
import Fakes
import NetlinkReachabilityTestKit
import NetlinkRecording
import RoutingModel
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

    private func started(
        _ initial: NetworkSource.InitialValue = .deliver
    ) throws -> NetworkObservation<ReachabilityFlags> {
        try network.handle().observe(on: .queue(recorder.queue), initial: initial, recorder.handler)
    }

    @Test func `the first flags come at once`() async throws {
        let observation = try started()
        #expect(recorder.all == [[]])
        await settle()
        #expect(recorder.all == [[]])
        observation.cancel()
    }

    @Test func `a change is delivered, and nothing else`() async throws {
        let observation = try started()
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
        observation.cancel()
    }

    @Test func `the first flags can be skipped, and changes are still delivered`() async throws {
        let observation = try started(.skip)
        await settle()
        #expect(recorder.all.isEmpty)
        network.setRoute(true)
        await settle()
        #expect(recorder.all == [onLink])
        observation.cancel()
    }

    @Test func `a change between two observations is in the first flags of the second`() async throws {
        try started().cancel()
        await settle()
        network.routing.setRoute(.documentation, true)
        let observation = try started()
        await settle()
        #expect(recorder.all.last == onLink)
        observation.cancel()
    }

    @Test func `each observation begins with the current flags, equal or not`() async throws {
        let first = try started()
        _ = recorder.all
        first.cancel()
        let second = try started()
        #expect(recorder.all == [[], []])
        second.cancel()
    }

    @Test func `two observations of a handle have both handlers, and share a monitor`() async throws {
        let (reachability, other) = (try network.handle(), Recorder())
        let first = try reachability.observe(on: .queue(recorder.queue), recorder.handler)
        let second = try reachability.observe(on: .queue(other.queue), other.handler)
        await settle()
        _ = (recorder.all, other.all)
        network.setRoute(true)
        await settle()
        #expect(recorder.all == [[], onLink])
        #expect(other.all == [[], onLink])
        #expect(network.starts == 1)
        first.cancel()
        second.cancel()
    }

    @Test func `a first evaluation that fails is passed to the handler, and its flags follow`() async throws {
        network.routing.fail(ReachabilityError(operation: "ask", number: 24))
        let numbers = Locked<[Int32]>([])
        let reachability = try network.handle()
        let observation = try reachability.observe(on: .queue(recorder.queue)) { [recorder] result in
            recorder.handler(result)
            if case .failure(let error) = result { numbers.withLock { $0.append(error.number) } }
        }
        await settle()
        #expect(numbers.withLock { $0 } == [24] && recorder.all.isEmpty)
        network.routing.fail(nil)
        network.clock.advance(by: .seconds(1))
        await settle()
        #expect(numbers.withLock { $0 } == [24] && recorder.all == [[]])
        observation.cancel()
    }

    @Test(arguments: 0..<3)
    func `a cancelled observation never calls again, wherever and whatever it delivers`(place: Int)
        async throws
    {
        let delivery = [NetworkSource.Delivery.queue(.global()), .queue(recorder.queue), .onMonitorThread][
            place]
        let calls = Locked(0)
        let reachability = try network.handle()
        let flags = try reachability.observe(on: delivery) { _ in calls.withLock { $0 += 1 } }
        let reports = try reachability.source.observe(reachability.reportQuery(), on: delivery) { _ in
            calls.withLock { $0 += 1 }
        }
        try await eventually("both handlers were called") { calls.withLock { $0 } == 2 }
        await settle()
        flags.cancel()
        reports.cancel()
        network.setRoute(true)
        await settle()
        #expect(calls.withLock { $0 } == 2)
    }

    @Test func `nothing is delivered after cancel`() async throws {
        let observation = try started()
        await settle()
        observation.cancel()
        network.setRoute(true)
        await settle()
        #expect(recorder.all == [[]])
    }

    @Test func `cancel on the queue keeps a call back that was due already`() async throws {
        let reachability = try network.handle()
        recorder.suspend()
        let observation = try reachability.observe(on: .queue(recorder.queue), recorder.handler)
        // On the queue before the first call, and yet the call is due.
        let other = DispatchQueue(label: "other")
        let isStopped = Locked(false)
        other.sync {
            observation.cancel()
            isStopped.withLock { $0 = true }
        }
        recorder.resume()
        #expect(isStopped.withLock { $0 })
        #expect(recorder.all.isEmpty)
    }

    @Test func `cancelling twice does nothing`() throws {
        let observation = try network.handle().observe { _ in }
        observation.cancel()
        observation.cancel()
        #expect(observation.current == nil)
    }

    @Test func `a slow handler gets the newest flags and not all`() async throws {
        let observation = try started()
        _ = recorder.all
        recorder.suspend()
        for isThere in [true, false, true] {
            network.clock.advance(by: .seconds(1))
            network.setRoute(isThere)
            await settle()
        }
        recorder.resume()
        #expect(recorder.all == [[], onLink])
        observation.cancel()
    }

    @Test func `opposite changes during a slow handler are not delivered`() async throws {
        let observation = try started()
        _ = recorder.all
        recorder.suspend()
        for isThere in [true, false] {
            network.clock.advance(by: .seconds(1))
            network.setRoute(isThere)
            await settle()
        }
        recorder.resume()
        #expect(recorder.all == [[]])
        observation.cancel()
    }

    @Test func `calls do not overlap on a concurrent queue`() async throws {
        let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
        let state = Locked((running: 0, most: 0))
        let reachability = try network.handle()
        let observation = try reachability.observe(on: .queue(queue)) { _ in
            state.withLock { $0 = ($0.running + 1, max($0.most, $0.running + 1)) }
            for _ in 0..<100 { _ = try? reachability.blockingFlags() }
            state.withLock { $0.running -= 1 }
        }
        for round in 0..<50 {
            network.clock.advance(by: .seconds(1))
            network.setRoute(round % 2 == 0)
            await settle()
        }
        observation.cancel()
        queue.sync(flags: .barrier) {}
        #expect(state.withLock { $0.most } == 1)
    }

    // MARK: Current flags

    @Test func `the current flags of an address are there at once, and gone after cancel`() throws {
        network.routing.setRoute(.documentation, true)
        let reachability = try network.handle()
        let observation = try reachability.observe(on: .queue(recorder.queue), recorder.handler)
        #expect(observation.current == onLink)
        observation.cancel()
        #expect(observation.current == nil)
    }

    @Test func `the debug descriptions have the target and the flags`() throws {
        network.routing.setRoute(.documentation, true)
        let reachability = try network.handle()
        #expect("\(reachability)" == "NetworkReachability(192.0.2.1)")
        let observation = try reachability.observe { _ in }
        #expect("\(observation)" == "NetworkObservation(\(onLink.letters))")
        observation.cancel()
        #expect("\(observation)" == "NetworkObservation(nil)")
    }

    @Test func `the current flags do not wait for a slow handler`() async throws {
        let observation = try started()
        recorder.suspend()
        network.setRoute(true)
        await settle()
        #expect(observation.current == onLink)
        recorder.resume()
        observation.cancel()
    }

    // MARK: Interfaces that come

    @Test func `an interface that does not exist has no path until it appears`() async throws {
        network.routing.change { $0.snapshot.apply(.removedLink(index: 2)) }
        let reachability = try network.handle(.host("fe80::1%eth0"))
        let observation = try reachability.observe(on: .queue(recorder.queue), recorder.handler)
        #expect(recorder.all == [[]])
        network.routing.setRoute(IPPrefix("fe80::/64"), true)
        network.wire(2, "eth0")
        await settle()
        #expect(recorder.all == [[], onLink])
        observation.cancel()
    }
}
