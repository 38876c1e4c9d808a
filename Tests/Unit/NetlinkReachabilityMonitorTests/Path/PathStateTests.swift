// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import Testing

@testable import NetlinkReachability

/// Paths in the pure state machine.
@Suite struct PathStateTests {
    private var driver = StateDriver()

    init() {
        driver.state.insertPath(1, at: driver.now)
        driver.state.insert(2, at: driver.now)
        driver.run()
        let basis = MonitorState.Basis(asked: [IPAddress(0, 0, 0, 1), .anyV6])
        _ = driver.state.foundPath(1, on: basis, at: driver.now)
    }

    @Test func `a default route that comes asks about the path`() {
        var driver = driver
        driver.move(to: 1_000)
        driver.note(.route(.allV4))
        #expect(driver.run() == [1])
    }

    @Test func `another route does not`() throws {
        var driver = driver
        driver.move(to: 1_000)
        driver.note(.route(try #require(IPPrefix("192.0.2.0/24"))))
        #expect(driver.run() == [])
    }

    @Test func `the resolver's files ask about paths alone, once they are written to their end`() {
        var driver = driver
        driver.move(to: 1_000)
        driver.state.noteResolverChange(at: driver.now)
        #expect(driver.run() == [])
        #expect(driver.deadline == 1_100)
        driver.move(to: 1_050)
        driver.state.noteResolverChange(at: driver.now)
        #expect(driver.run(at: 1_100) == [1])
        #expect(driver.run(at: 1_200) == [])
    }

    @Test func `a failed question is asked again after a pause`() {
        var driver = driver
        driver.move(to: 1_000)
        let isWanted = driver.state.foundPath(1, on: nil, at: driver.now)
        #expect(isWanted)
        #expect(driver.run(at: 1_999) == [])
        #expect(driver.run(at: 2_000) == [1])
    }

    @Test func `a path that is removed is not asked about, and its answer is for nobody`() {
        var driver = driver
        driver.state.noteResolverChange(at: driver.now)
        driver.state.remove(1)
        #expect(driver.run(at: 1_000) == [])
        let isWanted = driver.state.foundPath(1, on: MonitorState.Basis(), at: driver.now)
        #expect(!isWanted)
    }
}
