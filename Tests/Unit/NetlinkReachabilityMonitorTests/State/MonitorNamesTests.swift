// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import Testing

@testable import NetlinkReachability

private let address = IPAddress(192, 0, 2, 1)
private let found = ReachabilityTarget.Resolution.addresses([address])

struct MonitorNamesTests {
    private static let error = ReachabilityError(operation: "start a thread for the resolver", number: 11)

    /// A driver with one name that is being resolved.
    private static func resolving() -> StateDriver {
        var driver = StateDriver()
        driver.evaluate = { _ in RouteDependencies(addresses: [address]) }
        driver.state.insert(1, isName: true, at: driver.now)
        driver.run()
        return driver
    }

    /// A driver with one name that is resolved.
    private static func resolved() -> StateDriver {
        var driver = resolving()
        driver.state.resolved(1, generation: 0, .success(found), at: driver.now)
        driver.run()
        driver.resolutions = []
        return driver
    }

    private static let path: [RouteAnswer?] = [.taken(RouteMatch(.unicast, [])), nil]
    private static let otherPath: [RouteAnswer?] = [.rejected(.noRoute), nil]

    @Test func `a name is resolved before it is evaluated`() {
        var driver = Self.resolving()
        #expect(driver.resolutions.map(\.id) == [1])
        driver.move(to: 1_000)
        driver.note(.rule)
        #expect(driver.run().isEmpty)
    }

    @Test func `a resolved name is evaluated at once`() {
        var driver = Self.resolving()
        driver.state.resolved(1, generation: 0, .success(found), at: driver.now)
        #expect(driver.run() == [1])
        #expect(driver.state.names.resolution(of: 1) == found)
    }

    @Test func `a name that does not exist is not resolved again`() {
        var driver = Self.resolving()
        driver.state.resolved(1, generation: 0, .success(.notFound), at: driver.now)
        #expect(driver.run() == [1])
        #expect(driver.state.names.resolution(of: 1) == .notFound)
        driver.resolutions = []
        driver.run(at: 59_999)
        #expect(driver.resolutions.isEmpty)
    }

    @Test(arguments: [ReachabilityTarget.Resolution.failed("SERVFAIL"), .timedOut])
    func `a failure for now is retried, less and less often, up to a minute`(
        failure: ReachabilityTarget.Resolution
    ) {
        var driver = Self.resolving()
        var instants: [Int] = []
        var instant = 0
        // No routine evaluation: it would bring the retry forward.
        for _ in 0..<8 {
            driver.state.resolved(1, generation: 0, .success(failure), at: driver.now)
            driver.state.routineDue = nil
            driver.run()
            driver.resolutions = []
            instant = driver.deadline ?? 0
            driver.run(at: instant)
            instants.append(instant)
            #expect(driver.resolutions.count == 1)
        }
        let pauses = zip(instants, [0] + instants).map { $0 - $1 }
        #expect(pauses == [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
    }

    @Test func `the first failure is evaluated, a later one keeps the addresses`() {
        var driver = Self.resolving()
        driver.state.resolved(1, generation: 0, .success(.failed("SERVFAIL")), at: driver.now)
        #expect(driver.run() == [1])
        #expect(driver.state.names.failedCount == 1)

        driver = Self.resolved()
        driver.state.slept(at: driver.now)
        driver.run()
        driver.state.resolved(1, generation: 1, .success(.timedOut), at: driver.now)
        #expect(driver.run().isEmpty)
        #expect(driver.state.names.resolution(of: 1) == found)
    }

    @Test func `only an error and the end of one are evaluated when nothing new is known`() {
        var driver = Self.resolved()
        func resolve(_ result: ResolvedName) -> [MonitorState.ID] {
            driver.state.slept(at: driver.now)
            driver.run()
            guard let generation = driver.resolutions.last?.generation else { return [] }
            driver.state.resolved(1, generation: generation, result, at: driver.now)
            return driver.run()
        }
        #expect(resolve(.failure(Self.error)) == [1])
        #expect(driver.state.names.error(of: 1) == Self.error)
        #expect(resolve(.failure(Self.error)).isEmpty)
        #expect(resolve(.success(.failed("SERVFAIL"))) == [1])
        #expect(driver.state.names.error(of: 1) == nil)
        #expect(driver.state.names.resolution(of: 1) == found)
        #expect(driver.state.names.failedCount == 3)
    }

    @Test func `a resolution in flight of a removed name needs no deadline`() {
        var driver = Self.resolving()
        driver.state.remove(1)
        #expect(driver.deadline == nil)
        #expect(driver.run(at: 9_000).isEmpty)
    }

    @Test func `a change of the network brings the retry of a failed name forward`() {
        var driver = Self.resolving()
        driver.state.resolved(1, generation: 0, .success(.failed("SERVFAIL")), at: driver.now)
        driver.run()
        driver.resolutions = []
        driver.move(to: 300)
        driver.note(.address(isLoss: false))
        driver.run()
        #expect(driver.resolutions.map(\.generation) == [0])
    }

    @Test func `a change of the resolver's files resolves every name again after they have settled`() {
        var driver = Self.resolved()
        driver.move(to: 1_000)
        driver.state.resolverChanged(at: driver.now)
        driver.state.resolverChanged(at: driver.now)
        driver.run(at: 1_099)
        #expect(driver.resolutions.isEmpty)
        driver.run(at: 1_100)
        #expect(driver.resolutions.map(\.generation) == [1])
    }

    @Test func `another default path resolves every name again, and the same one does not`() {
        var driver = Self.resolved()
        driver.state.names.sawPath(Self.path)
        driver.state.names.sawPath(Self.path)
        driver.run()
        #expect(driver.resolutions.isEmpty)
        driver.state.names.sawPath(Self.otherPath)
        driver.run()
        #expect(driver.resolutions.map(\.generation) == [1])
    }

    @Test func `the default path is looked up after an event, and only if there are names`() {
        var driver = Self.resolved()
        let before = driver.looks
        driver.move(to: 1_000)
        driver.note(.settings)
        driver.run()
        #expect(driver.looks == before + 1)

        driver = StateDriver()
        driver.watch([1: "10.0.0.1"])
        driver.move(to: 1_000)
        driver.note(.settings)
        driver.run()
        #expect(driver.looks == 0)
    }

    @Test func `the result of a resolution that was replaced is dropped and counted`() {
        var driver = Self.resolving()
        driver.state.slept(at: driver.now)
        driver.run()
        driver.state.resolved(1, generation: 0, .success(.notFound), at: driver.now)
        #expect(driver.run().isEmpty)
        #expect(driver.state.names.resolution(of: 1) == nil)
        #expect(driver.state.names.lateCount == 1)
        driver.state.resolved(1, generation: 1, .success(found), at: driver.now)
        #expect(driver.run() == [1])
    }

    @Test func `the result for a removed name is dropped`() {
        var driver = Self.resolving()
        driver.state.remove(1)
        driver.state.resolved(1, generation: 0, .success(found), at: driver.now)
        #expect(driver.run().isEmpty)
    }

    @Test func `the old addresses count until there are new ones`() {
        var driver = Self.resolved()
        driver.state.slept(at: driver.now)
        #expect(driver.run() == [1])
        #expect(driver.state.names.resolution(of: 1) == found)
    }

    @Test func `at most the limit of names is resolved at the same time`() {
        var driver = StateDriver()
        let limit = MonitorState.Names.limit
        for id in 1...UInt64(limit + 5) {
            driver.state.insert(id, isName: true, at: driver.now)
        }
        driver.run()
        #expect(driver.resolutions.count == limit)
        driver.state.resolved(1, generation: 0, .success(found), at: driver.now)
        driver.run()
        #expect(driver.resolutions.count == limit + 1)
        #expect(Set(driver.resolutions.map(\.id)).count == limit + 1)
    }
}
