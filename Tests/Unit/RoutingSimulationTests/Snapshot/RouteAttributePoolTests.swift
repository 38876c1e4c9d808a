// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import Testing

@testable import RoutingSimulation

struct RouteAttributePoolTests {
    @Test func `routes that differ in one attribute have different numbers`() throws {
        let plain = Route(destination: .allV4, nexthops: [Nexthop(interfaceIndex: 2)])
        let changes: [(inout Route) -> Void] = [
            { $0.table = 7 }, { $0.priority = 7 }, { $0.nexthopID = 7 }, { $0.type = .blackhole },
            { $0.tos = 7 }, { $0.flags = 1 << 20 }, { $0.scope = .link }, { $0.origin = 7 },
            { $0.preference = .high }, { $0.preferredSource = .loopbackV4 }, { $0.source = .allV4 },
            { $0.nexthops = [] }, { $0.nexthops[0].interfaceIndex = 7 }, { $0.nexthops[0].flags = .dead },
            { $0.nexthops[0].weight = 7 }, { $0.nexthops[0].gateway = .loopbackV4 },
        ]
        var pool = RouteAttributePool()
        var numbers: Set = [pool.retain(plain)]
        for change in changes {
            var route = plain
            change(&route)
            numbers.insert(pool.retain(route))
        }
        #expect(numbers.count == changes.count + 1)
    }

    @Test func `the destination and the lifetime are no attributes`() throws {
        let plain = Route(destination: .allV4, nexthops: [Nexthop(interfaceIndex: 2)])
        var other = plain
        other.destination = try #require(IPPrefix("192.0.2.0/24"))
        other.expires = 7
        var pool = RouteAttributePool()
        #expect(pool.retain(plain) == pool.retain(other))
    }
}
