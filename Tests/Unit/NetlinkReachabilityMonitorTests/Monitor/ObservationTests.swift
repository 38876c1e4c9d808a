// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Fakes
import NetlinkReachabilityTestKit
import NetlinkRecording
import RoutingModel
import SystemSupport
import Testing

@testable import NetlinkReachability

private let onLink: ReachabilityFlags = [.reachable, .isDirect]
private let error = ReachabilityError(operation: "ask", number: 24)

/// Failures, reports and names, delivered in order.
struct ObservationTests {
    let network = ScriptedNetwork()
    /// A serial queue for handlers.
    private let queue = DispatchQueue(label: "observations")
    private let log = Locked<[String]>([])

    private func settle() async {
        await network.source.monitor.settle()
    }

    /// What the handlers were called with since the last call.
    private func take() -> [String] {
        for _ in 0..<4 { queue.sync {} }
        return log.withLock { log in
            defer { log = [] }
            return log
        }
    }

    private func append(_ entry: String) {
        log.withLock { $0.append(entry) }
    }

    private func append(_ result: Result<ReachabilityReport, ReachabilityError>) {
        switch result {
        case .success(let report): append("\(report.flags.letters) \(report.reason)")
        case .failure(let error): append("error \(error.number)")
        }
    }

    private func append(_ result: Result<ReachabilityFlags, ReachabilityError>) {
        switch result {
        case .success(let flags): append(flags.letters)
        case .failure(let error): append("error \(error.number)")
        }
    }

    private func startFlags(
        _ target: ReachabilityTarget = .address(IPAddress(192, 0, 2, 1))
    ) throws -> NetworkObservation<ReachabilityFlags> {
        try network.handle(target).observe(on: .queue(queue)) { append($0) }
    }

    private func observe(
        _ target: ReachabilityTarget = .address(IPAddress(192, 0, 2, 1)),
        onChangeOf change: ReachabilityReport.Change = .flags
    ) throws -> NetworkObservation<ReachabilityReport> {
        try network.source.observe(.report(of: target, onChangeOf: change), on: .queue(queue)) { append($0) }
    }

    /// Causes an evaluation.
    private func evaluate() async {
        network.clock.advance(by: .seconds(1))
        network.notify(.settings)
        await settle()
    }

    // MARK: Failures

    @Test func `a failure is reported once, and the flags after it are delivered`() async throws {
        let observation = try startFlags()
        await settle()
        #expect(take() == ["-- -------"])
        network.routing.fail(error)
        for _ in 0..<3 { await evaluate() }
        #expect(take() == ["error 24"])
        #expect(observation.current == [])
        network.routing.fail(ReachabilityError(operation: "ask", number: 12))
        await evaluate()
        #expect(take() == ["error 12"])
        network.routing.fail(nil)
        await evaluate()
        #expect(take() == ["-- -------"])
        #expect(network.source.monitorCounters.failures >= 4)
        observation.cancel()
    }

    @Test func `the failure of an evaluation is a result of a sequence, and ends nothing`() async throws {
        var results = try network.handle().updates.results.makeAsyncIterator()
        #expect(try await results.next() == .success([]))
        await settle()
        network.routing.fail(error)
        await evaluate()
        #expect(try await results.next() == .failure(error))
        network.routing.fail(nil)
        network.setRoute(true)
        await evaluate()
        #expect(try await results.next() == .success([.reachable, .isDirect]))
    }

    @Test func `a sequence of values skips a failure, and no value comes twice`() async throws {
        var updates = try network.handle().updates.makeAsyncIterator()
        #expect(try await updates.next() == [])
        await settle()
        for failure in [error, nil] {
            network.routing.fail(failure)
            await evaluate()
        }
        network.setRoute(true)
        await evaluate()
        #expect(try await updates.next() == [.reachable, .isDirect])
    }

    @Test func `a missing interface is a no, and no failure`() async throws {
        network.routing.change { $0.snapshot.apply(.removedLink(index: 2)) }
        let observation = try observe(.host("fe80::1%eth0"))
        await settle()
        #expect(take() == ["-- ------- there is no interface \"eth0\""])
        network.wire(2, "eth0")
        await settle()
        // The flags are the same, for another reason.
        #expect(take() == [])
        #expect(network.source.monitorCounters.failures == 0)
        observation.cancel()
    }

    // MARK: Reports

    @Test func `the flags and the reason are those of one evaluation`() async throws {
        let observation = try observe()
        await settle()
        network.setRoute(true)
        await settle()
        let asked = network.routing.takeAsked().count
        let entries = take()
        #expect(entries.count == 2)
        #expect(entries.last?.hasPrefix("-R") == true)
        // Reading the report afterwards asks nothing.
        #expect(network.routing.takeAsked().isEmpty)
        #expect(asked > 0)
        #expect(observation.current?.flags == onLink)
        observation.cancel()
    }

    @Test func `another reason with the same flags is not delivered`() async throws {
        network.routing.setRoute(.documentation, true)
        let observation = try observe()
        await settle()
        for _ in 0..<3 { await evaluate() }
        #expect(take().count == 1)
        observation.cancel()
    }

    /// What a handle delivers while the default route changes its gateway.
    private func entriesOfGateways(_ change: ReachabilityReport.Change) async throws -> [String] {
        network.wire(2, "eth0")
        let gateways = ["192.0.2.254", "192.0.2.253"].map { Route.defaultRoute(2, via: $0) }
        network.setDefault(gateways[0])
        let observation = try observe(.defaultPath, onChangeOf: change)
        await settle()
        let first = take()
        network.clock.advance(by: .seconds(1))
        network.apply(.route(gateways[1], .replacing))
        await settle()
        defer { observation.cancel() }
        return first + take()
    }

    @Test func `another gateway with the same flags is not delivered`() async throws {
        #expect(try await entriesOfGateways(.flags).count == 1)
    }

    @Test func `another gateway with the same flags is delivered to those who ask for the report`()
        async throws
    {
        #expect(
            try await entriesOfGateways(.report) == [
                "-R ------- through gateway 192.0.2.254 on eth0",
                "-R ------- through gateway 192.0.2.253 on eth0",
            ])
    }

    // MARK: Names

    @Test func `a name has no result until it is resolved`() async throws {
        let (held, name) = (DispatchSemaphore(value: 0), "www.example.com")
        let resolver = SystemResolver { _, _ in
            held.wait()
            return .notFound
        }
        let source = NetworkSource(routing: network.routing, resolver: resolver)
        let reachability = try NetworkReachability(target: .host(name), source: source)
        let observation = try source.observe(reachability.reportQuery(), on: .queue(queue)) { append($0) }
        #expect(take().isEmpty)
        held.signal()
        try await eventually("the report is delivered") { take().contains { $0.hasPrefix("-- -------") } }
        observation.cancel()
    }

    /// Causes every name to be resolved.
    private func resolveAgain() async {
        network.source.monitor.resolverChanged()
        await settle()
        network.clock.advance(by: .milliseconds(100))
        await settle()
    }

    private static let noThread = ReachabilityError(operation: "start a thread for the resolver", number: 11)

    /// It was delivered as "not reachable".
    @Test func `a resolver that cannot run is delivered as a failure, once`() async throws {
        network.resolver.fail(Self.noThread)
        let observation = try observe(.host("www.example.com"))
        await settle()
        network.clock.advance(by: .seconds(1))
        await settle()
        #expect(network.resolver.count == 2)
        #expect(take() == ["error 11"])
        #expect(observation.current == nil)
        observation.cancel()
    }

    @Test func `the last flags stay when the resolver can no longer run`() async throws {
        network.resolver.set("www.example.com", .addresses([IPAddress(192, 0, 2, 1)]))
        network.routing.setRoute(.documentation, true)
        let observation = try startFlags(.host("www.example.com"))
        await settle()
        network.resolver.fail(Self.noThread)
        await resolveAgain()
        #expect(take() == [onLink.letters, "error 11"])
        #expect(observation.current == onLink)
        network.resolver.fail(nil)
        network.clock.advance(by: .seconds(1))
        await settle()
        #expect(take() == [onLink.letters])
        observation.cancel()
    }

    /// Failed evaluations share one pause, which doubles.
    @Test func `a resolver that cannot run does not lengthen the pause of other targets`() async throws {
        network.resolver.fail(Self.noThread)
        let (named, other) = (try observe(.host("www.example.com")), try startFlags())
        for seconds in [0, 1, 2, 4] {
            network.clock.advance(by: .seconds(seconds))
            await settle()
        }
        #expect(network.resolver.count == 4)
        network.routing.fail(error)
        await evaluate()
        network.routing.fail(nil)
        _ = take()
        network.clock.advance(by: .seconds(1))
        await settle()
        #expect(take() == ["-- -------"])
        named.cancel()
        other.cancel()
    }

    @Test func `the routes to known addresses count while the resolver cannot run`() async throws {
        network.resolver.set("www.example.com", .addresses([IPAddress(192, 0, 2, 1)]))
        network.routing.setRoute(.documentation, true)
        let observation = try observe(.host("www.example.com"))
        await settle()
        network.resolver.fail(Self.noThread)
        await resolveAgain()
        _ = take()
        // An answer that has not changed does not end the failure.
        await evaluate()
        #expect(take().isEmpty)
        network.setRoute(false)
        network.clock.advance(by: .seconds(1))
        await settle()
        await evaluate()
        #expect(take().map { $0.prefix(10) } == ["-- -------"])
        #expect(observation.current?.flags == [])
        observation.cancel()
    }
}
