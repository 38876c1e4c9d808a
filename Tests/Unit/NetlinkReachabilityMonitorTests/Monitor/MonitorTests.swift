// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import Dispatch
import Fakes
import NetlinkReachabilityTestKit
import RoutingModel
import SystemSupport
import Testing

@testable import NetlinkReachability

private let onLink: ReachabilityFlags = [.reachable, .isDirect]
private let name = "www.example.com"

struct MonitorTests {
    let network = ScriptedNetwork()
    let recorder = Recorder()

    private func settle(_ network: ScriptedNetwork? = nil) async {
        await (network ?? self.network).source.monitor.settle()
        recorder.drain()
    }

    private func start(
        _ target: ReachabilityTarget = .address(IPAddress(192, 0, 2, 1)),
        in network: ScriptedNetwork? = nil
    ) async throws -> NetworkObservation<ReachabilityFlags> {
        let network = network ?? self.network
        let observation = try network.handle(target).observe(on: .queue(recorder.queue), recorder.handler)
        await settle(network)
        _ = network.routing.takeAsked()
        return observation
    }

    @Test func `a route notification evaluates the targets inside its prefix only`() async throws {
        let inside = try await start()
        let outside = try await start(.address(IPAddress(198, 51, 100, 1)))
        network.notify(.route(.documentation))
        await settle()
        #expect(network.routing.takeAsked() == [IPAddress(192, 0, 2, 1)])
        inside.cancel()
        outside.cancel()
    }

    @Test func `a route that is removed without a notification is noticed later`() async throws {
        network.routing.setRoute(.documentation, true)
        let observation = try await start()
        network.notify(.link(isLoss: true))
        await settle()
        network.routing.setRoute(.documentation, false)
        network.clock.advance(by: .milliseconds(250))
        await settle()
        #expect(recorder.all == [onLink, []])
        observation.cancel()
    }

    @Test func `an IPv6 route that expires is noticed without a notification`() async throws {
        let prefix = IPPrefix("2001:db8::/32")
        network.routing.setRoute(prefix, true, expires: 500)
        let observation = try await start(.host("2001:db8::1"))
        network.routing.setRoute(prefix, false, expires: 500)
        network.clock.advance(by: .milliseconds(5_049))
        await settle()
        #expect(recorder.all == [onLink])
        network.clock.advance(by: .milliseconds(1))
        await settle()
        #expect(recorder.all == [onLink, []])
        observation.cancel()
    }

    @Test func `everything is evaluated after an overrun`() async throws {
        let observation = try await start()
        network.routing.setRoute(.documentation, true)
        network.overrun()
        await settle()
        #expect(recorder.all == [[]])
        network.clock.advance(by: .milliseconds(50))
        await settle()
        #expect(recorder.all == [[], onLink])
        #expect(network.source.monitorCounters.overruns == 1)
        observation.cancel()
    }

    @Test func `everything is evaluated periodically if notifications are refused`() async throws {
        let network = ScriptedNetwork(refusedGroups: 3)
        let observation = try await start(in: network)
        network.routing.setRoute(.documentation, true)
        network.clock.advance(by: .seconds(5))
        await settle(network)
        #expect(recorder.all == [[], onLink])
        #expect(network.source.monitorCounters.polls == 1)
        #expect(network.source.monitorCounters.refusedGroups == 3)
        observation.cancel()
    }

    @Test func `everything is evaluated periodically after the feed failed`() async throws {
        let observation = try await start()
        network.breakFeed()
        await settle()
        network.routing.setRoute(.documentation, true)
        network.clock.advance(by: .seconds(5))
        await settle()
        #expect(recorder.all == [[], onLink])
        observation.cancel()
    }

    /// A broken feed was never opened again.
    @Test func `a feed that failed is opened again at the next poll, and its notifications count`()
        async throws
    {
        let observation = try await start()
        network.breakFeed()
        await settle()
        network.clock.advance(by: .seconds(5))
        await settle()
        #expect(network.source.monitorCounters.polls == 1)
        #expect(network.starts == 2)
        network.setRoute(true)
        await settle()
        network.clock.advance(by: .seconds(1))
        await settle()
        #expect(recorder.all == [[], onLink])
        network.clock.advance(by: .seconds(20))
        await settle()
        #expect(network.source.monitorCounters.polls == 1)
        observation.cancel()
    }

    @Test func `everything is evaluated after the machine has slept`() async throws {
        let observation = try await start()
        network.routing.setRoute(.documentation, true)
        network.clock.sleepMachine(for: .milliseconds(900))
        await settle()
        #expect(recorder.all == [[]])
        network.clock.sleepMachine(for: .seconds(3_600))
        await settle()
        #expect(recorder.all == [[], onLink])
        #expect(network.source.monitorCounters.sleeps == 1)
        observation.cancel()
    }

    @Test func `a failed evaluation keeps the flags and is tried again`() async throws {
        network.routing.setRoute(.documentation, true)
        let observation = try await start()
        network.routing.setRoute(.documentation, false)
        network.routing.fail(ReachabilityError(operation: "ask", number: 110))
        network.notify(.settings)
        await settle()
        #expect(recorder.all == [onLink])
        network.routing.fail(nil)
        network.clock.advance(by: .seconds(1))
        await settle()
        #expect(recorder.all == [onLink, []])
        #expect(network.source.monitorCounters.failures == 1)
        observation.cancel()
    }

    @Test func `the counters continue with the next thread of the monitor`() async throws {
        let first = try await start()
        let asked = network.source.monitorCounters.evaluations
        #expect(asked == 1)
        first.cancel()
        try await eventually("the thread has ended") { network.source.monitor.threadCount == 0 }
        let second = try await start()
        #expect(network.source.monitorCounters.evaluations == 2)
        #expect(network.starts == 2)
        second.cancel()
    }

    @Test func `an ending thread still counts after the next one has begun`() async throws {
        let first = try await start()
        let isAsking = Locked(false)
        let gate = DispatchSemaphore(value: 0)
        network.routing.beforeNext {
            isAsking.withLock { $0 = true }
            gate.wait()
        }
        network.notify(.route(.documentation))
        try await eventually("the monitor asks") { isAsking.withLock { $0 } }
        first.cancel()
        let second = try await start()
        #expect(network.source.monitorCounters.evaluations == 2)
        gate.signal()
        try await eventually("the first thread has ended") { network.source.monitor.threadCount == 1 }
        await settle()
        #expect(network.source.monitorCounters.evaluations == 3)
        second.cancel()
    }

    @Test func `a clock keeps no listener of a thread that has ended`() async throws {
        for _ in 0..<3 {
            let observation = try await start()
            observation.cancel()
            try await eventually("the thread has ended") { network.source.monitor.threadCount == 0 }
        }
        #expect(network.starts == 3)
        #expect(network.clock.moveListenerCount == 1)
    }

    // MARK: Names

    /// Begins an iteration over the flags of a name.
    private func startName(in network: ScriptedNetwork) async throws
        -> NetworkUpdates<ReachabilityFlags>.Iterator
    {
        try network.handle(.host(name)).updates.makeAsyncIterator()
    }

    @Test func `a name is resolved, and its addresses are evaluated`() async throws {
        network.resolver.set(name, .addresses([IPAddress(192, 0, 2, 1)]))
        network.routing.setRoute(.documentation, true)
        var updates = try await startName(in: network)
        #expect(try await updates.next() == onLink)
        await settle()
        network.setRoute(false)
        #expect(try await updates.next() == [])
        #expect(network.resolver.count == 1)
    }

    @Test func `a name that does not exist is not reachable`() async throws {
        var updates = try await startName(in: network)
        #expect(try await updates.next() == [])
    }

    /// The first result was "not reachable".
    @Test func `a resolver that cannot run is not an answer, and is tried again`() async throws {
        network.resolver.fail(ReachabilityError(operation: "resolve", number: 11))
        network.resolver.set(name, .addresses([IPAddress(192, 0, 2, 1)]))
        network.routing.setRoute(.documentation, true)
        let observation = try await start(.host(name))
        #expect(recorder.all.isEmpty)
        network.resolver.fail(nil)
        network.clock.advance(by: .seconds(1))
        await settle()
        #expect(recorder.all == [onLink])
        observation.cancel()
    }

    @Test func `a resolver that hangs is given up after its time-out`() async throws {
        let held = DispatchSemaphore(value: 0)
        let resolver = SystemResolver { _, _ in
            held.wait()
            return .notFound
        }
        let clock = ManualMonitorClock(network.clock)
        let source = NetworkSource(routing: network.routing, resolver: resolver, clock: clock)
        var options = ReachabilityOptions()
        options.resolution.timeout = .milliseconds(1)
        let reachability = try NetworkReachability(target: .host(name), options: options, source: source)
        let observation = try reachability.observe(on: .queue(recorder.queue), recorder.handler)
        try await eventually("the name is given up") { observation.current != nil }
        await source.monitor.settle()
        recorder.drain()
        #expect(recorder.all == [[]])
        #expect(source.monitorCounters.failedResolutions == 1)
        observation.cancel()
        held.signal()
    }

    @Test func `another default path resolves names again`() async throws {
        network.resolver.set(name, .addresses([IPAddress(198, 51, 100, 1)]))
        network.routing.setRoute(.documentation, true)
        var updates = try await startName(in: network)
        #expect(try await updates.next() == [])
        await settle()
        network.resolver.set(name, .addresses([IPAddress(192, 0, 2, 1)]))
        network.routing.setRoute(.allV6, true)
        network.notify(.link(isLoss: false))
        #expect(try await updates.next() == onLink)
        #expect(network.resolver.count == 2)
    }
}
