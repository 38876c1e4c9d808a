// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Fakes
import NetlinkReachabilityTestKit
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

    private var metering: NetworkMetering {
        NetworkMetering { [costs] interface in costs.withLock { $0[interface.name] ?? .free } }
    }

    private func path() throws -> NetworkPath {
        try network.source.blockingValue(of: .path(metering: metering))
    }

    private func set(_ cost: NetworkMetering.Cost, _ name: String) {
        costs.withLock { $0[name] = cost }
    }

    /// Has all evaluated again, after the pause that follows an evaluation.
    private func evaluateAgain() async {
        network.clock.advance(by: .seconds(1))
        network.source.evaluateAgain()
        await network.settle()
    }

    @Test func `the costs of the interface that packets take apply`() throws {
        #expect(try !path().isExpensive && !path().isConstrained)
        set(.expensive, "eth0")
        #expect(try path().isExpensive && !path().isConstrained)
        set(.constrained, "eth0")
        #expect(try !path().isExpensive && path().isConstrained)
    }

    @Test func `the costs of an interface that is only available do not`() throws {
        set([.expensive, .constrained], "eth1")
        let path = try path()
        #expect(!path.isExpensive && !path.isConstrained)
    }

    @Test func `a modem is always expensive`() throws {
        network.tunnel(4, "wwan0", kind: "wwan")
        network.setDefault(.defaultRoute(4))
        #expect(try path().isExpensive)
    }

    @Test func `changed costs are delivered, and unchanged costs are not`() async throws {
        let queue = DispatchQueue(label: "metering")
        let received = Locked<[Bool]>([])
        let observation = try network.source.observe(.path(metering: metering), on: .queue(queue)) { result in
            if case .success(let path) = result { received.withLock { $0.append(path.isExpensive) } }
        }
        await network.settle()
        await evaluateAgain()
        set(.expensive, "eth0")
        for _ in 0..<2 { await evaluateAgain() }
        for _ in 0..<4 { queue.sync {} }
        #expect(received.withLock { $0 } == [false, true])
        observation.cancel()
    }

    @Test func `a loop gets changed costs`() async throws {
        var iterator = network.source.updates(of: .path(metering: metering)).makeAsyncIterator()
        #expect(try await iterator.next()?.isExpensive == false)
        await evaluateAgain()
        set(.expensive, "eth0")
        await evaluateAgain()
        #expect(try await iterator.next()?.isExpensive == true)
    }
}
