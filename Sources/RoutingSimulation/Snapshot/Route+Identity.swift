// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

extension Route {
    /// Whether router advertisements can prolong the lifetime, which no notification shows (RTPROT_KERNEL, RTPROT_RA).
    package var mayBeProlonged: Bool { Self.mayBeProlonged(origin: origin) }

    /// Whether routes of an origin can be a router's.
    package static func mayBeProlonged(origin: UInt8) -> Bool {
        origin == kernelOrigin || origin == advertisedOrigin
    }

    /// The route without its state and lifetime.
    package var identity: Route {
        var route = self
        route.expires = nil
        route.flags = 0
        for index in route.nexthops.indices {
            route.nexthops[index].flags.formIntersection(.onLink)
            route.nexthops[index].gatewayScope = .unnoted
        }
        return route
    }
}
