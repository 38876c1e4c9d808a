// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Fakes
import Glibc
import NetlinkReachabilityTestKit
import RoutingModel
import SystemSupport
import Testing

@testable import NetlinkReachability

/// Records the batches that are asked.
///
/// Even addresses have a route through an interface, and odd ones have none. A query about 10.0.0.5 fails.
private final class BatchRecorder: RoutingSource {
    let batches = Locked<[[IPAddress]]>([])
    let interfaces = Locked(0)
    /// The errno of every query from now on; 0 for none.
    let failure = Locked<Int32>(0)
    /// Whether the facts about the interface come with the answers, as those of a kernel do.
    let bringsFacts = Locked(false)
    /// The number of an address whose queries time out; `nil` for none.
    let late = Locked<UInt64?>(nil)

    func answer(_ lookups: inout [RouteLookup], from first: Int) -> [InterfaceReading] {
        let asked = lookups[first...].map(\.query.destination)
        batches.withLock { $0.append(asked) }
        lookups.answer(from: first) { (query) throws(ReachabilityError) in
            try answer(query.destination.low)
        }
        return bringsFacts.withLock(\.self) ? [InterfaceReading(Self.interface, .full)] : []
    }

    private static let interface = InterfaceFacts(
        link: Link(index: 2, name: "eth0", flags: [.up, .lowerUp]))

    private func answer(_ number: UInt64) throws(ReachabilityError) -> RouteAnswer {
        let isLate = number == late.withLock(\.self)
        let failure = isLate ? ETIMEDOUT : number == 0x0a00_0005 ? EIO : failure.withLock { $0 }
        if failure != 0 { throw ReachabilityError(operation: "ask for a route", number: failure) }
        guard number.isMultiple(of: 2) else { return .rejected(.noRoute) }
        var match = RouteMatch(.unicast, [Nexthop(interfaceIndex: 2)])
        match.lifetime = Int32(truncatingIfNeeded: number & 0xffff)
        return .taken(match)
    }

    func answer<Answer>(_ query: HostQuery<Answer>) -> Answer {
        guard case .interface(_, _, let give) = query else { return query.unknown }
        interfaces.withLock { $0 += 1 }
        return give(Self.interface)
    }
}

/// How queries share batches.
struct MonitorBatchTests {
    private let routing = BatchRecorder()
    private let feeds = SimulatedFeeds()

    private static func address(_ number: Int) -> IPAddress {
        IPAddress(v4: 0x0a00_0000 + UInt32(number))
    }

    private var facts: NetworkFacts {
        NetworkFacts(
            routing: routing, resolver: ScriptedResolver(), nameservers: { nil }, addressPolicy: { .standard }
        )
    }

    private let clock = ManualClock()

    private func source() -> NetworkSource {
        NetworkSource(
            routing: routing,
            resolver: ScriptedResolver(),
            clock: ManualMonitorClock(clock),
            changes: { [feeds] () throws(ReachabilityError) in try feeds.open() }
        )
    }

    /// The newest flags of the addresses.
    private let newest = Locked<[Int: ReachabilityFlags]>([:])

    /// Observes 600 addresses, and forgets the batches of their first evaluation.
    private func observation(_ source: NetworkSource) async throws -> NetworkObservation<ReachabilityFlags> {
        let queries = (10..<610).map { NetworkQuery.flags(of: .address(Self.address($0))) }
        let observation = try source.observe(queries, on: .onMonitorThread) { [newest] index, result in
            newest.withLock { $0[index] = try? result.get() }
        }
        await source.monitor.settle()
        routing.batches.withLock { $0 = [] }
        return observation
    }

    @Test func `a burst asks about many targets in a batch, and every target has its own answer`()
        async throws
    {
        let source = source()
        let observation = try await observation(source)
        feeds.notify([.rule])
        await source.monitor.settle()
        let batches = routing.batches.withLock { $0 }
        #expect(batches.allSatisfy { Set($0).count <= NetworkFacts.batchLimit })
        #expect(batches.count < 10)
        #expect(Set(batches.joined()).count == 600)
        let expected: [ReachabilityFlags?] = (10..<610).map {
            $0.isMultiple(of: 2) ? [.reachable, .isDirect] : []
        }
        #expect(newest.withLock { newest in (0..<600).map { newest[$0] } } == expected)
        observation.cancel()
    }

    @Test func `a kernel that does not answer is asked for one batch of a burst`() async throws {
        let source = source()
        let observation = try await observation(source)
        routing.failure.withLock { $0 = ETIMEDOUT }
        feeds.notify([.rule])
        await source.monitor.settle()
        #expect(routing.batches.withLock { $0.map { Set($0).count } } == [NetworkFacts.batchLimit])
        observation.cancel()
    }

    @Test func `the targets from a late one on are asked about again, and those before it are not`()
        async throws
    {
        let source = source()
        let observation = try await observation(source)
        routing.bringsFacts.withLock { $0 = true }
        routing.late.withLock { $0 = 0x0a00_0100 }
        feeds.notify([.rule])
        await source.monitor.settle()
        let late = Self.address(0x100)
        let batch = try #require(routing.batches.withLock(\.last))
        let place = try #require(batch.firstIndex(of: late))
        routing.late.withLock { $0 = nil }
        routing.batches.withLock { $0 = [] }
        clock.advance(by: .seconds(2))
        await source.monitor.settle()
        let again = Set(routing.batches.withLock { $0.joined() })
        #expect(again.isSuperset(of: batch[place...]))
        // The lifetimes of the routes to lower numbers are over.
        let before = batch[..<place].filter { $0.low > 0x0a00_0120 }
        #expect(!before.isEmpty && again.isDisjoint(with: before))
        observation.cancel()
    }

    @Test func `a target without a candidate does not move the others of its batch`() throws {
        let failure = ReachabilityError(operation: "resolve a name", number: 24)
        let batch = EvaluatedTargets(
            facts,
            [
                (.address(Self.address(2)), .flags), (try .host("example.com"), .flags),
                (.address(Self.address(3)), .flags), (.address(Self.address(4)), .flags),
            ],
            resolution: { $0 == 1 ? .failure(failure) : nil })
        #expect(throws: failure) { try batch.flags(1) }
        #expect(try [0, 2, 3].map { try batch.flags($0).isEmpty } == [false, true, false])
        #expect(batch.addresses(1) == [])
        #expect(batch.addresses(3) == [Self.address(4)])
    }

    @Test func `a batch fetches the facts about an interface once`() throws {
        let batch = EvaluatedTargets(facts, flagsOf: [2, 4, 6, 8].map(Self.address))
        for index in 0..<4 { #expect(try batch.flags(index) == [.reachable, .isDirect]) }
        #expect(routing.interfaces.withLock { $0 } == 1)
    }

    @Test func `each target of a batch depends on its own addresses and lifetimes`() throws {
        let batch = EvaluatedTargets(facts, flagsOf: [2, 3, 8].map(Self.address))
        #expect((0..<3).map(batch.addresses) == [2, 3, 8].map { [Self.address($0)] })
        #expect(batch.dependencies.map(\.lifetime) == [2, nil, 8])
    }

    @Test func `a query that fails does not fail the others of its batch`() throws {
        let batch = EvaluatedTargets(facts, flagsOf: [5, 2].map(Self.address))
        #expect(throws: ReachabilityError.self) { try batch.flags(0) }
        #expect(try batch.flags(1) == [.reachable, .isDirect])
    }
}
