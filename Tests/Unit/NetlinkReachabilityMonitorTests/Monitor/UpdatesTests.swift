// SPDX-License-Identifier: Apache-2.0

import Fakes
import NetlinkReachabilityTestKit
import RoutingModel
import SystemSupport
import Testing

@testable import NetlinkReachability

private let onLink: ReachabilityFlags = [.reachable, .isDirect]

struct UpdatesTests {
    let network = ScriptedNetwork()

    private func settle() async {
        await network.source.monitor.settle()
    }

    @Test func `the first element has the current flags, and changes follow`() async throws {
        var iterator = try network.handle().updates.makeAsyncIterator()
        #expect(try await iterator.next() == [])
        network.setRoute(true)
        #expect(try await iterator.next() == onLink)
        await settle()
        network.clock.advance(by: .seconds(1))
        network.setRoute(false)
        #expect(try await iterator.next() == [])
    }

    @Test(.timeLimit(.minutes(1)))
    func `without queries, a sequence ends at once`() async throws {
        let none: [NetworkQuery<ReachabilityFlags>] = []
        for try await _ in network.source.updates(of: none) { Issue.record("there is a value") }
        for try await _ in network.source.updates(of: none).results { Issue.record("there is a result") }
        #expect(network.source.monitor.userCount == 0)
    }

    @Test func `iterations of one handle are independent`() async throws {
        let reachability = try network.handle()
        var first = reachability.updates.makeAsyncIterator()
        var second = reachability.updates.makeAsyncIterator()
        #expect(try await first.next() == [])
        network.setRoute(true)
        #expect(try await first.next() == onLink)
        await settle()
        #expect(try await second.next() == onLink)
    }

    @Test func `a slow iteration gets the newest flags, and none twice in a row`() async throws {
        var iterator = try network.handle().updates.makeAsyncIterator()
        #expect(try await iterator.next() == [])
        await settle()
        for isThere in [true, false, true, false] {
            network.clock.advance(by: .seconds(1))
            network.setRoute(isThere)
            await settle()
        }
        network.clock.advance(by: .seconds(1))
        network.setRoute(true)
        #expect(try await iterator.next() == onLink)
    }

    @Test func `cancelling the task ends the iteration at once`() async throws {
        let updates = try network.handle().updates
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            var all: [ReachabilityFlags] = []
            for try await flags in updates {
                all.append(flags)
                begin.yield()
            }
            return all
        }
        for await _ in begun { break }
        task.cancel()
        #expect(try await task.value == [[]])
    }

    @Test func `a cancelled task gets no element`() async throws {
        let updates = try network.handle().updates
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            var iterator = updates.makeAsyncIterator()
            return try await iterator.next()
        }
        #expect(try await task.value == nil)
    }

    @Test func `a sequence outlives its handle`() async throws {
        var iterator = try network.handle().updates.makeAsyncIterator()
        #expect(try await iterator.next() == [])
        network.setRoute(true)
        #expect(try await iterator.next() == onLink)
    }

    /// A handle whose monitor cannot run.
    private func brokenHandle() throws -> NetworkReachability {
        let source = NetworkSource(
            routing: network.routing,
            resolver: network.resolver,
            changes: { () throws(ReachabilityError) in throw ReachabilityError(operation: "open", number: 24)
            }
        )
        return NetworkReachability(target: .address(IPAddress(192, 0, 2, 1)), source: source)
    }

    @Test func `a sequence fails if the monitor cannot run, and ends`() async throws {
        let updates = try brokenHandle().updates
        var iterator = updates.makeAsyncIterator()
        let error = await #expect(throws: ReachabilityError.self) { try await iterator.next() }
        #expect(error?.number == 24)
        #expect(try await iterator.next() == nil)
        var results = updates.results.makeAsyncIterator()
        await #expect(throws: try #require(error)) { try await results.next() }
        #expect(try await results.next() == nil)
    }

    @Test func `the failure of the first evaluation is a result, and the next one follows`() async throws {
        let error = ReachabilityError(operation: "ask", number: 24)
        network.routing.fail(error)
        var results = try network.handle().updates.results.makeAsyncIterator()
        #expect(try await results.next() == .failure(error))
        await network.settle()
        network.routing.fail(nil)
        network.clock.advance(by: .seconds(1))
        #expect(try await results.next() == .success([]))
    }

    @Test func `a sequence has the flags of the evaluation after a failure`() async throws {
        network.routing.setRoute(.documentation, true)
        network.routing.fail(ReachabilityError(operation: "ask", number: 24))
        var iterator = try network.handle().updates.makeAsyncIterator()
        await network.settle()
        network.routing.fail(nil)
        network.clock.advance(by: .seconds(1))
        #expect(try await iterator.next() == onLink)
    }

    @Test func `leaving the iteration ends the observation`() async throws {
        for try await _ in try network.handle().updates { break }
        #expect(network.source.monitor.userCount == 0)
    }

    // MARK: Waiting

    @Test func `waiting until the target is unreachable returns when it is`() async throws {
        network.routing.setRoute(.documentation, true)
        let reachability = try network.handle()
        async let flags = reachability.wait { !$0.isNetworkReachable }
        try await eventually("the wait has joined the monitor") { network.source.monitor.userCount > 0 }
        network.setRoute(false)
        #expect(try await flags == [])
    }

    @Test func `waiting returns at once if the target is reachable`() async throws {
        network.routing.setRoute(.documentation, true)
        let flags = try await network.handle().waitUntilReachable(timeout: .zero)
        #expect(flags == onLink)
        #expect(network.starts == 0)
    }

    @Test(arguments: [nil, Duration.seconds(3_600)])
    func `waiting returns when the target becomes reachable`(timeout: Duration?) async throws {
        let reachability = try network.handle()
        async let flags = reachability.waitUntilReachable(timeout: timeout)
        try await eventually("the wait has joined the monitor") { network.source.monitor.userCount > 0 }
        network.setRoute(true)
        #expect(try await flags == onLink)
        #expect(network.source.monitor.userCount == 0)
    }

    @Test func `waiting with a time-out of zero throws that it timed out`() async throws {
        let reachability = try network.handle()
        let error = await #expect(throws: ReachabilityError.self) {
            try await reachability.waitUntilReachable(timeout: .zero)
        }
        #expect(error?.code == .timedOut)
        #expect(network.source.monitor.userCount == 0)
    }

    @Test(arguments: [nil, Duration.seconds(3_600)])
    func `waiting ends when its task is cancelled`(timeout: Duration?) async throws {
        let reachability = try network.handle()
        let task = Task { try await reachability.waitUntilReachable(timeout: timeout) }
        try await eventually("the wait has joined the monitor") { network.source.monitor.userCount > 0 }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(network.source.monitor.userCount == 0)
    }

    // An address whose first evaluation failed ended the wait.
    @Test(arguments: ["192.0.2.1", "www.example.com"])
    func `waiting goes on after a first evaluation that fails`(host: String) async throws {
        network.resolver.set("www.example.com", .addresses([IPAddress(192, 0, 2, 1)]))
        network.routing.setRoute(.documentation, true)
        network.routing.fail(ReachabilityError(operation: "ask", number: 24))
        let reachability = try network.handle(.host(host))
        let task = Task { try await reachability.waitUntilReachable(timeout: .seconds(3_600)) }
        try await eventually("the wait has joined the monitor") { network.source.monitor.userCount == 1 }
        await network.settle()
        network.routing.fail(nil)
        network.clock.advance(by: .seconds(1))
        #expect(try await task.value == onLink)
    }

    @Test(arguments: ["192.0.2.1", "www.example.com"])
    func `waiting with a time-out of zero throws the error of its evaluation`(host: String) async throws {
        network.resolver.set("www.example.com", .addresses([IPAddress(192, 0, 2, 1)]))
        network.routing.fail(ReachabilityError(operation: "ask", number: 24))
        let reachability = try network.handle(.host(host))
        let error = await #expect(throws: ReachabilityError.self) {
            try await reachability.waitUntilReachable(timeout: .zero)
        }
        #expect(error?.number == 24)
    }

    /// Waits for 3 s, with a change after the first evaluation.
    private func timeOut(
        _ host: String,
        until condition: @escaping @Sendable (ReachabilityFlags) -> Bool = \.isNetworkReachable,
        change: () -> Void = {}
    ) async throws -> ReachabilityError? {
        let reachability = try network.handle(.host(host))
        let task = Task { try await reachability.wait(timeout: .seconds(3), until: condition) }
        try await eventually("the wait has joined the monitor") { network.source.monitor.userCount == 1 }
        await network.settle()
        change()
        await network.settle()
        network.clock.advance(by: .seconds(3))
        return await #expect(throws: ReachabilityError.self) { try await task.value }
    }

    @Test func `a time-out has the reason as a value and in its text`() async throws {
        let error = try await timeOut("192.0.2.1")
        #expect(error?.code == .timedOut)
        #expect(error?.reason?.code == .noRoute)
        #expect(error?.underlyingError == nil)
        #expect(
            "\(try #require(error))" == "timed out after 3.0 seconds: 192.0.2.1 is not reachable: no route")
    }

    @Test func `a time-out has the reason of the last evaluation, with the same flags`() async throws {
        var route = Route.onLink(.documentation)
        (route.type, route.nexthops) = (.prohibit, [])
        let error = try await timeOut("192.0.2.1", change: { network.apply(.route(route, .last)) })
        #expect(error?.reason?.code == .prohibited)
    }

    @Test func `a condition is asked about other flags, and not about another reason for the same`()
        async throws
    {
        var route = Route.onLink(.documentation)
        (route.type, route.nexthops) = (.prohibit, [])
        let asked = Locked<[ReachabilityFlags]>([])
        let error = try await timeOut(
            "192.0.2.1",
            until: { flags in
                asked.withLock { $0.append(flags) }
                return false
            },
            change: { network.apply(.route(route, .last)) })
        #expect(error?.reason?.code == .prohibited)
        #expect(asked.withLock { $0 } == [[]])
    }

    @Test func `a time-out of zero has the reason, from one evaluation`() async throws {
        let reachability = try network.handle()
        let error = await #expect(throws: ReachabilityError.self) {
            try await reachability.waitUntilReachable(timeout: .zero)
        }
        #expect(error?.reason?.code == .noRoute)
        #expect(network.starts == 0)
    }

    @Test func `a time-out of another condition says that the target is reachable`() async throws {
        network.routing.setRoute(.documentation, true)
        let error = try await timeOut("192.0.2.1", until: { !$0.isNetworkReachable })
        #expect(error?.reason?.code == .onLink)
        #expect(
            "\(try #require(error))"
                == "timed out after 3.0 seconds: 192.0.2.1 is reachable: on the link of eth0, no gateway needed"
        )
    }

    @Test func `a time-out has the failure of the last evaluation as its cause`() async throws {
        let failure = ReachabilityError(operation: "ask", number: 24)
        network.routing.fail(failure)
        let error = try await timeOut("192.0.2.1")
        #expect(error?.code == .timedOut)
        #expect(error?.underlyingError as? ReachabilityError == failure)
        #expect(error?.reason == nil)
        #expect(error?.description.contains("192.0.2.1 could not be evaluated: cannot ask") == true)
    }

    @Test func `a time-out of a name that does not exist says so`() async throws {
        let error = try await timeOut("www.example.com")
        #expect(error?.reason?.code == .nameNotFound)
        #expect(error?.description.hasSuffix("the name www.example.com has no address") == true)
    }

    @Test func `waiting throws the error of a monitor that cannot run`() async throws {
        let reachability = try brokenHandle()
        let error = await #expect(throws: ReachabilityError.self) {
            try await reachability.waitUntilReachable()
        }
        #expect(error?.number == 24)
    }

    @Test func `waiting uses the monitor's clock`() async throws {
        let reachability = try network.handle()
        let task = Task { try await reachability.waitUntilReachable(timeout: .seconds(3)) }
        try await eventually("the wait has joined the monitor") { network.source.monitor.userCount == 1 }
        await network.settle()
        network.clock.advance(by: .seconds(3))
        let error = await #expect(throws: ReachabilityError.self) { try await task.value }
        #expect(error?.code == .timedOut)
        #expect(network.source.monitor.userCount == 0)
    }

    // The stream held the newest result only, and the wait went on without a deadline.
    @Test func `a later result does not take the place of a time-out`() async throws {
        let monitor = network.source.monitor
        let timedOut = ReachabilityError(.timedOut, operation: "wait")
        var results = try ObservationIteration(
            [.flags(of: network.handle().target)],
            monitor,
            skipsFailures: false,
            until: monitor.clock.now + .seconds(3),
            expiry: timedOut
        )
        #expect(await results.next(isolation: nil)?.result == .success([]))
        await network.settle()
        network.clock.advance(by: .seconds(3))
        await network.settle()
        network.setRoute(true)
        await network.settle()
        #expect(await results.next(isolation: nil)?.result == .failure(timedOut))
    }

    // An evaluation with the same result passed for the delivery of the first one, and the wait went on without it.
    @Test func `a result that a wait has not read yet is not lost when it is found again`() async throws {
        var results = try ObservationIteration(
            [.flags(of: network.handle().target)],
            network.source.monitor,
            skipsFailures: false,
            expiry: ReachabilityError(.timedOut, operation: "wait")
        )
        #expect(await results.next(isolation: nil)?.result == .success([]))
        await network.settle()
        network.clock.advance(by: .seconds(1))
        network.setRoute(true)
        await network.settle()
        for _ in 0..<2 {
            network.clock.advance(by: .seconds(1))
            network.notify(.settings)
            await network.settle()
        }
        #expect(await results.next(isolation: nil)?.result == .success([.reachable, .isDirect]))
    }

    // A task that slept until the time-out kept its memory after the wait was cancelled.
    @Test func `a cancelled wait leaves neither a timer nor an observation behind`() async throws {
        let reachability = try network.handle()
        let task = Task { try await reachability.waitUntilReachable(timeout: .seconds(86_400)) }
        try await eventually("the wait has joined the monitor") { network.source.monitor.userCount == 1 }
        await network.settle()
        #expect(network.clock.sleeperCount == 0)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(network.source.monitor.userCount == 0)
        #expect(network.clock.nextDue == nil)
    }

    @Test(arguments: [Duration.seconds(Int64.max), .nanoseconds(Int64.max), .seconds(Int64.max / 2)])
    func `waiting accepts the longest time-outs`(timeout: Duration) async throws {
        for network in [network, ScriptedNetwork(usesSystemClock: true)] {
            let reachability = try network.handle()
            let task = Task { try await reachability.waitUntilReachable(timeout: timeout) }
            try await eventually("the wait has joined the monitor") { network.source.monitor.userCount == 1 }
            await network.settle()
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test func `waiting for a reachable name with a time-out of zero returns`() async throws {
        network.resolver.set("www.example.com", .addresses([IPAddress(192, 0, 2, 1)]))
        network.routing.setRoute(.documentation, true)
        let reachability = try network.handle(.host("www.example.com"))
        #expect(try await reachability.waitUntilReachable(timeout: .zero) == onLink)
        #expect(network.source.monitor.userCount == 0)
    }

    @Test func `waiting for an unreachable name with a time-out of zero throws`() async throws {
        let reachability = try network.handle(.host("www.example.com"))
        let error = await #expect(throws: ReachabilityError.self) {
            try await reachability.waitUntilReachable(timeout: .zero)
        }
        #expect(error?.code == .timedOut)
    }
}
