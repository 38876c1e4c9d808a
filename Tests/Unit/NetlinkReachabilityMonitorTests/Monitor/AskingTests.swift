// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Fakes
import NetlinkReachabilityTestKit
import RoutingModel
import Testing

@testable import NetlinkReachability

/// Queries that are asked: alone or together, with the task suspended or the thread blocked.
struct AskingTests {
    /// A kind of query, whose type of value is hidden.
    struct Kind: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// Compares what each way of asking gives with the first value that is observed.
        let compare: @Sendable (NetworkSource) async throws -> Void

        init<Value: Equatable>(_ query: NetworkQuery<Value>) {
            testDescription = query.description
            compare = { source in
                var updates = source.updates(of: query).makeAsyncIterator()
                let first = try #require(try await updates.next())
                #expect(try await source.value(of: query) == first)
                #expect(try Self.blocking { try source.blockingValue(of: query) } == first)
                let twice = [query, query]
                #expect(try await source.values(of: twice) == [.success(first), .success(first)])
                #expect(source.blockingValues(of: twice) == [.success(first), .success(first)])
                try await source.wait(for: query, timeout: .zero) { $0 == first }
            }
        }

        /// Calls what blocks, outside of an asynchronous function.
        private static func blocking<Value>(_ body: () throws -> Value) rethrows -> Value { try body() }
    }

    private static let kinds: [Kind] = {
        let (near, far) = (IPAddress(192, 0, 2, 7), IPAddress(198, 51, 100, 7))
        var marked = ReachabilityOptions()
        marked.mark = 7
        guard let name = try? ReachabilityTarget.host("www.example.com"),
            let pair = try? ReachabilityTarget.pair(local: IPAddress(192, 0, 2, 2), remote: near),
            let connection = try? NetworkConnection(
                transport: .tcp, local: IPAddress(192, 0, 2, 2), localPort: 4_000, remote: near,
                remotePort: 443)
        else { return [] }
        return [
            Kind(.flags(of: .address(near))), Kind(.flags(of: .address(far), options: marked)),
            Kind(.flags(of: name)), Kind(.flags()),
            Kind(.report(of: .address(near))), Kind(.report(of: name, .full)), Kind(.report(of: pair, .full)),
            Kind(.path()), Kind(.path(requiring: .wifi)), Kind(.identity()),
            Kind(.status(of: connection)),
            Kind(.order(of: [near, far, .loopbackV6])), Kind(.order(of: name, interleaved: true)),
            Kind(.order(of: [])), Kind(NetworkQuery("number") { 7 }),
        ]
    }()

    private let network = ScriptedNetwork()

    init() {
        network.routing.setRoute(.documentation, true)
        let addresses = [IPAddress(192, 0, 2, 9), IPAddress(v6High: 0x2001_0db8 << 32, low: 9)]
        network.resolver.set("www.example.com", .addresses(addresses))
    }

    @Test(arguments: kinds)
    func `each way of asking gives the first value that is observed`(kind: Kind) async throws {
        try await kind.compare(network.source)
    }

    @Test func `there is a kind of each type of value`() {
        #expect(Self.kinds.count == 15)
    }

    @Test func `no query has no result, and asks nothing`() async throws {
        let none: [NetworkQuery<ReachabilityFlags>] = []
        #expect(try await network.source.values(of: none).isEmpty)
        #expect(network.source.blockingValues(of: none).isEmpty)
        #expect(network.routing.queries.isEmpty && network.resolver.count == 0)
    }

    @Test func `the results come in the order of the queries, names among them, each resolved once`()
        async throws
    {
        let name = try ReachabilityTarget.host("www.example.com")
        let other = try ReachabilityTarget.host("other.example")
        let near = ReachabilityTarget.address(IPAddress(192, 0, 2, 7))
        let far = ReachabilityTarget.address(IPAddress(198, 51, 100, 7))
        let targets = (0..<300).flatMap { _ in [far, name, near, other] }
        let onLink: ReachabilityFlags = [.reachable, .isDirect]
        let expected = (0..<300).flatMap { _ in [[], onLink, onLink, []] }
            .map(Result<ReachabilityFlags, ReachabilityError>.success)
        let queries = targets.map { NetworkQuery.flags(of: $0) }
        #expect(try await network.source.values(of: queries) == expected)
        #expect(network.resolver.count == 2)
        #expect(network.source.blockingValues(of: queries) == expected)
    }

    @Test func `a query that fails hides no other one`() async throws {
        let error = ReachabilityError(operation: "resolve", number: 11)
        network.resolver.fail(error)
        let queries: [NetworkQuery<ReachabilityFlags>] = [
            .flags(of: try .host("www.example.com")), .flags(of: .address(IPAddress(192, 0, 2, 7))),
        ]
        let expected: [Result<ReachabilityFlags, ReachabilityError>] = [
            .failure(error), .success([.reachable, .isDirect]),
        ]
        #expect(try await network.source.values(of: queries) == expected)
        #expect(network.source.blockingValues(of: queries) == expected)
    }

    @Test func `events have no current value, and the error says what to do`() async throws {
        let error = await #expect(throws: ReachabilityError.self) {
            try await network.source.value(of: .events)
        }
        #expect(error?.code == .noCurrentValue)
        #expect(
            error?.description
                == "events have no current value: observe them, or iterate over updates(of: .events)")
        #expect(network.source.blockingValues(of: [.events]) == [.failure(try #require(error))])
    }

    // MARK: The order of addresses

    /// The addresses of a list of ordered ones, in their order.
    private func first(_ query: NetworkQuery<[OrderedAddress]>) async throws -> IPAddress? {
        try await network.source.wait(for: query, timeout: .seconds(60)) { $0.first?.isReachable == true }
            .first?.address
    }

    @Test func `an order is delivered again when a route makes it another one`() async throws {
        let (near, far) = (IPAddress(192, 0, 2, 7), IPAddress(198, 51, 100, 7))
        var updates = network.source.updates(of: .order(of: [far, near])).makeAsyncIterator()
        #expect(try await updates.next()?.map(\.address) == [near, far])
        await network.settle()
        network.clock.advance(by: .seconds(1))
        network.setRoute(false)
        // Neither can be reached, so that the given order remains.
        #expect(try await updates.next()?.map(\.address) == [far, near])
    }

    @Test func `an order of a name can be waited for`() async throws {
        network.resolver.set("www.example.com", .addresses([IPAddress(192, 0, 2, 9)]))
        let name = try ReachabilityTarget.host("www.example.com")
        #expect(try await first(.order(of: name)) == IPAddress(192, 0, 2, 9))
    }

    @Test func `a policy that is given is taken instead of that of the host`() async throws {
        network.setDefault(.defaultRoute(2, via: "192.0.2.254"))
        network.setDefault(.defaultRoute(2, via: "fe80::1", family: .v6))
        let both = [IPAddress(198, 51, 100, 7), IPAddress(v6High: 0x2001_0db8_0001 << 16, low: 7)]
        let policy = AddressPolicy(gaiConf: "precedence ::ffff:0:0/96 100")
        #expect(try await first(.order(of: both)) == both[1])
        #expect(try await first(.order(of: both, policy: policy)) == both[0])
    }
}
