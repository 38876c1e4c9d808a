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

struct PathMonitorTests {
    private static let way = Route.defaultRoute(2, via: "192.0.2.254")

    let network = ScriptedNetwork()
    private let recorder = PathRecorder()

    init() {
        network.wire(2, "eth0")
    }

    private func makeMonitor() -> NetworkPathMonitor {
        let monitor = NetworkPathMonitor(source: network.source)
        monitor.pathUpdateHandler = { [recorder] in recorder.record($0) }
        monitor.failureHandler = { [recorder] in recorder.record($0) }
        return monitor
    }

    private func started() async -> NetworkPathMonitor {
        let monitor = makeMonitor()
        monitor.start(queue: recorder.queue)
        await network.settle()
        _ = recorder.all
        return monitor
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

    @Test func `the handler is called once with the current path`() async {
        let monitor = makeMonitor()
        monitor.start(queue: recorder.queue)
        #expect(recorder.all.map(\.status) == [.unsatisfied])
        await network.settle()
        #expect(recorder.all.count == 1)
        monitor.cancel()
    }

    @Test func `the handler is called when the default route appears and disappears`() async {
        let monitor = await started()
        await change { network.setDefault(Self.way) }
        await change { network.removeDefault(Self.way) }
        await change { network.setDefault(Self.way) }
        #expect(recorder.names == [[], ["eth0"], [], ["eth0"]])
        monitor.cancel()
    }

    @Test func `a notification without a change calls no handler`() async {
        let monitor = await started()
        for _ in 0..<5 {
            await change { network.notify(.link(isLoss: true), .rule, .settings) }
        }
        await change { network.setDefault(Self.way) }
        #expect(recorder.names == [[], ["eth0"]])
        monitor.cancel()
    }

    @Test func `a route that the path does not depend on causes no question`() async throws {
        let monitor = await started()
        _ = network.routing.takeCount()
        let prefix = IPPrefix("198.51.100.0/24")
        await change { network.notify(.route(prefix)) }
        #expect(network.routing.takeCount() == 0)
        monitor.cancel()
    }

    @Test func `another gateway, metric order or interface is a change`() async {
        network.setDefault(Self.way)
        let monitor = await started()
        await change {
            network.apply(.route(.defaultRoute(2, via: "192.0.2.253"), .replacing))
        }
        await change { network.wire(3, "eth1") }
        await change { network.setDefault(.defaultRoute(3, via: "198.51.100.254", metric: 10)) }
        #expect(recorder.names == [["eth0"], ["eth0"], ["eth0", "eth1"]])
        #expect(recorder.all.map(\.gatewayTexts).dropFirst().first == ["192.0.2.253"])
        monitor.cancel()
    }

    @Test func `a burst is delivered together, as flags are`() async {
        let monitor = await started()
        await change { network.setDefault(Self.way) }
        // Within the burst: only its end is delivered.
        network.removeDefault(Self.way)
        await network.settle()
        network.setDefault(.defaultRoute(2, via: "192.0.2.253"))
        await network.settle()
        network.clock.advance(by: .milliseconds(250))
        await network.settle()
        #expect(recorder.all.map(\.gatewayTexts) == [[], ["192.0.2.254"], ["192.0.2.253"]])
        monitor.cancel()
    }

    @Test func `a loss that is notified too early is noticed at the second evaluation`() async {
        network.setDefault(Self.way)
        let monitor = await started()
        network.notify(.link(isLoss: true))
        await network.settle()
        #expect(recorder.names == [["eth0"]])
        network.routing.change { $0.snapshot.apply(.removedRoute(Self.way)) }
        network.clock.advance(by: .milliseconds(250))
        await network.settle()
        #expect(recorder.names == [["eth0"], []])
        monitor.cancel()
    }

    @Test func `an IPv6 route that expires is noticed without a notification`() async {
        var route = Route.defaultRoute(2, via: "fe80::1", family: .v6)
        route.expires = 500
        network.setDefault(route)
        let monitor = await started()
        network.routing.change { $0.snapshot.clock += 501 }
        network.clock.advance(by: .milliseconds(5_050))
        await network.settle()
        #expect(recorder.all.map(\.supportsIPv6) == [true, false])
        monitor.cancel()
    }

    @Test func `a failed evaluation keeps the path and is tried again`() async {
        network.setDefault(Self.way)
        let monitor = await started()
        await change {
            network.routing.fail(ReachabilityError(operation: "ask", number: 24))
            network.removeDefault(Self.way)
        }
        #expect(recorder.names == [["eth0"]])
        network.routing.fail(nil)
        network.clock.advance(by: .seconds(1))
        await network.settle()
        #expect(recorder.names == [["eth0"], []])
        monitor.cancel()
    }

    @Test func `a first evaluation that fails is tried again, and delivered then`() async {
        network.setDefault(Self.way)
        network.routing.fail(ReachabilityError(operation: "ask", number: 24))
        let monitor = await started()
        #expect(recorder.all == [])
        network.routing.fail(nil)
        network.clock.advance(by: .seconds(1))
        await network.settle()
        #expect(recorder.names == [["eth0"]])
        monitor.cancel()
    }

    @Test func `path monitors and handles of a source share one thread`() async throws {
        let monitor = await started()
        let other = NetworkPathMonitor(requiredInterfaceType: .wifi, source: network.source)
        other.start(queue: recorder.queue)
        let handle = try NetworkReachability(target: .defaultPath, source: network.source)
        try handle.start(.flags) { _ in }
        await network.settle()
        #expect(network.starts == 1)
        #expect(network.source.monitor.userCount == 3)
        handle.stop()
        other.cancel()
        monitor.cancel()
        #expect(network.source.monitor.userCount == 0)
    }

    // MARK: Start and cancel

    @Test func `starting twice has no effect`() async {
        let monitor = await started()
        monitor.start(queue: recorder.queue)
        monitor.start(queue: DispatchQueue(label: "another"))
        await change { network.setDefault(Self.way) }
        #expect(recorder.names == [[], ["eth0"]])
        #expect(network.source.monitor.userCount == 1)
        #expect(monitor.queue === recorder.queue)
        monitor.cancel()
    }

    @Test func `a cancelled monitor calls no handler and cannot be started again`() async {
        let monitor = await started()
        monitor.cancel()
        await change { network.setDefault(Self.way) }
        monitor.start(queue: recorder.queue)
        monitor.pathUpdateHandler = { [recorder] in recorder.record($0) }
        monitor.start(queue: recorder.queue)
        #expect(recorder.names == [[]])
        #expect(monitor.pathUpdateHandler == nil)
        #expect(monitor.queue == nil)
        #expect(network.source.monitor.userCount == 0)
        #expect(monitor.currentPath?.names == ["eth0"])
    }

    @Test func `cancel prevents a call that is enqueued already`() {
        let monitor = makeMonitor()
        recorder.queue.suspend()
        monitor.start(queue: recorder.queue)
        monitor.cancel()
        recorder.queue.resume()
        #expect(recorder.all == [])
    }

    @Test func `cancel releases the handler`() async {
        let monitor = makeMonitor()
        weak var kept: PathRecorder?
        do {
            let own = PathRecorder()
            kept = own
            monitor.pathUpdateHandler = { own.record($0) }
        }
        monitor.start(queue: recorder.queue)
        _ = recorder.all
        #expect(kept != nil)
        monitor.cancel()
        _ = recorder.all
        #expect(kept == nil)
    }

    @Test func `releasing the monitor ends it`() async {
        var monitor: NetworkPathMonitor? = await started()
        weak let released = monitor
        monitor = nil
        #expect(released == nil)
        await change { network.setDefault(Self.way) }
        #expect(recorder.names == [[]])
        #expect(network.source.monitor.userCount == 0)
    }

    @Test func `a handler can cancel and release its monitor`() async {
        let box = Locked<NetworkPathMonitor?>(makeMonitor())
        box.withLock { monitor in
            monitor?.pathUpdateHandler = { [recorder] path in
                recorder.record(path)
                let monitor = box.withLock { $0.take() }
                monitor?.cancel()
            }
            monitor?.start(queue: recorder.queue)
        }
        #expect(recorder.all.count == 1)
        await change { network.setDefault(Self.way) }
        #expect(recorder.all.count == 1)
        #expect(network.source.monitor.userCount == 0)
    }

    // MARK: The handler

    @Test func `a handler that is set after the start gets the current path`() async {
        network.setDefault(Self.way)
        let monitor = NetworkPathMonitor(source: network.source)
        monitor.start(queue: recorder.queue)
        await network.settle()
        monitor.pathUpdateHandler = { [recorder] in recorder.record($0) }
        #expect(recorder.names == [["eth0"]])
        monitor.pathUpdateHandler = nil
        await change { network.removeDefault(Self.way) }
        #expect(recorder.names == [["eth0"]])
        #expect(monitor.currentPath?.names == [])
        monitor.cancel()
    }

    @Test func `a slow handler gets the newest path and skips those in between`() async {
        let monitor = await started()
        recorder.queue.suspend()
        await changeUnseen { network.setDefault(Self.way) }
        await changeUnseen { network.removeDefault(Self.way) }
        await changeUnseen { network.setDefault(.defaultRoute(2, via: "192.0.2.253")) }
        recorder.queue.resume()
        #expect(recorder.all.map(\.gatewayTexts) == [[], ["192.0.2.253"]])
        monitor.cancel()
    }

    @Test func `a change that is undone while the handler is slow is not delivered`() async {
        let monitor = await started()
        recorder.queue.suspend()
        await changeUnseen { network.setDefault(Self.way) }
        await changeUnseen { network.removeDefault(Self.way) }
        recorder.queue.resume()
        #expect(recorder.names == [[]])
        monitor.cancel()
    }

    // MARK: The current path

    @Test func `the current path needs no start`() {
        let monitor = makeMonitor()
        #expect(monitor.currentPath?.status == .unsatisfied)
        network.setDefault(Self.way)
        #expect(monitor.currentPath?.status == .satisfied)
        #expect(recorder.all == [])
        #expect(network.starts == 0)
    }

    @Test func `the current path needs no question while started`() async throws {
        network.setDefault(Self.way)
        let monitor = await started()
        _ = network.routing.takeCount()
        #expect(monitor.currentPath?.names == ["eth0"])
        #expect(network.routing.takeCount() == 0)
        monitor.cancel()
    }

    // MARK: Failures

    /// A monitor whose start has failed, and a closure that repairs it.
    private func failed() -> (NetworkPathMonitor, repair: @Sendable () -> Void) {
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
        let monitor = NetworkPathMonitor(source: source)
        monitor.pathUpdateHandler = { [recorder] in recorder.record($0) }
        monitor.failureHandler = { [recorder] in recorder.record($0) }
        monitor.start(queue: recorder.queue)
        return (monitor, { isBroken.withLock { $0 = false } })
    }

    @Test func `a monitor that cannot run reports the failure, no path, and can be started again`() {
        let (monitor, repair) = failed()
        #expect(recorder.all.isEmpty)
        #expect(recorder.failures.map(\.number) == [24])
        repair()
        monitor.start(queue: recorder.queue)
        #expect(recorder.all.map(\.status) == [.satisfied])
        #expect(recorder.failures.count == 1)
        monitor.cancel()
    }

    @Test func `a path that cannot be found is a failure, and the path after it is delivered, equal or not`()
        async
    {
        network.setDefault(Self.way)
        let monitor = await started()
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
        monitor.cancel()
    }

    @Test func `a loop fails if the monitor cannot run, and ends`() async throws {
        var loop = failed().0.makeAsyncIterator()
        let error = await #expect(throws: ReachabilityError.self) { try await loop.next() }
        #expect(error?.number == 24)
        #expect(try await loop.next() == nil)
    }

    @Test func `a loop that skips failures continues with the next path`() async throws {
        network.routing.fail(ReachabilityError(operation: "ask", number: 24))
        network.setDefault(Self.way)
        var loop = makeMonitor().skippingFailures.makeAsyncIterator()
        await network.settle()
        network.routing.fail(nil)
        network.clock.advance(by: .seconds(1))
        #expect(try await loop.next()?.status == .satisfied)
    }

    @Test func `a loop after a failed start does not call the handler`() async throws {
        let (monitor, repair) = failed()
        repair()
        for try await path in monitor {
            #expect(path.status == .satisfied)
            break
        }
        #expect(recorder.all.isEmpty)
        monitor.cancel()
    }

    @Test func `the handler can be removed after a failed start`() {
        weak var kept: PathRecorder?
        let monitor: NetworkPathMonitor
        do {
            let own = PathRecorder()
            kept = own
            monitor = failed().0
            monitor.pathUpdateHandler = { own.record($0) }
            monitor.start(queue: recorder.queue)
        }
        monitor.pathUpdateHandler = nil
        _ = recorder.all
        #expect(kept == nil)
        monitor.cancel()
    }

    // MARK: Restrictions

    @Test func `a path with a required type is satisfied when an interface of it gets a route`() async {
        network.setDefault(Self.way)
        network.wire(3, "wlan0")
        network.routing.change { $0.wirelessIndexes = [3] }
        let monitor = NetworkPathMonitor(requiredInterfaceType: .wifi, source: network.source)
        monitor.pathUpdateHandler = { [recorder] in recorder.record($0) }
        monitor.start(queue: recorder.queue)
        await network.settle()
        _ = recorder.all
        await change { network.setDefault(.defaultRoute(3, via: "198.51.100.254", metric: 600)) }
        #expect(recorder.names == [[], ["wlan0"]])
        monitor.cancel()
    }

    @Test func `a path never takes a prohibited type`() async {
        network.setDefault(Self.way)
        let monitor = NetworkPathMonitor(prohibitedInterfaceTypes: [.wiredEthernet], source: network.source)
        monitor.pathUpdateHandler = { [recorder] in recorder.record($0) }
        monitor.start(queue: recorder.queue)
        await network.settle()
        #expect(recorder.all.map(\.status) == [.unsatisfied])
        monitor.cancel()
    }
}
