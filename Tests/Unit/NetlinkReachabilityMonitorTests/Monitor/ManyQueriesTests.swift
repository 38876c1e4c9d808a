// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Fakes
import NetlinkReachabilityTestKit
import RoutingModel
import SystemSupport
import Testing

@testable import NetlinkReachability

private let onLink: ReachabilityFlags = [.reachable, .isDirect]

/// One observation of many queries.
struct ManyQueriesTests {
    /// One inside and one outside the prefix whose route comes and goes; the name has an address inside.
    private static let addresses: [ReachabilityTarget] = [
        .address(IPAddress(192, 0, 2, 1)), .address(IPAddress(198, 51, 100, 1)),
    ]

    let network = ScriptedNetwork()
    private let calls = Locked<[String]>([])
    private let queue = DispatchQueue(label: "many", attributes: .concurrent)

    init() throws {
        let named = try ReachabilityTarget.host("www.example.com")
        queries = (Self.addresses + [named]).map { .flags(of: $0) }
        network.resolver.set("www.example.com", .addresses([IPAddress(192, 0, 2, 7)]))
    }

    private let queries: [NetworkQuery<ReachabilityFlags>]

    private func change(_ isThere: Bool) async {
        network.clock.advance(by: .seconds(1))
        network.setRoute(isThere)
        await settle()
    }

    private func settle() async {
        await network.source.monitor.settle()
        for _ in 0..<4 { queue.sync(flags: .barrier) {} }
    }

    private func take() -> [String] {
        calls.withLock { calls in
            defer { calls = [] }
            return calls.sorted()
        }
    }

    private func observe(_ initial: NetworkSource.InitialValue = .deliver) throws -> NetworkObservation<
        ReachabilityFlags
    > {
        try network.source.observe(queries, on: .queue(queue), initial: initial) { [calls] index, result in
            calls.withLock { $0.append("\(index) \((try? result.get())?.letters ?? "failure")") }
        }
    }

    @Test func `each query has its first value, and then its changes alone`() async throws {
        let observation = try observe()
        await settle()
        #expect(take() == ["0 -- -------", "1 -- -------", "2 -- -------"])
        await change(true)
        #expect(take() == ["0 \(onLink.letters)", "2 \(onLink.letters)"])
        // Which of the queries it would be is not said.
        #expect(observation.current == nil)
        observation.cancel()
        #expect(network.source.monitor.userCount == 0)
    }

    @Test func `the first values can be skipped, and changes are still delivered`() async throws {
        let observation = try observe(.skip)
        await settle()
        #expect(take() == [])
        await change(true)
        #expect(take() == ["0 \(onLink.letters)", "2 \(onLink.letters)"])
        observation.cancel()
    }

    @Test func `calls about different queries do not overlap on a concurrent queue`() async throws {
        let state = Locked((running: 0, most: 0, all: 0))
        let queries = (1...50).map { NetworkQuery.flags(of: .address(IPAddress(192, 0, 2, $0))) }
        let observation = try network.source.observe(queries, on: .queue(queue)) { _, _ in
            state.withLock { $0 = ($0.running + 1, max($0.most, $0.running + 1), $0.all + 1) }
            for _ in 0..<100 { _ = state.withLock { $0.most } }
            state.withLock { $0.running -= 1 }
        }
        for round in 0..<10 { await change(round.isMultiple(of: 2)) }
        observation.cancel()
        #expect(state.withLock { $0.most } == 1)
        #expect(state.withLock { $0.all } > 50)
    }

    @Test func `a slow handler gets the newest value of each query`() async throws {
        let observation = try observe()
        await settle()
        _ = take()
        queue.suspend()
        for isThere in [true, false, true] {
            network.clock.advance(by: .seconds(1))
            network.setRoute(isThere)
            await network.source.monitor.settle()
        }
        queue.resume()
        await settle()
        #expect(take() == ["0 \(onLink.letters)", "2 \(onLink.letters)"])
        observation.cancel()
    }

    @Test func `on the monitor's thread every query is delivered in a burst`() async throws {
        let queries = (1...200).map { NetworkQuery.flags(of: .address(IPAddress(192, 0, 2, $0))) }
        let seen = Locked<Set<Int>>([])
        let observation = try network.source.observe(queries, on: .onMonitorThread, initial: .skip) {
            index, _ in
            seen.withLock { _ = $0.insert(index) }
        }
        await settle()
        await change(true)
        #expect(seen.withLock { $0.count } == 200)
        observation.cancel()
    }

    @Test func `a sequence has the index of the query with each value`() async throws {
        var iterator = network.source.updates(of: queries).makeAsyncIterator()
        var first: [Int: ReachabilityFlags] = [:]
        while first.count < 3, let update = try await iterator.next() { first[update.index] = update.value }
        #expect(first == [0: [], 1: [], 2: []])
        await settle()
        await change(true)
        var second: [Int: ReachabilityFlags] = [:]
        while second.count < 2, let update = try await iterator.next() { second[update.index] = update.value }
        #expect(second == [0: onLink, 2: onLink])
    }

    @Test func `a failure of one query does not end the sequence of many`() async throws {
        network.resolver.fail(ReachabilityError(operation: "resolve", number: 11))
        let updates = network.source.updates(of: queries)
        var seen: [Int] = []
        for try await update in updates {
            seen.append(update.index)
            if seen.count == 2 { break }
        }
        #expect(seen.sorted() == [0, 1])
        var failures: [Int32] = []
        seen = []
        for try await result in updates.results {
            switch result {
            case .success(let update): seen.append(update.index)
            case .failure(let error): failures.append(error.number)
            }
            if seen.count + failures.count == 3 { break }
        }
        #expect(seen.sorted() == [0, 1] && failures == [11])
    }

    @Test func `an observation of nothing calls no handler and has no value`() async throws {
        let observation = try network.source.observe([NetworkQuery<ReachabilityFlags>]()) { _, _ in
            Issue.record("it was called")
        }
        #expect(observation.current == nil)
        await settle()
        observation.cancel()
    }

    @Test func `events go to a handler, too`() async throws {
        let observation = try network.source.observe(.events, on: .queue(queue)) { [calls] event in
            calls.withLock { $0.append("\(event)") }
        }
        await settle()
        network.clock.sleepMachine(for: .seconds(3_600))
        await settle()
        #expect(take().count == 1)
        #expect(observation.current != nil)
        observation.cancel()
    }
}

/// A class of the main actor that shows flags.
@MainActor
private final class Label {
    private(set) var texts: [String] = []
    private var observation: NetworkObservation<ReachabilityFlags>?

    func show(_ reachability: NetworkReachability) throws {
        observation = try reachability.observe(on: MainActor.self) { [weak self] result in
            self?.texts.append((try? result.get())?.letters ?? "failure")
        }
    }

    func hide() { observation?.cancel() }
}

struct MainActorTests {
    let network = ScriptedNetwork()

    @Test func `a handler on the main actor uses what belongs to it, and can be cancelled there`()
        async throws
    {
        let (network, label) = (network, Label())
        try await label.show(network.handle())
        await network.source.monitor.settle()
        try await eventually("the first call") { await label.texts.count == 1 }
        network.clock.advance(by: .seconds(1))
        network.setRoute(true)
        await network.source.monitor.settle()
        try await eventually("the second call") { await label.texts.count == 2 }
        #expect(await label.texts == ["-- -------", onLink.letters])
        await label.hide()
        #expect(network.source.monitor.userCount == 0)
    }
}
