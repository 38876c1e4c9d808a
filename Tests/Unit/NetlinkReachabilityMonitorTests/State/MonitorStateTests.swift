// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import RoutingModel
import Testing

@testable import NetlinkReachability

/// Three addresses in three networks.
private let networks: [UInt64: String] = [1: "10.0.0.1", 2: "10.0.1.1", 3: "2001:db8::1"]

private func prefix(_ text: String) throws -> IPPrefix {
    try #require(IPPrefix(text))
}

struct MonitorStateTests {
    @Test func `a new observation is evaluated at once`() {
        var driver = StateDriver()
        driver.state.insert(1, at: driver.now)
        #expect(driver.run() == [1])
    }

    // MARK: Deadlines

    @Test func `an observation expires once, at its deadline`() {
        var driver = StateDriver()
        driver.state.insert(1, deadline: driver.now + .seconds(3), at: driver.now)
        driver.run()
        #expect(driver.deadline == 3_000)
        driver.run(at: 2_999)
        #expect(driver.expired.isEmpty)
        driver.run(at: 3_000)
        driver.run(at: 9_000)
        #expect(driver.expired == [1])
    }

    @Test func `a removed observation does not expire`() {
        var driver = StateDriver()
        driver.state.insert(1, deadline: driver.now + .seconds(3), at: driver.now)
        driver.state.insert(2, at: driver.now)
        driver.run()
        driver.state.remove(1)
        #expect(driver.state.deadlines.earliest == nil)
        #expect(driver.deadline == 60_000)
        driver.run(at: 9_000)
        #expect(driver.expired.isEmpty)
    }

    @Test func `a deadline beyond the end of the clock does not overflow`() {
        var driver = StateDriver()
        driver.move(to: 1_000)
        driver.state.insert(1, deadline: driver.now + .seconds(Int64.max), at: driver.now)
        driver.run()
        #expect(driver.deadline == 61_000)
    }

    // MARK: Notifications

    @Test(
        arguments: [
            ("10.0.0.0/24", [1]), ("10.0.0.0/23", [1, 2]), ("10.0.0.1/32", [1]), ("0.0.0.0/0", [1, 2]),
            ("10.0.2.0/24", []), ("::/0", [3]), ("2001:db8::/32", [3]), ("2001:db8::1/128", [3]),
            ("2001:db9::/32", []), ("0.0.0.0/1", [1, 2]), ("128.0.0.0/1", []),
        ] as [(String, Set<UInt64>)]
    )
    func `a route notification evaluates the observations inside its prefix only`(
        text: String,
        inside: Set<UInt64>
    ) throws {
        var driver = StateDriver()
        driver.watch(networks)
        driver.move(to: 1_000)
        driver.note(.route(try prefix(text)))
        #expect(Set(driver.run()) == inside)
    }

    @Test(
        arguments: [
            .link(isLoss: false), .link(isLoss: true), .address(isLoss: false), .address(isLoss: true),
            .rule, .nexthop(isLoss: false), .nexthop(isLoss: true), .settings,
        ] as [KernelNotification]
    )
    func `any other notification evaluates everything`(change: KernelNotification) {
        var driver = StateDriver()
        driver.watch(networks)
        driver.move(to: 1_000)
        driver.note(change)
        #expect(driver.run().sorted() == [1, 2, 3])
    }

    @Test(
        arguments: [
            (.link(isLoss: true), true), (.address(isLoss: true), true), (.nexthop(isLoss: true), true),
            (.link(isLoss: false), false), (.address(isLoss: false), false), (.nexthop(isLoss: false), false),
            (.rule, false), (.settings, false),
        ] as [(KernelNotification, Bool)]
    )
    func `a loss is evaluated a second time, a quarter of a second later`(
        change: KernelNotification, isLoss: Bool
    ) {
        var driver = StateDriver()
        driver.watch(networks)
        driver.move(to: 1_000)
        driver.note(change)
        driver.run()
        #expect(driver.run(at: 1_249).isEmpty)
        #expect(driver.run(at: 1_250).sorted() == (isLoss ? [1, 2, 3] : []))
        #expect(driver.run(at: 1_600).isEmpty)
    }

    @Test func `an observation that depends on other addresses now is found by those`() throws {
        var driver = StateDriver()
        driver.watch([1: "10.0.0.1"])
        let elsewhere = IPAddress("192.0.2.1")
        driver.evaluate = { _ in RouteDependencies(addresses: [elsewhere]) }
        driver.move(to: 1_000)
        driver.note(.rule)
        driver.run()
        driver.move(to: 2_000)
        driver.note(.route(try prefix("192.0.2.0/24")))
        #expect(driver.run() == [1])
    }

    @Test func `a removed observation is not evaluated`() {
        var driver = StateDriver()
        driver.watch(networks)
        driver.state.remove(2)
        driver.move(to: 1_000)
        driver.note(.rule)
        #expect(driver.run().sorted() == [1, 3])
        driver.state.evaluated(2, RouteDependencies(), at: driver.now)
        #expect(driver.state.records[2] == nil)
    }

    @Test func `without observations there is no work and no deadline`() {
        var driver = StateDriver()
        driver.watch(networks)
        for id in networks.keys { driver.state.remove(id) }
        driver.note(.link(isLoss: true))
        driver.state.overran(at: driver.now)
        #expect(driver.run(at: 600_000).isEmpty)
        #expect(driver.deadline == nil)
    }

    @Test func `many observations are evaluated in chunks, and notifications are read in between`() {
        var driver = StateDriver()
        for id in 1...UInt64(NetworkFacts.batchLimit * 3) { driver.state.insert(id, at: driver.now) }
        #expect(driver.state.advance(to: driver.now).evaluations.count == NetworkFacts.batchLimit)
        #expect(driver.state.deadline.map { $0 < driver.now } == true)
        #expect(driver.run().count == NetworkFacts.batchLimit * 2)
    }

    @Test func `a change during a long pass is evaluated before the rest of the pass`() throws {
        var driver = StateDriver()
        var targets: [UInt64: String] = [:]
        for id in 1...UInt64(NetworkFacts.batchLimit * 4) { targets[id] = "10.0.\(id / 256).\(id % 256)" }
        driver.watch(targets)
        driver.move(to: 1_000)
        driver.note(.rule)
        _ = driver.state.advance(to: driver.now)
        driver.move(to: 1_200)
        driver.note(.route(try prefix("10.0.0.9/32")))
        #expect(driver.state.advance(to: driver.now).evaluations.first == 9)
    }
}
