// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import Testing

@testable import NetlinkRecording

struct RouteAttributePoolTests {
    private let one = Route(destination: .allV4, nexthops: [Nexthop(interfaceIndex: 2)])
    private let other = Route(destination: .allV4, nexthops: [Nexthop(interfaceIndex: 3)])
    private var pool = RouteAttributePool()

    @Test mutating func `routes with the same attributes share a number, in any order`() {
        let numbers = [one, one, other, one, other].map { pool.retain($0) }
        #expect(numbers == [0, 0, 1, 0, 1])
        #expect(numbers.map { pool[$0] } == [one, one, other, one, other])
    }

    @Test mutating func `a number whose attributes changed is not that of a route with the earlier ones`() {
        let first = pool.retain(one)
        pool.update([first]) { $0.nexthops[0].flags = .dead }
        let second = pool.retain(one)
        #expect(second != first)
        #expect(pool[second] == one)
    }

    @Test mutating func `a number that was released belongs to the next attributes`() {
        pool.release(pool.retain(one))
        let numbers = [other, one].map { pool.retain($0) }
        #expect(numbers.map { pool[$0] } == [other, one])
        #expect(pool.inUse.sorted() == numbers.sorted())
    }
}
