// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import RoutingModel
import Testing

@testable import NetlinkReachability

struct PathStateTests {
    private var driver = StateDriver()

    init() {
        driver.evaluate = { id in
            RouteDependencies(
                addresses: id == 1 ? [IPAddress(12, 0, 0, 1), IPAddress(206, 0, 0, 1)] : [])
        }
        driver.state.insert(1, inputs: .nameservers, at: driver.now)
        driver.state.insert(2, at: driver.now)
        driver.run()
    }

    @Test func `a new default route evaluates the path`() {
        var driver = driver
        driver.move(to: 1_000)
        driver.note(.route(.allV4))
        #expect(driver.run() == [1])
    }

    @Test func `another route does not`() throws {
        var driver = driver
        driver.move(to: 1_000)
        driver.note(.route(IPPrefix("192.0.2.0/24")))
        #expect(driver.run() == [])
    }

    @Test func `a change of the resolver's files evaluates paths only, after the files have settled`() {
        var driver = driver
        driver.move(to: 1_000)
        driver.state.resolverChanged(at: driver.now)
        #expect(driver.run() == [])
        #expect(driver.deadline == 1_100)
        driver.move(to: 1_050)
        driver.state.resolverChanged(at: driver.now)
        #expect(driver.run(at: 1_100) == [1])
        #expect(driver.run(at: 1_200) == [])
    }

    @Test func `a removed path is not evaluated`() {
        var driver = driver
        driver.state.resolverChanged(at: driver.now)
        driver.state.remove(1)
        #expect(driver.run(at: 1_000) == [])
    }
}
