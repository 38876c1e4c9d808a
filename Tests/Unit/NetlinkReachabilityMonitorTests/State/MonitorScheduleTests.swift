// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import RoutingModel
import Testing

@testable import NetlinkReachability

struct MonitorScheduleTests {
    private static func quiet(isPolling: Bool = false) -> StateDriver {
        var driver = StateDriver(isPolling: isPolling)
        driver.watch([1: "10.0.0.1"])
        return driver
    }

    /// The times of the evaluations, in milliseconds, while notifications come at other times.
    private static func evaluations(notifications: [Int], until end: Int) -> [Int] {
        var driver = quiet()
        var instants: [Int] = []
        for instant in 0...end {
            driver.move(to: instant)
            if notifications.contains(instant) { driver.note(.settings) }
            if !driver.run().isEmpty { instants.append(instant) }
        }
        return instants
    }

    @Test func `the first notification after a quiet time is evaluated at once`() {
        #expect(Self.evaluations(notifications: [1_000], until: 3_000) == [1_000])
    }

    @Test func `notifications within a tenth of a second of it are evaluated after the last of them`() {
        #expect(Self.evaluations(notifications: [1_000, 1_010, 1_020], until: 3_000) == [1_000, 1_270])
    }

    @Test func `a notification a tenth of a second later is evaluated at once again`() {
        #expect(Self.evaluations(notifications: [1_000, 1_100], until: 3_000) == [1_000, 1_100])
    }

    @Test func `notifications without an end are evaluated every second`() {
        let storm = Array(stride(from: 1_000, through: 4_900, by: 10))
        // The first of a burst is evaluated at once; the second begins the next wait, of at most a second.
        #expect(Self.evaluations(notifications: storm, until: 6_000) == [1_000, 2_010, 3_020, 4_030, 5_040])
    }

    @Test func `notifications that no observation depends on delay no evaluation`() throws {
        var driver = Self.quiet()
        let elsewhere = IPPrefix("192.0.2.0/24")
        let here = IPPrefix("10.0.0.0/24")
        driver.move(to: 1_000)
        driver.note(.route(elsewhere))
        #expect(driver.run().isEmpty)
        driver.move(to: 1_001)
        driver.note(.route(here))
        #expect(driver.run() == [1])
    }

    @Test func `a removed route is evaluated a second time, after the kernel has removed it`() throws {
        var driver = Self.quiet()
        driver.move(to: 1_000)
        driver.note(.routeRemoval(IPPrefix("10.0.0.0/24")))
        #expect(driver.run() == [1])
        #expect(driver.deadline == 1_250)
        #expect(driver.run(at: 1_250) == [1])
        #expect(driver.deadline == 60_000)
    }

    @Test func `a removed route that no observation depends on is not evaluated`() throws {
        var driver = Self.quiet()
        driver.move(to: 1_000)
        driver.note(.routeRemoval(IPPrefix("192.0.2.0/24")))
        #expect(driver.run().isEmpty)
        #expect(driver.deadline == 60_000)
    }

    @Test func `the second evaluation of a removed route waits long enough within a burst`() throws {
        var driver = Self.quiet()
        let here = IPPrefix("10.0.0.0/24")
        driver.move(to: 1_000)
        driver.note(.routeRemoval(here))
        #expect(driver.run() == [1])
        driver.move(to: 1_010)
        driver.note(.routeRemoval(here))
        #expect(driver.run().isEmpty)
        #expect(driver.run(at: 1_250) == [1])
        #expect(driver.run(at: 1_260) == [1])
        #expect(driver.deadline == 60_000)
    }

    @Test func `a removed route that is due together with a new burst is evaluated once`() throws {
        var driver = Self.quiet()
        let here = IPPrefix("10.0.0.0/24")
        driver.move(to: 1_000)
        driver.note(.routeRemoval(here))
        #expect(driver.run() == [1])
        driver.move(to: 1_250)
        driver.note(.route(here))
        #expect(driver.run() == [1])
    }

    @Test func `more removed routes than are stored cause an evaluation of everything`() throws {
        var driver = Self.quiet()
        driver.move(to: 1_000)
        for number in 0..<UInt32(MonitorState.prefixLimit) {
            let other = try #require(IPPrefix(IPAddress(v4: number), length: 32))
            driver.state.routeRemovals.insert(other, at: driver.now)
        }
        #expect(driver.state.secondLookDue == nil)
        driver.note(.routeRemoval(.allV4))
        #expect(driver.state.routeRemovals.count == 0)
        #expect(driver.state.secondLookDue == driver.now + MonitorTiming.secondLook)
    }

    @Test func `everything is evaluated every minute`() {
        var driver = Self.quiet()
        #expect(driver.deadline == 60_000)
        #expect(driver.run(at: 59_999).isEmpty)
        #expect(driver.run(at: 60_000) == [1])
        #expect(driver.deadline == 120_000)
    }

    @Test func `everything is evaluated every five seconds if notifications are refused`() {
        var driver = Self.quiet(isPolling: true)
        #expect(driver.deadline == 5_000)
        #expect(driver.run(at: 5_000) == [1])
        #expect(driver.run(at: 10_000) == [1])
        #expect(driver.state.polls == 2)
    }

    @Test func `everything is evaluated periodically after the feed failed`() {
        var driver = Self.quiet()
        driver.move(to: 1_000)
        driver.state.setPolling(true, at: driver.now)
        #expect(driver.deadline == 6_000)
    }

    @Test func `everything is evaluated after the machine has slept`() {
        var driver = Self.quiet()
        driver.move(to: 1_000)
        driver.state.slept(at: driver.now)
        #expect(driver.run() == [1])
    }

    // MARK: Lost notifications

    @Test func `after a loss everything is evaluated, but not before the queue is empty`() {
        var driver = Self.quiet()
        driver.move(to: 1_000)
        driver.state.overran(at: driver.now)
        #expect(driver.run(at: 1_060).isEmpty)
        driver.state.drained()
        #expect(driver.run() == [1])
        #expect(driver.deadline == 61_060)
    }

    @Test func `each loss doubles the pause up to two seconds`() {
        var driver = Self.quiet()
        var pauses: [Int] = []
        var instant = 1_000
        for _ in 0..<8 {
            driver.move(to: instant)
            driver.state.overran(at: driver.now)
            driver.state.drained()
            let due = driver.deadline ?? 0
            pauses.append(due - instant)
            driver.run(at: due)
            instant = due + 1_500
        }
        #expect(pauses == [50, 100, 200, 400, 800, 1_600, 2_000, 2_000])
    }

    @Test func `half a minute without a loss makes the pause short again`() {
        var driver = Self.quiet()
        for instant in [1_000, 3_000, 5_000] {
            driver.move(to: instant)
            driver.state.overran(at: driver.now)
            driver.state.drained()
            driver.run(at: instant + 1_000)
        }
        driver.move(to: 35_001)
        driver.state.overran(at: driver.now)
        driver.state.drained()
        #expect(driver.deadline == 35_051)
    }

    @Test func `several losses before the queries count as one`() {
        var driver = Self.quiet()
        driver.move(to: 1_000)
        for _ in 0..<10 { driver.state.overran(at: driver.now) }
        driver.state.drained()
        #expect(driver.deadline == 1_050)
        driver.run(at: 1_050)
        #expect(driver.state.overrun.pause == .milliseconds(100))
    }

    @Test func `a queue that is never empty delays the evaluation for two seconds at most`() {
        var driver = Self.quiet()
        driver.move(to: 1_000)
        driver.state.overran(at: driver.now)
        #expect(driver.run(at: 3_000) == [1])
        // More can have been lost meanwhile, so there is another evaluation when it is empty.
        driver.state.drained()
        #expect(driver.run(at: 3_250) == [1])
        #expect(driver.run(at: 10_000).isEmpty)
    }

    // MARK: Lifetimes

    private static func expiring(ticks: Int32) -> StateDriver {
        var driver = StateDriver()
        driver.evaluate = { _ in RouteDependencies(lifetime: ticks) }
        driver.state.insert(1, at: driver.now)
        driver.run()
        return driver
    }

    @Test func `an expired route is evaluated a little later`() {
        var driver = Self.expiring(ticks: 200)
        #expect(driver.deadline == 2_050)
        #expect(driver.run(at: 2_049).isEmpty)
        driver.evaluate = { _ in RouteDependencies() }
        #expect(driver.run(at: 2_050) == [1])
        #expect(driver.deadline == 60_000)
    }

    @Test func `a route that was renewed without a notification is evaluated at its new expiry`() {
        var driver = Self.expiring(ticks: 200)
        driver.run(at: 2_050)
        #expect(driver.deadline == 4_100)
    }

    @Test(arguments: [0, -1, Int32.min])
    func `a lifetime that is over causes no evaluation`(ticks: Int32) {
        #expect(Self.expiring(ticks: ticks).deadline == 60_000)
    }

    @Test func `the earliest of several expiries counts`() {
        var driver = StateDriver()
        driver.evaluate = { RouteDependencies(lifetime: $0 == 2 ? 100 : 300) }
        for id: UInt64 in 1...3 { driver.state.insert(id, at: driver.now) }
        driver.run()
        #expect(driver.run(at: 1_050) == [2])
    }

    // MARK: Failures

    @Test func `a failed evaluation is tried again, less and less often`() {
        var driver = Self.quiet()
        driver.evaluate = { _ in nil }
        driver.move(to: 1_000)
        driver.note(.rule)
        driver.run()
        var instants: [Int] = []
        for instant in 1_001...20_000 where !driver.run(at: instant).isEmpty { instants.append(instant) }
        #expect(instants == [2_000, 4_000, 8_000, 16_000])
    }

    @Test func `a success ends the retries`() {
        var driver = Self.quiet()
        driver.evaluate = { _ in nil }
        driver.move(to: 1_000)
        driver.note(.rule)
        driver.run()
        driver.evaluate = { _ in RouteDependencies() }
        #expect(driver.run(at: 2_000) == [1])
        #expect(driver.state.failures.due == nil)
        #expect(driver.state.failures.pause == .seconds(1))
    }

    @Test func `a source that does not answer in time gets a pause`() {
        var driver = StateDriver()
        for id in 1...UInt64(NetworkFacts.batchLimit * 2) { driver.state.insert(id, at: driver.now) }
        let ids = driver.state.advance(to: driver.now).evaluations
        #expect(!ids.isEmpty)
        driver.state.stall(ids, at: driver.now)
        #expect(driver.run(at: 999).isEmpty)
        #expect(driver.run(at: 1_000).count == NetworkFacts.batchLimit * 2)
    }
}
