// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import RoutingModel
import Testing

@testable import NetlinkRecording

struct RouteAttributesTests {
    @Test func `the destination and the lifetime are not attributes`() throws {
        let plain = Route(destination: .allV4, nexthops: [Nexthop(interfaceIndex: 2)])
        var other = plain
        other.destination = "192.0.2.0/24"
        other.expires = 7
        #expect(RouteAttributes(plain) == RouteAttributes(other))
        #expect(RouteAttributes(plain).hashValue == RouteAttributes(other).hashValue)
    }
}
