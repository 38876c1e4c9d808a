// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Fakes
import NetlinkReachabilityTestKit
import NetlinkRoute
import RoutingModel
import SystemSupport
import Testing

@testable import NetlinkReachability

struct NetworkMeteringTests {
    private let network = ScriptedNetwork()
    private let costs = Locked<[String: NetworkMetering.Cost]>([:])

    init() {
        network.wire(2, "eth0")
        network.wire(3, "eth1")
        network.setDefault(.defaultRoute(2, via: "192.0.2.254", metric: 1))
        network.setDefault(.defaultRoute(3, via: "198.51.100.254", metric: 2))
    }

    private func makeMonitor() -> NetworkPathMonitor {
        let metering = NetworkMetering { [costs] interface in
            costs.withLock { $0[interface.name] ?? .free }
        }
        return NetworkPathMonitor(source: network.source, metering: metering)
    }

    private func set(_ cost: NetworkMetering.Cost, _ name: String) {
        costs.withLock { $0[name] = cost }
    }

    @Test func `the costs of the interface that packets take apply`() throws {
        let monitor = makeMonitor()
        #expect(monitor.currentPath?.isExpensive == false && monitor.currentPath?.isConstrained == false)
        set(.expensive, "eth0")
        #expect(monitor.currentPath?.isExpensive == true && monitor.currentPath?.isConstrained == false)
        set(.constrained, "eth0")
        #expect(monitor.currentPath?.isExpensive == false && monitor.currentPath?.isConstrained == true)
        #expect(try monitor.path().isConstrained)
    }

    @Test func `the costs of an interface that is only available do not`() throws {
        set([.expensive, .constrained], "eth1")
        let path = try #require(makeMonitor().currentPath)
        #expect(!path.isExpensive && !path.isConstrained)
    }

    @Test func `a modem is always expensive`() {
        network.tunnel(4, "wwan0", kind: "wwan")
        network.setDefault(.defaultRoute(4))
        #expect(makeMonitor().currentPath?.isExpensive == true)
    }

    @Test func `changed costs are delivered, and unchanged costs are not`() async {
        let monitor = makeMonitor()
        let queue = DispatchQueue(label: "metering")
        let received = Locked<[Bool]>([])
        monitor.pathUpdateHandler = { path in received.withLock { $0.append(path.isExpensive) } }
        monitor.start(queue: queue)
        queue.sync {}
        monitor.meteringDidChange()
        for _ in 0..<4 { queue.sync {} }
        set(.expensive, "eth0")
        monitor.meteringDidChange()
        for _ in 0..<4 { queue.sync {} }
        monitor.meteringDidChange()
        for _ in 0..<4 { queue.sync {} }
        #expect(received.withLock { $0 } == [false, true])
        monitor.cancel()
    }

    @Test func `a loop gets changed costs`() async throws {
        let monitor = makeMonitor()
        var iterator = monitor.makeAsyncIterator()
        #expect(try await iterator.next()?.isExpensive == false)
        monitor.meteringDidChange()
        set(.expensive, "eth0")
        monitor.meteringDidChange()
        #expect(try await iterator.next()?.isExpensive == true)
    }

    @Test func `costs are read on the handler's queue, not on the monitor's thread`() async {
        let key = DispatchSpecificKey<Bool>()
        let queue = DispatchQueue(label: "metering")
        queue.setSpecific(key: key, value: true)
        let places = Locked<[Bool]>([])
        let metering = NetworkMetering { _ in
            let isOnQueue = DispatchQueue.getSpecific(key: key) == true
            places.withLock { $0.append(isOnQueue) }
            return .free
        }
        let monitor = NetworkPathMonitor(source: network.source, metering: metering)
        monitor.pathUpdateHandler = { _ in }
        monitor.start(queue: queue)
        await network.settle()
        for _ in 0..<4 { queue.sync {} }
        network.clock.advance(by: .seconds(1))
        network.apply(.route(.defaultRoute(2, via: "192.0.2.253", metric: 1), .replacing))
        await network.settle()
        for _ in 0..<4 { queue.sync {} }
        #expect(places.withLock { $0 } == [true, true])
        monitor.cancel()
    }
}
