// SPDX-License-Identifier: Apache-2.0

import CNetlinkShim
import RoutingModel
import Testing

@testable import NetlinkReachability

struct RouteAnswerMessageTests {
    /// After a packet to a group, the kernel calls a route with the same nexthop one of groups.
    @Test(arguments: [
        ("10.0.1.3", RouteType.multicast, RouteType.unicast), ("239.1.2.3", .unicast, .multicast),
        ("239.1.2.3", .multicast, .multicast), ("10.0.1.3", .broadcast, .broadcast),
        ("ff0e::1", .unicast, .unicast),
    ])
    func `the destination decides whether an IPv4 route is one of groups`(
        destination: String, reported: RouteType, type: RouteType
    ) throws {
        let address = try #require(IPAddress(destination))
        var route = cnl_route()
        (route.family, route.type) = (address.family.rawValue, reported.rawValue)
        route.nexthop.interface_index = 2
        var query = RouteQuery(destination: address)
        query.wantsEntry = true
        let match = RouteMatch(route, query)
        #expect(match.type == type && match.entry?.type == type)
    }
}
