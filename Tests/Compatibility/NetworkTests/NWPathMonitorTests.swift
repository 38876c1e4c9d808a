// SPDX-License-Identifier: Apache-2.0

import Fakes
import NetlinkReachability
import NetlinkReachabilityTestKit
import RoutingModel
import SystemSupport
import Testing

@testable import LinuxNetwork

// What programs add to Apple's types, which must not be there already.
extension NWInterface.InterfaceType: CaseIterable {
    static var allCases: [NWInterface.InterfaceType] {
        [.other, .wifi, .cellular, .loopback, .wiredEthernet]
    }
}

struct NWPathMonitorTests {
    private let host = ScriptedNetwork.withModem()

    private func makeMonitor() -> NWPathMonitor {
        NWPathMonitor(source: host.source)
    }

    @Test func `a handler is called on its queue for each change`() async {
        let monitor = makeMonitor()
        let (paths, continuation) = AsyncStream.makeStream(of: NWPath.self)
        monitor.pathUpdateHandler = { path in continuation.yield(path) }
        #expect(monitor.queue == nil)
        let queue = DispatchQueue(label: "paths")
        monitor.start(queue: queue)
        monitor.start(queue: queue)
        #expect(monitor.queue === queue)
        var iterator = paths.makeAsyncIterator()
        #expect(await iterator.next()?.status == .unsatisfied)
        // The monitor's thread looks once more. A path that is found during a change can have a part of it.
        await host.settle()
        host.setDefault(2, via: IPAddress(192, 0, 2, 254))
        #expect(await iterator.next()?.status == .satisfied)
        await host.settle()
        host.removeDefault(2, via: IPAddress(192, 0, 2, 254))
        #expect(await iterator.next()?.status == .unsatisfied)
        monitor.cancel()
        #expect(monitor.pathUpdateHandler == nil)
    }

    @Test func `a started monitor that nothing refers to runs until it is cancelled`() async throws {
        let (paths, continuation) = AsyncStream.makeStream(of: NWPath.self)
        let box = start(reporting: continuation)
        var iterator = paths.makeAsyncIterator()
        #expect(await iterator.next()?.status == .unsatisfied)
        for round in 0..<10 {
            let isOn = round % 2 == 0
            // A path that is found during a change can have a part of it.
            await host.settle()
            if isOn {
                host.setDefault(2, via: IPAddress(192, 0, 2, 254))
            } else {
                host.removeDefault(2, via: IPAddress(192, 0, 2, 254))
            }
            #expect(await iterator.next()?.status == (isOn ? .satisfied : .unsatisfied))
        }
        #expect(box.monitor != nil && box.state != nil)
        #expect(host.source.monitor.userCount == 1)
        box.monitor?.cancel()
        // The handler holds the last reference to the stream's continuation.
        #expect(await iterator.next() == nil)
        await box.queueIsEmpty()
        #expect(box.monitor == nil && box.state == nil)
        let shared = host.source.monitor
        try await eventually("the end of the thread") { shared.userCount == 0 && shared.threadCount == 0 }
    }

    /// Starts a monitor and returns without a reference to it.
    private func start(reporting continuation: AsyncStream<NWPath>.Continuation) -> WeakMonitor {
        let monitor = makeMonitor()
        let state = HandlerState(continuation)
        monitor.pathUpdateHandler = { path in state.continuation.yield(path) }
        let queue = DispatchQueue(label: "paths")
        monitor.start(queue: queue)
        return WeakMonitor(monitor, state, queue)
    }

    @Test func `a monitor that was not started is released with its last reference`() {
        weak var monitor: NWPathMonitor?
        do {
            let unstarted = makeMonitor()
            unstarted.pathUpdateHandler = { _ in }
            monitor = unstarted
        }
        #expect(monitor == nil)
    }

    @Test func `a cancelled monitor that is started is not kept`() {
        weak var monitor: NWPathMonitor?
        do {
            let cancelled = makeMonitor()
            cancelled.cancel()
            cancelled.start(queue: DispatchQueue(label: "paths"))
            monitor = cancelled
        }
        #expect(monitor == nil)
    }

    @Test func `a handler that was set can be read and called`() {
        let monitor = makeMonitor()
        let called = Locked<[NWPath.Status]>([])
        monitor.pathUpdateHandler = { path in called.withLock { $0.append(path.status) } }
        monitor.pathUpdateHandler?(monitor.currentPath)
        #expect(called.withLock { $0 } == [.unsatisfied])
        monitor.pathUpdateHandler = nil
        #expect(monitor.pathUpdateHandler == nil)
    }

    @Test func `it is a sequence that ends with cancel`() async {
        let monitor = makeMonitor()
        var statuses: [NWPath.Status] = []
        for await path in monitor {
            statuses.append(path.status)
            if path.status == .satisfied {
                monitor.cancel()
            } else {
                // The monitor's thread looks once more. A path that is found during a change can have a part of it.
                await host.settle()
                host.setDefault(2, via: IPAddress(192, 0, 2, 254))
            }
        }
        #expect(statuses == [.unsatisfied, .satisfied])
    }

    @Test func `the current path is right before the start`() {
        let monitor = makeMonitor()
        host.setDefault(2, via: IPAddress(192, 0, 2, 254))
        #expect(monitor.currentPath.status == .satisfied)
    }

    @Test func `the path of a cancelled monitor stays as it was`() async {
        let monitor = makeMonitor()
        let (paths, continuation) = AsyncStream.makeStream(of: NWPath.self)
        monitor.pathUpdateHandler = { path in continuation.yield(path) }
        monitor.start(queue: DispatchQueue(label: "paths"))
        var iterator = paths.makeAsyncIterator()
        #expect(await iterator.next()?.status == .unsatisfied)
        monitor.cancel()
        host.setDefault(2, via: IPAddress(192, 0, 2, 254))
        #expect(monitor.currentPath.status == .unsatisfied)
        monitor.cancel()
        #expect(monitor.currentPath.status == .unsatisfied)
    }

    /// An initializer that starts a monitor on its own queue can go on to set what the handler uses.
    @Test func `a serial queue calls the handler after the work item that starts the monitor`() async {
        let queue = DispatchQueue(label: "paths")
        let isSetUp = Locked(false)
        let monitor = makeMonitor()
        let sawSetUp = await withCheckedContinuation { continuation in
            monitor.pathUpdateHandler = { _ in continuation.resume(returning: isSetUp.withLock { $0 }) }
            queue.async {
                monitor.start(queue: queue)
                isSetUp.withLock { $0 = true }
            }
        }
        #expect(sawSetUp)
        monitor.cancel()
    }

    @Test func `the handler runs on the queue that the program gave`() async {
        let queue = DispatchQueue(label: "paths")
        let key = DispatchSpecificKey<String>()
        queue.setSpecific(key: key, value: "given")
        let monitor = makeMonitor()
        let found = await withCheckedContinuation { continuation in
            monitor.pathUpdateHandler = { _ in
                dispatchPrecondition(condition: .onQueue(queue))
                continuation.resume(returning: DispatchQueue.getSpecific(key: key))
            }
            monitor.start(queue: queue)
        }
        #expect(found == "given")
        monitor.cancel()
    }

    @Test func `a monitor that cannot start has an unsatisfied path, and can be started again`() async {
        let isBroken = Locked(true)
        let source = NetworkSource(
            routing: host.routing,
            resolver: ScriptedResolver(),
            changes: { () throws(ReachabilityError) in
                if isBroken.withLock({ $0 }) { throw ReachabilityError(operation: "open", number: 24) }
                return try SimulatedFeeds().open()
            }
        )
        host.setDefault(2, via: IPAddress(192, 0, 2, 254))
        let monitor = NWPathMonitor(source: source)
        let (paths, continuation) = AsyncStream.makeStream(of: NWPath.self)
        monitor.pathUpdateHandler = { path in continuation.yield(path) }
        monitor.start(queue: DispatchQueue(label: "paths"))
        var iterator = paths.makeAsyncIterator()
        #expect(await iterator.next()?.status == .unsatisfied)
        #expect(monitor.queue == nil)
        isBroken.withLock { $0 = false }
        monitor.start(queue: DispatchQueue(label: "paths"))
        #expect(await iterator.next()?.status == .satisfied)
        #expect(monitor.queue != nil)
        monitor.cancel()
    }

    @Test func `a handler that is set after the start gets the current path, and the one before no more`()
        async
    {
        let monitor = makeMonitor()
        let queue = DispatchQueue(label: "paths")
        monitor.start(queue: queue)
        let (before, beforeContinuation) = AsyncStream.makeStream(of: NWPath.self)
        monitor.pathUpdateHandler = { path in beforeContinuation.yield(path) }
        var first = before.makeAsyncIterator()
        #expect(await first.next()?.status == .unsatisfied)
        let (after, continuation) = AsyncStream.makeStream(of: NWPath.self)
        monitor.pathUpdateHandler = { path in continuation.yield(path) }
        var second = after.makeAsyncIterator()
        #expect(await second.next()?.status == .unsatisfied)
        await host.settle()
        host.setDefault(2, via: IPAddress(192, 0, 2, 254))
        #expect(await second.next()?.status == .satisfied)
        beforeContinuation.finish()
        #expect(await first.next() == nil)
        monitor.cancel()
    }

    @Test func `the description of a monitor has its path`() {
        let monitor = makeMonitor()
        #expect("\(monitor)" == "NWPathMonitor(unsatisfied)")
        host.setDefault(2, via: IPAddress(192, 0, 2, 254))
        #expect("\(monitor)" == "NWPathMonitor(satisfied, interface: eth0, ipv4, dns)")
    }

    @Test func `types can be required and prohibited`() {
        host.setDefault(2, via: IPAddress(192, 0, 2, 254))
        let wifi = NWPathMonitor(.init(required: .wifi), host.source, RadioFacts())
        #expect(wifi.currentPath.status == .unsatisfied)
        let wireless = NWPathMonitor(.init(prohibited: [.wiredEthernet]), host.source, RadioFacts())
        #expect(wireless.currentPath.availableInterfaces == [])
    }

    @Test func `the path over the loopback interface is not expensive`() {
        let path = NWPathMonitor(requiredInterfaceType: .loopback).currentPath
        #expect(!path.isExpensive && !path.isConstrained)
        #expect(path.localEndpoint == nil && path.remoteEndpoint == nil)
        #expect(path.availableInterfaces.allSatisfy { $0.index != 0 && $0.type == .loopback })
    }

    @Test func `the three ways to make one ask the kernel of this host`() {
        let wired = NWPathMonitor(requiredInterfaceType: .wiredEthernet).currentPath
        let others = NWPathMonitor(prohibitedInterfaceTypes: [.wiredEthernet]).currentPath
        let all = NWPathMonitor().currentPath
        #expect(wired.availableInterfaces == all.availableInterfaces.filter { $0.type == .wiredEthernet })
        #expect(others.availableInterfaces == all.availableInterfaces.filter { $0.type != .wiredEthernet })
    }

    // MARK: Paths

    @Test(
        arguments: [
            (nil, .unknown), (-50, .good), (-65, .good), (-66, .moderate), (-75, .moderate), (-76, .minimal),
        ] as [(Int8?, NWPath.LinkQuality)])
    func `the signal of a Wi-Fi link is its quality`(signal: Int8?, quality: NWPath.LinkQuality) throws {
        let network = SimulatedNetwork(.wifi)
        let wlan0 = try #require(network.source.blockingValue(of: .path()).availableInterfaces.first).index
        let monitor = NWPathMonitor(source: network.source) { $0 == wlan0 ? signal : 0 }
        #expect(monitor.currentPath.linkQuality == quality)
        #expect(monitor.currentPath == NWPathMonitor(source: network.source).currentPath)
    }

    @Test func `a link that is not Wi-Fi has no known quality, and no path is ultra constrained`() {
        host.setDefault(2, via: IPAddress(192, 0, 2, 254))
        let monitor = NWPathMonitor(source: host.source) { _ in -40 }
        #expect(monitor.currentPath.linkQuality == .unknown)
        #expect(!monitor.currentPath.isUltraConstrained)
    }

    @Test func `a link that waits for an external event offers no connection`() throws {
        let network = SimulatedNetwork(.wired)
        try network.change { try $0.setDormant("eth0", isDormant: true) }
        #expect(try network.source.blockingValue(of: .path()).status == .requiresConnection)
        let path = NWPathMonitor(source: network.source).currentPath
        #expect(path.status == .unsatisfied)
        #expect(!path.supportsIPv4 && !path.supportsIPv6 && !path.supportsDNS)
        #expect("\(path)".hasPrefix("unsatisfied"))
    }

    @Test func `a path has interfaces, families, names and costs`() throws {
        host.setDefault(2, via: IPAddress(192, 0, 2, 254))
        let path = makeMonitor().currentPath
        let interface = try #require(path.availableInterfaces.first)
        #expect(path.availableInterfaces.count == 1)
        #expect((interface.name, interface.index) == ("eth0", 2))
        #expect(interface.type == .wiredEthernet)
        #expect(path.supportsIPv4 && !path.supportsIPv6 && path.supportsDNS)
        #expect(!path.isExpensive && !path.isConstrained)
        #expect(path.unsatisfiedReason == .notAvailable)
        #expect(path.localEndpoint == nil && path.remoteEndpoint == nil)
        #expect("\(path)" == "satisfied, interface: eth0, ipv4, dns")
        #expect(path == makeMonitor().currentPath)
    }

    @Test func `the type that is used is found as programs look for it`() {
        host.setDefault(3, via: IPAddress(192, 0, 2, 254))
        let path = makeMonitor().currentPath
        #expect(NWInterface.InterfaceType.allCases.filter { path.usesInterfaceType($0) } == [.cellular])
        #expect(path.isExpensive)
    }

    @Test func `gateways are endpoints, a link-local one on its interface`() throws {
        host.setDefault(2, via: IPAddress(192, 0, 2, 254))
        host.setDefault(2, via: try #require(IPAddress("fe80::1")))
        let gateways = makeMonitor().currentPath.gateways
        #expect(gateways.map { "\($0)" } == ["192.0.2.254:0", "fe80::1%eth0.0"])
        #expect(gateways.first == .hostPort(host: "192.0.2.254", port: 0))
        guard case .hostPort(.ipv6(let address), let port) = gateways.last else {
            Issue.record("no IPv6 gateway")
            return
        }
        #expect(port == .any)
        #expect(address.isLinkLocal)
        #expect(address.interface?.name == "eth0")
        #expect(gateways.last?.interface?.index == 2)
    }
}

/// What a test sees of a monitor and its handler without keeping them.
private final class WeakMonitor {
    weak var monitor: NWPathMonitor?
    weak var state: HandlerState?
    private let queue: DispatchQueue

    init(_ monitor: NWPathMonitor, _ state: HandlerState, _ queue: DispatchQueue) {
        (self.monitor, self.state, self.queue) = (monitor, state, queue)
    }

    /// Waits for a call of the handler that has begun.
    func queueIsEmpty() async {
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    }
}

/// An object that only the handler refers to, which finishes the stream at its end.
private final class HandlerState: Sendable {
    let continuation: AsyncStream<NWPath>.Continuation

    init(_ continuation: AsyncStream<NWPath>.Continuation) {
        self.continuation = continuation
    }

    deinit {
        continuation.finish()
    }
}

extension ScriptedNetwork {
    /// A host with two interfaces, `eth0` (2) and `wwan0` (3).
    fileprivate static func withModem() -> ScriptedNetwork {
        let network = ScriptedNetwork(usesSystemClock: true)
        network.tunnel(3, "wwan0", kind: "wwan")
        return network
    }

    /// Adds a default route through a gateway.
    fileprivate func setDefault(_ interface: UInt32, via gateway: IPAddress) {
        setDefault(.through(gateway, interface))
    }

    /// Removes a default route.
    fileprivate func removeDefault(_ interface: UInt32, via gateway: IPAddress) {
        removeDefault(.through(gateway, interface))
    }
}

extension Route {
    fileprivate static func through(_ gateway: IPAddress, _ interface: UInt32) -> Route {
        let nexthop = Nexthop(interfaceIndex: interface, gateway: gateway)
        return Route(destination: gateway.family == .v4 ? .allV4 : .allV6, nexthops: [nexthop])
    }
}
