// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Fakes
import NetlinkReachabilityTestKit
import NetlinkRoute
import RoutingModel
import RoutingSimulation
import SystemSupport
import Testing

@testable import NetlinkReachability

private let onLink: ReachabilityFlags = [.reachable, .isDirect]
private let fault = RoutingFault(operation: "ask", number: 24)

/// Failures and unresolved names, delivered beside the flags.
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

    private func append(_ observed: Observed<ReachabilityReport>) {
        switch observed {
        case .unresolved: append("unresolved")
        case .answer(let report): append("\(report.flags.letters) \(report.reason)")
        case .failure(let error) where error.code == .unknownInterface: append("no interface")
        case .failure(let error): append("error \(error.number)")
        }
    }

    private func startFlags() throws -> NetworkReachability {
        let reachability = try network.handle()
        try reachability.start(queue: queue) {
            append($0.letters)
        } onFailure: {
            append("error \($0.number)")
        }
        return reachability
    }

    private func observe(
        _ target: ReachabilityTarget = .address(IPAddress(192, 0, 2, 1))
    ) throws -> NetworkReachability {
        let reachability = try network.handle(target)
        try reachability.startObserving(queue: queue) { append($0) }
        return reachability
    }

    /// Causes an evaluation.
    private func evaluate() async {
        network.clock.advance(by: .seconds(1))
        network.notify(.settings)
        await settle()
    }

    // MARK: Failures

    @Test func `a failure is reported once, and the flags after it are delivered`() async throws {
        let reachability = try startFlags()
        await settle()
        #expect(take() == ["-- -------"])
        network.routing.fail(fault)
        for _ in 0..<3 { await evaluate() }
        #expect(take() == ["error 24"])
        #expect(reachability.currentFlags == [])
        network.routing.fail(RoutingFault(operation: "ask", number: 12))
        await evaluate()
        #expect(take() == ["error 12"])
        network.routing.fail(nil)
        await evaluate()
        #expect(take() == ["-- -------"])
        #expect(reachability.monitorCounters.failures >= 4)
        reachability.stop()
    }

    @Test func `a handler alone is not called for a failure`() async throws {
        let reachability = try network.handle()
        try reachability.start(queue: queue) { append($0.letters) }
        await settle()
        network.routing.fail(fault)
        await evaluate()
        network.routing.fail(nil)
        await evaluate()
        #expect(take() == ["-- -------"])
        reachability.stop()
    }

    @Test func `a sequence of observations has failures`() async throws {
        network.routing.fail(fault)
        var iterator = try network.handle().observations().makeAsyncIterator()
        guard case .failure(let error) = await iterator.next() else {
            Issue.record("no failure")
            return
        }
        #expect(error.number == 24)
        await settle()
        network.routing.fail(nil)
        network.clock.advance(by: .seconds(1))
        #expect(await iterator.next()?.answer?.flags == [])
    }

    @Test func `a sequence of observations ends with the failure if the monitor cannot run`() async throws {
        let source = NetworkSource(
            routing: network.routing,
            resolver: network.resolver,
            changes: { () throws(RoutingFault) in throw fault }
        )
        let reachability = try NetworkReachability(target: .defaultPath, source: source)
        var all: [Observed<ReachabilityReport>] = []
        for await observed in reachability.observations() { all.append(observed) }
        #expect(all == [.failure(ReachabilityError(fault))])
    }

    // An error that became a "no" had the same empty flags, and was not delivered.
    @Test func `an error that becomes a no is delivered`() async throws {
        network.routing.change { $0.snapshot.apply(.removedLink(index: 2)) }
        let reachability = try observe(.host("fe80::1%eth0"))
        await settle()
        #expect(take() == ["no interface"])
        network.wire(2, "eth0")
        await settle()
        let entries = take()
        #expect(entries.count == 1)
        #expect(entries.first?.hasPrefix("-- -------") == true)
        #expect(reachability.monitorCounters.failures == 0)
        reachability.stop()
    }

    // MARK: Reports

    @Test func `the flags and the reason are those of one evaluation`() async throws {
        let reachability = try observe()
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
        #expect(reachability.currentFlags == onLink)
        reachability.stop()
    }

    @Test func `another reason with the same flags is not delivered`() async throws {
        network.routing.setRoute(.documentation, true)
        let reachability = try observe()
        await settle()
        for _ in 0..<3 { await evaluate() }
        #expect(take().count == 1)
        reachability.stop()
    }

    // MARK: Names

    @Test func `a name is unresolved at once, and its report follows`() async throws {
        let (held, name) = (DispatchSemaphore(value: 0), "www.example.com")
        let resolver = SystemResolver { _, _ in
            held.wait()
            return .notFound
        }
        let source = NetworkSource(routing: network.routing, resolver: resolver)
        let reachability = try NetworkReachability(target: .host(name), source: source)
        try reachability.startObserving(queue: queue) { append($0) }
        #expect(take() == ["unresolved"])
        held.signal()
        try await eventually("the report is delivered") { take().contains { $0.hasPrefix("-- -------") } }
        reachability.stop()
    }

    @Test func `a handler of flags is not called for an unresolved name`() async throws {
        network.resolver.set("www.example.com", .addresses([IPAddress(192, 0, 2, 1)]))
        let reachability = try network.handle(.host("www.example.com"))
        try reachability.start(queue: queue) {
            append($0.letters)
        } onFailure: { _ in
            append("error")
        }
        try await eventually("the name is resolved") { reachability.currentFlags != nil }
        await settle()
        #expect(take() == ["-- -------"])
        reachability.stop()
    }

    /// Causes every name to be resolved.
    private func resolveAgain() async {
        network.source.monitor.noteResolverChange()
        await settle()
        network.clock.advance(by: .milliseconds(100))
        await settle()
    }

    private static let noThread = RoutingFault(operation: "start a thread for the resolver", number: 11)

    /// It was delivered as "not reachable".
    @Test func `a resolver that cannot run is delivered as a failure, once`() async throws {
        network.resolver.fail(Self.noThread)
        let reachability = try observe(.host("www.example.com"))
        await settle()
        network.clock.advance(by: .seconds(1))
        await settle()
        #expect(network.resolver.count == 2)
        // A slow queue skips the first result.
        #expect(take().filter { $0 != "unresolved" } == ["error 11"])
        #expect(reachability.currentFlags == nil)
        reachability.stop()
    }

    @Test func `the last flags stay when the resolver can no longer run`() async throws {
        network.resolver.set("www.example.com", .addresses([IPAddress(192, 0, 2, 1)]))
        network.routing.setRoute(.documentation, true)
        let reachability = try network.handle(.host("www.example.com"))
        try reachability.start(queue: queue) {
            append($0.letters)
        } onFailure: {
            append("\($0.code) \($0.number)")
        }
        await settle()
        network.resolver.fail(Self.noThread)
        await resolveAgain()
        #expect(take() == [onLink.letters, "resolverFailure 11"])
        #expect(reachability.currentFlags == onLink)
        network.resolver.fail(nil)
        network.clock.advance(by: .seconds(1))
        await settle()
        #expect(take() == [onLink.letters])
        reachability.stop()
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
        network.routing.fail(fault)
        await evaluate()
        network.routing.fail(nil)
        _ = take()
        network.clock.advance(by: .seconds(1))
        await settle()
        #expect(take() == ["-- -------"])
        named.stop()
        other.stop()
    }

    @Test func `the routes to known addresses count while the resolver cannot run`() async throws {
        network.resolver.set("www.example.com", .addresses([IPAddress(192, 0, 2, 1)]))
        network.routing.setRoute(.documentation, true)
        let reachability = try observe(.host("www.example.com"))
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
        #expect(reachability.currentFlags == [])
        reachability.stop()
    }

    @Test func `observing replaces the handler of an earlier start`() async throws {
        let reachability = try startFlags()
        _ = take()
        try reachability.startObserving(queue: queue) { append($0) }
        network.setRoute(true)
        await settle()
        // Entries of the handler have no reason.
        #expect(take().allSatisfy { $0.count > onLink.letters.count })
        #expect(network.source.monitor.userCount == 1)
        reachability.stop()
        #expect(reachability.currentFlags == nil)
        #expect(network.source.monitor.userCount == 0)
    }
}
