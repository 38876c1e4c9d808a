// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import Testing

@testable import NetlinkReachability

private let address = IPAddress(192, 0, 2, 1)
private let found = HostResolution.addresses([address])

@Suite struct MonitorNamesTests {
    /// A driver with one name that is being resolved.
    private static func resolving() -> StateDriver {
        var driver = StateDriver()
        driver.answer = { _ in .flags([.reachable], MonitorState.Basis(asked: [address])) }
        driver.state.insert(1, isName: true, at: driver.now)
        driver.run()
        return driver
    }

    /// A driver with one name that is resolved.
    private static func resolved() -> StateDriver {
        var driver = resolving()
        driver.state.resolved(1, generation: 0, found, at: driver.now)
        driver.run()
        driver.resolutions = []
        driver.told = []
        return driver
    }

    private static let path = PathSignature(v4: .entry(.unicast, nil), v6: nil)
    private static let otherPath = PathSignature(v4: .rejected(.noRoute), v6: nil)

    @Test func `a name is resolved before anything is asked`() {
        var driver = Self.resolving()
        #expect(driver.resolutions.map(\.id) == [1])
        #expect(driver.told.isEmpty)
        driver.move(to: 1_000)
        driver.note(.rule)
        #expect(driver.run().isEmpty)
    }

    @Test func `a resolved name is asked about at once`() {
        var driver = Self.resolving()
        driver.state.resolved(1, generation: 0, found, at: driver.now)
        #expect(driver.run() == [1])
        #expect(driver.told.map(\.flags) == [[.reachable]])
        #expect(driver.state.names.resolution(of: 1) == found)
    }

    @Test func `a name that does not exist is an answer and not resolved again`() {
        var driver = Self.resolving()
        driver.state.resolved(1, generation: 0, .notFound, at: driver.now)
        #expect(driver.run() == [1])
        #expect(driver.state.names.resolution(of: 1) == .notFound)
        driver.resolutions = []
        driver.run(at: 59_999)
        #expect(driver.resolutions.isEmpty)
    }

    @Test(arguments: [HostResolution.failed("SERVFAIL"), .timedOut])
    func `a failure for now is retried, less and less often, up to a minute`(failure: HostResolution) {
        var driver = Self.resolving()
        var instants: [Int] = []
        var instant = 0
        // Nothing else is to happen meanwhile: announcements would hasten it.
        for _ in 0..<8 {
            driver.state.resolved(1, generation: 0, failure, at: driver.now)
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

    @Test func `the first failure is told, a later one keeps what was known`() {
        var driver = Self.resolving()
        driver.answer = { _ in .flags([], MonitorState.Basis()) }
        driver.state.resolved(1, generation: 0, .failed("SERVFAIL"), at: driver.now)
        #expect(driver.run() == [1])
        #expect(driver.told.map(\.flags) == [[]])

        driver = Self.resolved()
        driver.state.noteSleep(at: driver.now)
        driver.run()
        driver.state.resolved(1, generation: 1, .timedOut, at: driver.now)
        #expect(driver.run().isEmpty)
        #expect(driver.state.names.resolution(of: 1) == found)
        #expect(driver.told.isEmpty)
    }

    @Test func `a change of the network hastens the retry of what failed`() {
        var driver = Self.resolving()
        driver.state.resolved(1, generation: 0, .failed("SERVFAIL"), at: driver.now)
        driver.run()
        driver.resolutions = []
        driver.move(to: 300)
        driver.note(.address(isLoss: false))
        driver.run()
        #expect(driver.resolutions.map(\.generation) == [0])
    }

    @Test func `a change of the resolver's files resolves every name again, once they have settled`() {
        var driver = Self.resolved()
        driver.move(to: 1_000)
        driver.state.noteResolverChange(at: driver.now)
        driver.state.noteResolverChange(at: driver.now)
        driver.run(at: 1_099)
        #expect(driver.resolutions.isEmpty)
        driver.run(at: 1_100)
        #expect(driver.resolutions.map(\.generation) == [1])
    }

    @Test func `another default path resolves every name again, the same one does not`() {
        var driver = Self.resolved()
        driver.state.sawPath(Self.path)
        driver.state.sawPath(Self.path)
        driver.run()
        #expect(driver.resolutions.isEmpty)
        driver.state.sawPath(Self.otherPath)
        driver.run()
        #expect(driver.resolutions.map(\.generation) == [1])
    }

    @Test func `the default path is looked at when something has happened, and only for names`() {
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

    @Test func `an answer to an older question is dropped and counted`() {
        var driver = Self.resolving()
        driver.state.noteSleep(at: driver.now)
        driver.run()
        driver.state.resolved(1, generation: 0, .notFound, at: driver.now)
        #expect(driver.run().isEmpty)
        #expect(driver.state.names.resolution(of: 1) == nil)
        #expect(driver.state.names.lateAnswers == 1)
        driver.state.resolved(1, generation: 1, found, at: driver.now)
        #expect(driver.run() == [1])
    }

    @Test func `an answer about a removed name is dropped`() {
        var driver = Self.resolving()
        driver.state.remove(1)
        driver.state.resolved(1, generation: 0, found, at: driver.now)
        #expect(driver.run().isEmpty)
    }

    @Test func `old addresses count until there are new ones`() {
        var driver = Self.resolved()
        driver.state.noteSleep(at: driver.now)
        driver.answer = { _ in .flags([], MonitorState.Basis(asked: [address])) }
        #expect(driver.run() == [1])
        #expect(driver.told.map(\.flags) == [[]])
    }

    @Test func `no more names are resolved at the same time than the limit`() {
        var driver = StateDriver()
        let limit = MonitorState.Names.limit
        for id in 1...UInt64(limit + 5) { driver.state.insert(id, isName: true, at: driver.now) }
        driver.run()
        #expect(driver.resolutions.count == limit)
        driver.state.resolved(1, generation: 0, found, at: driver.now)
        driver.run()
        #expect(driver.resolutions.count == limit + 1)
        #expect(Set(driver.resolutions.map(\.id)).count == limit + 1)
    }
}
