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

/// Keeps the paths that a handler was called with, by the names of their interfaces.
private final class PathRecorder: Sendable {
    private let paths = Locked<[NetworkPath]>([])
    private let errors = Locked<[ReachabilityError]>([])
    /// A serial queue for the handler.
    let queue = DispatchQueue(label: "paths")

    func record(_ path: NetworkPath) {
        paths.withLock { $0.append(path) }
    }

    func record(_ failure: ReachabilityError) {
        errors.withLock { $0.append(failure) }
    }

    var failures: [ReachabilityError] {
        for _ in 0..<4 { queue.sync {} }
        return errors.withLock { $0 }
    }

    /// What was recorded so far, after everything that is on the queue now, and what that puts there.
    var all: [NetworkPath] {
        for _ in 0..<4 { queue.sync {} }
        return paths.withLock { $0 }
    }

    var names: [[String]] { all.map(\.names) }
}

struct PathObservationTests {
    private static let way = Route.defaultRoute(2, via: "192.0.2.254")

    let network = ScriptedNetwork()
    private let recorder = PathRecorder()

    init() {
        network.wire(2, "eth0")
    }

    private func begin(
        _ query: NetworkQuery<NetworkPath> = .path()
    ) throws -> NetworkObservation<NetworkPath> {
        try network.source.observe(query, on: .queue(recorder.queue)) { [recorder] result in
            switch result {
            case .success(let path): recorder.record(path)
            case .failure(let error): recorder.record(error)
            }
        }
    }

    private func begun(
        _ query: NetworkQuery<NetworkPath> = .path()
    ) async throws -> NetworkObservation<NetworkPath> {
        let observation = try begin(query)
        await network.settle()
        _ = recorder.all
        return observation
    }

    /// Changes the network after the last burst and its second evaluation, and waits for the handler.
    private func change(_ body: () -> Void) async {
        await changeUnseen(body)
        _ = recorder.all
    }

    /// The same without waiting for the handler.
    private func changeUnseen(_ body: () -> Void) async {
        for _ in 0..<2 {
            network.clock.advance(by: .seconds(1))
            await network.settle()
        }
        body()
        await network.settle()
    }

    // MARK: Updates

    @Test func `the handler is called once with the current path`() async throws {
        let observation = try begin()
        #expect(recorder.all.map(\.status) == [.unsatisfied])
        await network.settle()
        #expect(recorder.all.count == 1)
        observation.cancel()
    }

    @Test func `the handler is called when the default route appears and disappears`() async throws {
        let observation = try await begun()
        await change { network.setDefault(Self.way) }
        await change { network.removeDefault(Self.way) }
        await change { network.setDefault(Self.way) }
        #expect(recorder.names == [[], ["eth0"], [], ["eth0"]])
        observation.cancel()
    }

    @Test func `a notification without a change calls no handler`() async throws {
        let observation = try await begun()
        for _ in 0..<5 {
            await change { network.notify(.link(isLoss: true), .rule, .settings) }
        }
        await change { network.setDefault(Self.way) }
        #expect(recorder.names == [[], ["eth0"]])
        observation.cancel()
    }

    @Test func `a new reason of the same path calls no handler, and a path that is asked for has it`()
        async throws
    {
        let observation = try await begun()
        #expect(try network.path().reason.code == .noDefaultRoute)
        let prohibition = Route(destination: .allV4, type: .prohibit)
        await change { network.setDefault(prohibition) }
        #expect(try network.path().reason.code == .prohibited)
        await change { network.removeDefault(prohibition) }
        await change { network.setDefault(Self.way) }
        #expect(recorder.all.map(\.reason.code) == [.noDefaultRoute, .gateway])
        observation.cancel()
    }

    @Test func `a route that the path does not depend on causes no query`() async throws {
        let observation = try await begun()
        _ = network.routing.takeCount()
        let prefix = IPPrefix("198.51.100.0/24")
        await change { network.notify(.route(prefix)) }
        #expect(network.routing.takeCount() == 0)
        observation.cancel()
    }

    @Test func `another gateway, metric order or interface is a change`() async throws {
        network.setDefault(Self.way)
        let observation = try await begun()
        await change {
            network.apply(.route(.defaultRoute(2, via: "192.0.2.253"), .replacing))
        }
        await change { network.wire(3, "eth1") }
        await change { network.setDefault(.defaultRoute(3, via: "198.51.100.254", metric: 10)) }
        #expect(recorder.names == [["eth0"], ["eth0"], ["eth0", "eth1"]])
        #expect(recorder.all.map(\.gatewayTexts).dropFirst().first == ["192.0.2.253"])
        observation.cancel()
    }

    @Test func `a burst is delivered together, as flags are`() async throws {
        let observation = try await begun()
        await change { network.setDefault(Self.way) }
        // Within the burst: only its end is delivered.
        network.removeDefault(Self.way)
        await network.settle()
        network.setDefault(.defaultRoute(2, via: "192.0.2.253"))
        await network.settle()
        network.clock.advance(by: .milliseconds(250))
        await network.settle()
        #expect(recorder.all.map(\.gatewayTexts) == [[], ["192.0.2.254"], ["192.0.2.253"]])
        observation.cancel()
    }

    @Test func `a loss that is notified too early is noticed at the second evaluation`() async throws {
        network.setDefault(Self.way)
        let observation = try await begun()
        network.notify(.link(isLoss: true))
        await network.settle()
        #expect(recorder.names == [["eth0"]])
        network.routing.change { $0.snapshot.apply(.removedRoute(Self.way)) }
        network.clock.advance(by: .milliseconds(250))
        await network.settle()
        #expect(recorder.names == [["eth0"], []])
        observation.cancel()
    }

    @Test func `an IPv6 route that expires is noticed without a notification`() async throws {
        var route = Route.defaultRoute(2, via: "fe80::1", family: .v6)
        route.expires = 500
        network.setDefault(route)
        let observation = try await begun()
        network.routing.change { $0.snapshot.clock += 501 }
        network.clock.advance(by: .milliseconds(5_050))
        await network.settle()
        #expect(recorder.all.map(\.supportsIPv6) == [true, false])
        observation.cancel()
    }

    @Test func `a failed evaluation keeps the path and is tried again`() async throws {
        network.setDefault(Self.way)
        let observation = try await begun()
        await change {
            network.routing.fail(ReachabilityError(operation: "ask", number: 24))
            network.removeDefault(Self.way)
        }
        #expect(recorder.names == [["eth0"]])
        network.routing.fail(nil)
        network.clock.advance(by: .seconds(1))
        await network.settle()
        #expect(recorder.names == [["eth0"], []])
        observation.cancel()
    }

    @Test func `a first evaluation that fails is tried again, and delivered then`() async throws {
        network.setDefault(Self.way)
        network.routing.fail(ReachabilityError(operation: "ask", number: 24))
        let observation = try await begun()
        #expect(recorder.all == [])
        network.routing.fail(nil)
        network.clock.advance(by: .seconds(1))
        await network.settle()
        #expect(recorder.names == [["eth0"]])
        observation.cancel()
    }

    @Test func `observations of a source share one thread`() async throws {
        let observation = try await begun()
        let other = try begin(.path(requiring: .wifi))
        let flags = try NetworkReachability(target: .defaultPath, source: network.source).observe { _ in }
        await network.settle()
        #expect(network.starts == 1)
        #expect(network.source.monitor.userCount == 3)
        flags.cancel()
        other.cancel()
        observation.cancel()
        #expect(network.source.monitor.userCount == 0)
    }

    // MARK: Start and cancel

    @Test func `a cancelled observation calls no handler and has no current path`() async throws {
        let observation = try await begun()
        observation.cancel()
        await change { network.setDefault(Self.way) }
        #expect(recorder.names == [[]])
        #expect(network.source.monitor.userCount == 0)
        #expect(observation.current == nil)
    }

    @Test func `cancel prevents a call that is enqueued already`() throws {
        recorder.queue.suspend()
        let observation = try begin()
        observation.cancel()
        recorder.queue.resume()
        #expect(recorder.all == [])
    }

    // MARK: The handler

    @Test func `a slow handler gets the newest path and skips those in between`() async throws {
        let observation = try await begun()
        recorder.queue.suspend()
        await changeUnseen { network.setDefault(Self.way) }
        await changeUnseen { network.removeDefault(Self.way) }
        await changeUnseen { network.setDefault(.defaultRoute(2, via: "192.0.2.253")) }
        recorder.queue.resume()
        #expect(recorder.all.map(\.gatewayTexts) == [[], ["192.0.2.253"]])
        observation.cancel()
    }

    @Test func `a change that is undone while the handler is slow is not delivered`() async throws {
        let observation = try await begun()
        recorder.queue.suspend()
        await changeUnseen { network.setDefault(Self.way) }
        await changeUnseen { network.removeDefault(Self.way) }
        recorder.queue.resume()
        #expect(recorder.names == [[]])
        observation.cancel()
    }

    // MARK: The current path

    @Test func `asking for the path starts no monitor`() throws {
        #expect(try network.source.blockingValue(of: .path()).status == .unsatisfied)
        network.setDefault(Self.way)
        #expect(try network.source.blockingValue(of: .path()).status == .satisfied)
        #expect(network.starts == 0)
    }

    @Test func `the current path of an observation needs no query`() async throws {
        network.setDefault(Self.way)
        let observation = try await begun()
        _ = network.routing.takeCount()
        #expect(observation.current?.names == ["eth0"])
        #expect(network.routing.takeCount() == 0)
        observation.cancel()
    }

    // MARK: Failures

    /// A source whose monitor cannot run, and a closure that repairs it.
    private func failing() -> (NetworkSource, repair: @Sendable () -> Void) {
        let isBroken = Locked(true)
        let source = NetworkSource(
            routing: network.routing,
            resolver: ScriptedResolver(),
            clock: ManualMonitorClock(network.clock),
            changes: { () throws(ReachabilityError) in
                if isBroken.withLock({ $0 }) { throw ReachabilityError(operation: "open", number: 24) }
                return try SimulatedFeeds().open()
            }
        )
        network.setDefault(Self.way)
        return (source, { isBroken.withLock { $0 = false } })
    }

    @Test func `a monitor that cannot run is an error, and can run later`() throws {
        let (source, repair) = failing()
        let error = #expect(throws: ReachabilityError.self) { try source.observe(.path()) { _ in } }
        #expect(error?.number == 24)
        repair()
        let observation = try source.observe(.path()) { _ in }
        #expect(observation.current?.status == .satisfied)
        observation.cancel()
    }

    @Test func `a path that cannot be found is a failure, and the path after it is delivered, equal or not`()
        async throws
    {
        network.setDefault(Self.way)
        let observation = try await begun()
        await change {
            network.routing.fail(ReachabilityError(operation: "ask", number: 24))
            network.notify(.settings)
        }
        #expect(recorder.failures.map(\.number) == [24])
        #expect(recorder.all.map(\.status) == [.satisfied])
        network.routing.fail(nil)
        network.clock.advance(by: .seconds(1))
        await network.settle()
        #expect(recorder.all.map(\.status) == [.satisfied, .satisfied])
        observation.cancel()
    }

    @Test func `a loop fails if the monitor cannot run, and ends`() async throws {
        var loop = failing().0.updates(of: .path()).makeAsyncIterator()
        let error = await #expect(throws: ReachabilityError.self) { try await loop.next() }
        #expect(error?.number == 24)
        #expect(try await loop.next() == nil)
    }

    @Test func `a loop continues with the next path after a failure`() async throws {
        network.routing.fail(ReachabilityError(operation: "ask", number: 24))
        network.setDefault(Self.way)
        var loop = network.source.updates(of: .path()).makeAsyncIterator()
        await network.settle()
        network.routing.fail(nil)
        network.clock.advance(by: .seconds(1))
        #expect(try await loop.next()?.status == .satisfied)
    }

    // MARK: Restrictions

    @Test func `a path with a required type is satisfied when an interface of it gets a route`() async throws
    {
        network.setDefault(Self.way)
        network.wire(3, "wlan0")
        network.routing.change { $0.wirelessIndexes = [3] }
        let observation = try await begun(.path(requiring: .wifi))
        await change { network.setDefault(.defaultRoute(3, via: "198.51.100.254", metric: 600)) }
        #expect(recorder.names == [[], ["wlan0"]])
        observation.cancel()
    }

    @Test func `a path never takes a prohibited type`() async throws {
        network.setDefault(Self.way)
        let observation = try await begun(.path(prohibiting: [.wiredEthernet]))
        #expect(recorder.all.map(\.status) == [.unsatisfied])
        observation.cancel()
    }
}
