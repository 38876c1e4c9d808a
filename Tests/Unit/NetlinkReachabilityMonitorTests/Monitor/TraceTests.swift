// SPDX-License-Identifier: Apache-2.0

import Fakes
import NetlinkReachabilityTestKit
import RoutingModel
import SystemSupport
import Testing

@testable import NetlinkReachability

/// What a traced source says of each evaluation.
struct TraceTests {
    let network = ScriptedNetwork()
    private let lines = Locked<[String]>([])
    private let source: NetworkSource

    init() {
        source = network.source.tracing { [lines] trace in lines.withLock { $0.append("\(trace)") } }
    }

    private func settle() async { await source.monitor.settle() }

    /// The lines since the last call.
    private func take() -> [String] {
        lines.withLock { lines in
            defer { lines = [] }
            return lines
        }
    }

    private func begin() async throws -> NetworkObservation<ReachabilityFlags> {
        let target = ReachabilityTarget.address(IPAddress(192, 0, 2, 1))
        let observation = try NetworkReachability(target: target, source: source).observe { _ in }
        await settle()
        return observation
    }

    @Test func `the first evaluation and the one on the monitor's thread are those of the beginning`()
        async throws
    {
        let observation = try await begin()
        #expect(
            take() == [
                "flags of 192.0.2.1: -- ------- (change, after the beginning)",
                "flags of 192.0.2.1: -- ------- (no change, after the beginning)",
            ])
        observation.cancel()
    }

    @Test func `a notification, and the second look at what it says too early, are causes`() async throws {
        let observation = try await begin()
        _ = take()
        network.clock.advance(by: .seconds(1))
        network.setRoute(true)
        await settle()
        #expect(take() == ["flags of 192.0.2.1: -R -----l- (change, after a notification)"].map(Self.onLink))
        network.clock.advance(by: .seconds(1))
        network.notify(.link(isLoss: true))
        await settle()
        network.clock.advance(by: .milliseconds(250))
        await settle()
        #expect(
            take()
                == [
                    "flags of 192.0.2.1: -R -----l- (no change, after a notification)",
                    "flags of 192.0.2.1: -R -----l- (no change, after a second look)",
                ].map(Self.onLink))
        observation.cancel()
    }

    /// The letters of an address on a link.
    private static func onLink(_ line: String) -> String {
        line.replacing("-R -----l-", with: ReachabilityFlags([.reachable, .isDirect]).letters)
    }

    @Test func `a failure is a result, and then the cause`() async throws {
        let observation = try await begin()
        _ = take()
        network.routing.fail(ReachabilityError(operation: "ask", number: 12))
        network.clock.advance(by: .seconds(1))
        network.notify(.settings)
        await settle()
        network.routing.fail(nil)
        network.clock.advance(by: .seconds(1))
        await settle()
        let found = take()
        #expect(found.count == 2)
        #expect(found.first?.hasPrefix("flags of 192.0.2.1: cannot ask: Cannot allocate memory") == true)
        #expect(found.first?.hasSuffix("(change, after a notification)") == true)
        #expect(found.last == "flags of 192.0.2.1: -- ------- (change, after a failure)")
        observation.cancel()
    }

    @Test func `sleep, time, lost notifications and the program itself are causes`() async throws {
        let observation = try await begin()
        _ = take()
        network.clock.advance(by: .seconds(1))
        source.evaluateAgain()
        await settle()
        network.clock.sleepMachine(for: .seconds(3_600))
        await settle()
        network.clock.advance(by: .seconds(60))
        await settle()
        network.overrun()
        await settle()
        network.clock.advance(by: .seconds(2))
        await settle()
        let causes = take().map { $0.split(separator: "after ").last.map(String.init) ?? "" }
        #expect(causes == ["a request)", "a sleep)", "a routine)", "lost notifications)"])
        observation.cancel()
    }

    @Test func `a resolved name is a cause, and each kind of query has its words`() async throws {
        network.resolver.set("www.example.com", .addresses([IPAddress(192, 0, 2, 1)]))
        let name = try ReachabilityTarget.host("www.example.com")
        let connection = try NetworkConnection(
            transport: .tcp, local: IPAddress(192, 0, 2, 2), localPort: 1, remote: IPAddress(192, 0, 2, 3),
            remotePort: 2)
        let flags = try source.observe(.flags(of: name)) { _ in }
        await settle()
        #expect(take().contains { $0.hasSuffix("after a resolution)") })
        let path = try source.observe(.path()) { _ in }
        let report = try source.observe(.report(of: name)) { _ in }
        let status = try source.observe(.status(of: connection)) { _ in }
        await settle()
        let queries = Set(take().compactMap { $0.split(separator: ":").first.map(String.init) })
        #expect(queries.isSuperset(of: ["default path", "report on www.example.com"]))
        #expect("\(NetworkQuery.status(of: connection))" == "status of \(connection)")
        #expect("\(NetworkQuery<NetworkEvent>.events)" == "events")
        for cancel in [flags.cancel, path.cancel, report.cancel, status.cancel] { cancel() }
    }

    @Test func `a traced source that gets another resolver is still traced`() async throws {
        let other = source.resolving(with: BlockingResolver { _, _, _ in .notFound })
        let observation = try other.observe(.flags()) { _ in }
        await other.monitor.settle()
        let lines = take()
        #expect(lines.count == 2)
        #expect(lines.allSatisfy { $0.hasPrefix("flags of ") && $0.hasSuffix("after the beginning)") })
        observation.cancel()
    }

    @Test func `only what is observed through the traced source is traced`() async throws {
        let observation = try network.handle().observe { _ in }
        await network.source.monitor.settle()
        #expect(take() == [])
        observation.cancel()
    }
}
