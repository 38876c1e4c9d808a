// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import NetlinkReachability
import NetlinkReachabilityTestKit
import Recipes
import Synchronization
import Testing

/// What programs do with the status of their connections: a cable is pulled, a lease is replaced, a VPN comes up.
@Suite
struct ConnectionTests {
    private let network = SimulatedNetwork()

    init() throws {
        try network.change { host in
            try host.addInterface("eth0")
            try host.addAddress("192.0.2.2", prefixLength: 24, to: "eth0")
            try host.addRoute(.default(via: "192.0.2.1"))
        }
    }

    private func ends(port: UInt16 = 40_000) throws -> NetworkConnection {
        try NetworkConnection(
            transport: .tcp, local: IPAddress(192, 0, 2, 2), localPort: port,
            remote: IPAddress(198, 51, 100, 7), remotePort: 443)
    }

    private func replaceLease() throws {
        try network.change { host in
            try host.removeAddress("192.0.2.2", from: "eth0")
            try host.addAddress("192.0.2.9", prefixLength: 24, to: "eth0")
            try host.addRoute(.default(via: "192.0.2.1"))
        }
    }

    private func addVPN() throws {
        try network.change { host in
            try host.addInterface("wg0")
            try host.addAddress("10.8.0.2", prefixLength: 24, to: "wg0")
            try host.addRoute(SimulatedRoute(to: "0.0.0.0/1", through: "wg0"))
            try host.addRoute(SimulatedRoute(to: "128.0.0.0/1", through: "wg0"))
        }
    }

    @Test(
        "a channel has an event when a cable is pulled and plugged in, when a VPN comes up, and an error when lost"
    )
    func channelEvents() async throws {
        let recorder = EventRecorder()
        let channel = NIOAsyncTestingChannel()
        channel.localAddress = try SocketAddress(ipAddress: "192.0.2.2", port: 40_000)
        channel.remoteAddress = try SocketAddress(ipAddress: "198.51.100.7", port: 443)
        let source = network.source
        try await channel.testingEventLoop.executeInContext {
            try channel.pipeline.syncOperations.addHandlers([
                ConnectionEventsHandler(source: source), recorder,
            ])
        }
        try await channel.connect(to: SocketAddress(ipAddress: "198.51.100.7", port: 443))

        func settle() async throws -> [String] {
            try await network.advance(by: .seconds(1))
            await channel.testingEventLoop.run()
            return recorder.take()
        }
        #expect(try await settle() == [])
        try network.change { try $0.setCarrier("eth0", isPresent: false) }
        #expect(try await settle() == ["ViabilityUpdate(isViable: false)"])
        try network.change { try $0.setCarrier("eth0", isPresent: true) }
        #expect(try await settle() == ["ViabilityUpdate(isViable: true)"])
        try addVPN()
        #expect(try await settle() == ["BetterPathAvailable()"])
        try replaceLease()
        #expect(try await settle() == ["ViabilityUpdate(isViable: false)", "ConnectionLost"])
        _ = try? await channel.finish()
    }

    @Test("a pool closes lost connections, and does not lend one that waits")
    func poolLoss() async throws {
        let closed = Mutex<[String]>([])
        let pool = ConnectionPool<String>(source: network.source) { name in
            closed.withLock { $0.append(name) }
        }
        let number = try await pool.add("first", ends())
        await pool.takeBack(number)
        try await network.settle()
        #expect(await pool.lend()?.connection == "first")
        await pool.takeBack(number)
        try network.change { try $0.setCarrier("eth0", isPresent: false) }
        try await network.advance(by: .seconds(1))
        #expect(await pool.lend() == nil)
        #expect(await pool.count == 1)
        try replaceLease()
        try await network.advance(by: .seconds(1))
        while await pool.count > 0 { await Task.yield() }
        #expect(closed.withLock { $0 } == ["first"])
    }

    @Test("a pool closes idle connections after a sleep, and keeps those in use")
    func poolSleep() async throws {
        let closed = Mutex<[String]>([])
        let pool = ConnectionPool<String>(source: network.source) { name in
            closed.withLock { $0.append(name) }
        }
        _ = try await pool.add("used", ends(port: 1))
        await pool.takeBack(try await pool.add("idle", ends(port: 2)))
        let events = Task { try await pool.run() }
        try await network.settle()
        network.sleepMachine(for: .seconds(30))
        try await network.settle()
        #expect(await pool.count == 2)
        network.sleepMachine(for: .seconds(3_600))
        try await network.settle()
        while await pool.count > 1 { await Task.yield() }
        #expect(closed.withLock { $0 } == ["idle"])
        events.cancel()
    }

    @Test(
        "a keep-alive client connects again at once when its lease is replaced, and after its patience without a cable"
    )
    func keepAlive() async throws {
        let log = Mutex<[String]>([])
        let ends = try ends()
        var client = KeepAliveClient<Int>(source: network.source) {
            log.withLock { $0.append("connect") }
            return (1, ends)
        } close: { _ in
            log.withLock { $0.append("close") }
        }
        client.clock = network.clock
        let run = Task { [client] in try await client.run() }
        try await network.settle { log.withLock { $0 } == ["connect"] && network.listenerCount == 1 }
        try network.change { try $0.setCarrier("eth0", isPresent: false) }
        try await network.advance(by: .seconds(19))
        #expect(log.withLock { $0 } == ["connect"])
        try await network.advance(by: .seconds(2))
        try await network.settle { log.withLock { $0.count } >= 3 }
        #expect(log.withLock { $0 } == ["connect", "close", "connect"])
        run.cancel()
    }

    @Test("a keep-alive client does not wait longer because another path comes and goes")
    func keepAliveWithOtherPaths() async throws {
        let count = Mutex(0)
        let ends = try ends()
        var client = KeepAliveClient<Int>(source: network.source) {
            count.withLock { $0 += 1 }
            return (1, ends)
        } close: { _ in
        }
        client.clock = network.clock
        let run = Task { [client] in try await client.run() }
        try await network.settle { count.withLock { $0 } == 1 && network.listenerCount == 1 }
        try network.change { host in
            try host.setCarrier("eth0", isPresent: false)
            try host.addInterface("eth1")
            try host.addAddress("192.0.3.2", prefixLength: 24, to: "eth1")
        }
        let route = SimulatedRoute(to: "198.51.100.0/24", via: "192.0.3.1")
        try await network.advance(by: .seconds(12))
        try network.change { try $0.addRoute(route) }
        try await network.advance(by: .seconds(7))
        #expect(count.withLock { $0 } == 1)
        try await network.advance(by: .seconds(2))
        try await network.settle { count.withLock { $0 } >= 2 }
        #expect(count.withLock { $0 } == 2)
        run.cancel()
    }

    @Test("an HTTP client is replaced when its source address changes, and not when another network appears")
    func freshClient() async throws {
        let client = FreshHTTPClient()
        let server = try NetworkReachability(host: "198.51.100.7", source: network.source)
        let run = Task { try await client.run(following: server) }
        try await network.settle { network.listenerCount == 1 }
        try network.change { host in
            try host.addInterface("docker0")
            try host.addAddress("172.17.0.1", prefixLength: 16, to: "docker0")
        }
        try await network.advance(by: .seconds(1))
        #expect(await client.replacementCount == 0)
        try replaceLease()
        try await network.advance(by: .seconds(1))
        while await client.replacementCount == 0 { await Task.yield() }
        #expect(await client.replacementCount == 1)
        run.cancel()
        try await client.shutdown()
    }
}

/// Records the events and errors that reach the end of a pipeline.
private final class EventRecorder: ChannelInboundHandler, Sendable {
    typealias InboundIn = NIOAny

    private let events = Mutex<[String]>([])

    func take() -> [String] {
        events.withLock { events in
            defer { events = [] }
            return events
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        events.withLock { $0.append("\(event)") }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        events.withLock { $0.append("\(type(of: error))") }
    }
}
