// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
package import RoutingModel

/// Compares libnl with the kernel.
package enum KernelDiagnosis {
    /// The release of the loaded libnl (`3.7.0`), which can be newer than the headers.
    package static var libnlRelease: String {
        let release = cnl_libnl_version()
        return "\(release.major).\(release.minor).\(release.micro)"
    }

    /// Dumps the routes in all tables of the kernel, those of IPv4 first.
    package static func routes() throws(ReachabilityError) -> [Route] {
        var socket = try QuerySocket()
        var routes: [Route] = []
        for family in IPAddress.Family.allCases {
            // A kernel without the family sends all routes.
            routes += try socket.collect(DumpRequest(.routes, family: family)) { change in
                if case .route(let route, _) = change, route.destination.family == family {
                    route
                } else {
                    nil
                }
            }
        }
        return routes
    }
}

extension Route {
    /// The route as ``RouteCache`` has it, without what libnl does not keep.
    package var asInLibnl: Route {
        var route = self
        (route.expires, route.flags, route.preference, route.nexthopID) = (nil, 0, .medium, 0)
        route.nexthops = nexthops.map {
            Nexthop(interfaceIndex: $0.interfaceIndex, gateway: $0.gateway, weight: $0.weight)
        }
        return route
    }
}
