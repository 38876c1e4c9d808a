// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import Testing

@testable import NetlinkReachability

/// Three targets in three networks.
private let networks: [UInt64: String] = [1: "10.0.0.1", 2: "10.0.1.1", 3: "2001:db8::1"]

private func prefix(_ text: String) throws -> IPPrefix {
    try #require(IPPrefix(text))
}

@Suite struct MonitorStateTests {
    @Test func `a new target is asked about at once`() {
        var driver = StateDriver()
        driver.state.insert(1, at: driver.now)
        #expect(driver.run() == [1])
        #expect(driver.told.map(\.flags) == [[.reachable]])
    }

    @Test func `flags that are known already are not told again`() {
        var driver = StateDriver()
        driver.state.insert(1, flags: [.reachable], at: driver.now)
        #expect(driver.run() == [1])
        #expect(driver.told.isEmpty)
    }

    @Test(
        arguments: [
            ("10.0.0.0/24", [1]), ("10.0.0.0/23", [1, 2]), ("10.0.0.1/32", [1]), ("0.0.0.0/0", [1, 2]),
            ("10.0.2.0/24", []), ("::/0", [3]), ("2001:db8::/32", [3]), ("2001:db8::1/128", [3]),
            ("2001:db9::/32", []), ("0.0.0.0/1", [1, 2]), ("128.0.0.0/1", []),
        ] as [(String, Set<UInt64>)]
    )
    func `a route's announcement asks about the targets inside its prefix and no others`(
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
    func `any other announcement asks about all`(change: KernelNotification) {
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
    func `a loss is looked at a second time, a quarter of a second later`(
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

    @Test func `an answer that is the same as before is not told`() {
        var driver = StateDriver()
        driver.watch(networks)
        driver.move(to: 1_000)
        driver.note(.rule)
        driver.run()
        #expect(driver.told.isEmpty)
    }

    @Test func `an answer that differs is told once`() {
        var driver = StateDriver()
        driver.watch(networks)
        driver.answer = { .flags($0 == 2 ? [] : [.reachable], MonitorState.Basis()) }
        driver.move(to: 1_000)
        driver.note(.link(isLoss: true))
        driver.run()
        driver.run(at: 1_250)
        #expect(driver.told.map(\.id) == [2])
    }

    @Test func `a target that moved to other addresses is found by those`() throws {
        var driver = StateDriver()
        driver.watch([1: "10.0.0.1"])
        let elsewhere = try #require(IPAddress("192.0.2.1"))
        driver.answer = { _ in .flags([.reachable], MonitorState.Basis(asked: [elsewhere])) }
        driver.move(to: 1_000)
        driver.note(.rule)
        driver.run()
        driver.move(to: 2_000)
        driver.note(.route(try prefix("192.0.2.0/24")))
        #expect(driver.run() == [1])
    }

    @Test func `a removed target is neither asked about nor told about`() {
        var driver = StateDriver()
        driver.watch(networks)
        driver.state.remove(2)
        driver.move(to: 1_000)
        driver.note(.rule)
        #expect(driver.run().sorted() == [1, 3])
        #expect(driver.state.answered(2, .flags([], MonitorState.Basis()), at: driver.now) == nil)
    }

    @Test func `without targets there is nothing to do and nothing to wait for`() {
        var driver = StateDriver()
        driver.watch(networks)
        for id in networks.keys { driver.state.remove(id) }
        driver.note(.link(isLoss: true))
        driver.state.noteOverrun(at: driver.now)
        #expect(driver.run(at: 600_000).isEmpty)
        #expect(driver.deadline == nil)
    }

    @Test func `many targets are asked about in portions, so that announcements are read in between`() {
        var driver = StateDriver()
        for id in 1...UInt64(MonitorState.chunk * 3) { driver.state.insert(id, at: driver.now) }
        let first = driver.state.advance(to: driver.now)
        guard case .ask(let ids) = first.first else {
            Issue.record("nothing asked")
            return
        }
        #expect(ids.count == MonitorState.chunk)
        #expect(driver.state.deadline.map { $0 < driver.now } == true)
        #expect(driver.run().count == MonitorState.chunk * 2)
    }

    @Test func `a change inside a long round is answered before the rest of the round`() throws {
        var driver = StateDriver()
        var targets: [UInt64: String] = [:]
        for id in 1...UInt64(MonitorState.chunk * 4) { targets[id] = "10.0.\(id / 256).\(id % 256)" }
        driver.watch(targets)
        driver.move(to: 1_000)
        driver.note(.rule)
        _ = driver.state.advance(to: driver.now)
        driver.move(to: 1_200)
        driver.note(.route(try prefix("10.0.0.9/32")))
        guard case .ask(let ids) = driver.state.advance(to: driver.now).first else {
            Issue.record("nothing asked")
            return
        }
        #expect(ids.first == 9)
    }
}
