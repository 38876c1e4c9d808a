// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

extension Route {
    /// The words of ip(8) for the RTPROT numbers.
    static let origins: [String: UInt8] = [
        "redirect": 1, "kernel": 2, "boot": 3, "static": 4, "gated": 8, "ra": 9, "mrt": 10, "zebra": 11,
        "bird": 12, "dnrouted": 13, "xorp": 14, "ntk": 15, "dhcp": 16, "keepalived": 18, "babel": 42,
        "bgp": 186, "isis": 187, "ospf": 188, "rip": 189, "eigrp": 192,
    ]

    /// The word for who made the route, or the number where there is none.
    package var originWord: String {
        Self.origins.first { $0.value == origin }?.key ?? "\(origin)"
    }
}
