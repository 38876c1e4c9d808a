// SPDX-License-Identifier: Apache-2.0

import Fakes
import NetlinkReachabilityTestKit
import RoutingModel
import Testing

@testable import NetlinkReachability

private let onLink: ReachabilityFlags = [.reachable, .isDirect]

@Suite struct UpdatesTests {
    let network = ScriptedNetwork()

    private func settle() async {
        await network.source.monitor.settle()
    }

    @Test func `the first flags come at once, then changes`() async throws {
        var iterator = try network.handle().updates.makeAsyncIterator()
        #expect(await iterator.next() == [])
        network.setRoute(true)
        #expect(await iterator.next() == onLink)
        network.clock.advance(by: .seconds(1))
        network.setRoute(false)
        #expect(await iterator.next() == [])
    }

    @Test func `sequences of one handle do not take from each other`() async throws {
        let reachability = try network.handle()
        var first = reachability.updates.makeAsyncIterator()
        var second = reachability.updates.makeAsyncIterator()
        #expect(await first.next() == [])
        network.setRoute(true)
        #expect(await first.next() == onLink)
        await settle()
        #expect(await second.next() == onLink)
    }

    @Test func `a slow loop gets the newest flags, and none twice in a row`() async throws {
        var iterator = try network.handle().updates.makeAsyncIterator()
        #expect(await iterator.next() == [])
        for isThere in [true, false, true, false] {
            network.clock.advance(by: .seconds(1))
            network.setRoute(isThere)
            await settle()
        }
        network.clock.advance(by: .seconds(1))
        network.setRoute(true)
        #expect(await iterator.next() == onLink)
    }

    @Test func `cancelling the task ends the loop at once`() async throws {
        let updates = try network.handle().updates
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            var all: [ReachabilityFlags] = []
            for await flags in updates {
                all.append(flags)
                begin.yield()
            }
            return all
        }
        for await _ in begun { break }
        task.cancel()
        #expect(await task.value == [[]])
    }

    @Test func `a task that is cancelled already gets nothing`() async throws {
        let updates = try network.handle().updates
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            var iterator = updates.makeAsyncIterator()
            return await iterator.next()
        }
        #expect(await task.value == nil)
    }

    @Test func `a sequence outlives its handle`() async throws {
        var reachability: NetworkReachability? = try network.handle()
        var iterator = try #require(reachability).updates.makeAsyncIterator()
        reachability?.stop()
        reachability = nil
        #expect(await iterator.next() == [])
        network.setRoute(true)
        #expect(await iterator.next() == onLink)
    }

    @Test func `a monitor that cannot run ends the sequence without an element`() async throws {
        network.routing.fail(RoutingFault(operation: "ask", number: 24))
        var iterator = try network.handle().updates.makeAsyncIterator()
        #expect(await iterator.next() == nil)
    }

    @Test func `leaving the loop gives the place back`() async throws {
        for await _ in try network.handle().updates { break }
        #expect(network.source.monitor.userCount == 0)
    }

    @Test func `a sequence has no current flags`() async throws {
        let reachability = try network.handle()
        var iterator = reachability.updates.makeAsyncIterator()
        #expect(await iterator.next() == [])
        #expect(reachability.currentFlags == nil)
    }

    // MARK: Waiting

    @Test func `waiting returns at once where the target is reachable`() async throws {
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

    @Test func `waiting ends with an error of its own when the time is over`() async throws {
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

    @Test func `waiting tells why the monitor cannot run`() async throws {
        network.routing.fail(RoutingFault(operation: "ask", number: 24))
        let reachability = try network.handle()
        let error = await #expect(throws: ReachabilityError.self) {
            try await reachability.waitUntilReachable()
        }
        #expect(error?.number == 24)
    }
}
