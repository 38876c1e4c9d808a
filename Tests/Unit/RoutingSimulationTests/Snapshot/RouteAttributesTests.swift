// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import RoutingModel
import Testing

@testable import RoutingSimulation

struct RouteAttributesTests {
    /// Routes that differed in their flags alone had one hash, so that each was compared with all the others.
    @Test func `routes that differ in one attribute differ in their hashes`() throws {
        let plain = Route(destination: .allV4, nexthops: [Nexthop(interfaceIndex: 2)])
        let changes: [(inout Route) -> Void] = [
            { $0.table = 7 }, { $0.priority = 7 }, { $0.nexthopID = 7 }, { $0.type = .blackhole },
            { $0.tos = 7 }, { $0.flags = 1 << 20 }, { $0.scope = .link }, { $0.origin = 7 },
            { $0.preference = .high }, { $0.preferredSource = .loopbackV4 }, { $0.source = .allV4 },
            { $0.nexthops = [] }, { $0.nexthops[0].interfaceIndex = 7 }, { $0.nexthops[0].flags = .dead },
            { $0.nexthops[0].weight = 7 }, { $0.nexthops[0].gateway = .loopbackV4 },
        ]
        let routes = changes.map { change in
            var route = plain
            change(&route)
            return route
        }
        let hashes = Set(([plain] + routes).map { RouteAttributes($0).hashValue })
        #expect(hashes.count == changes.count + 1)
    }

    @Test func `the destination and the lifetime are not attributes`() throws {
        let plain = Route(destination: .allV4, nexthops: [Nexthop(interfaceIndex: 2)])
        var other = plain
        other.destination = try #require(IPPrefix("192.0.2.0/24"))
        other.expires = 7
        #expect(RouteAttributes(plain) == RouteAttributes(other))
        #expect(RouteAttributes(plain).hashValue == RouteAttributes(other).hashValue)
    }
}
