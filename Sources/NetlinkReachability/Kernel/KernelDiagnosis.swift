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

    /// Dumps the routes in all tables of the kernel, IPv4 first.
    package static func routes() throws(ReachabilityError) -> [Route] {
        try dump(.v4) { $0 } + dump(.v6) { $0 }
    }

    /// Counts the routes of a family in all tables of the kernel, without storing them.
    package static func routeCount(_ family: IPAddress.Family) throws(ReachabilityError) -> Int {
        try dump(family) { _ in () }.count
    }

    private static func dump<Value>(
        _ family: IPAddress.Family,
        _ take: (Route) -> Value
    ) throws(ReachabilityError) -> [Value] {
        var socket = try QuerySocket()
        return try socket.collect(DumpRequest(.routes, family: family)) { change in
            // A kernel without the family sends all routes. An older kernel also sends cached exceptions.
            guard case .route(let route, _) = change, route.destination.family == family, !route.isCloned
            else { return nil }
            return take(route)
        }
    }
}

extension Route {
    /// The route as ``RouteCache`` has it, without the fields that libnl does not store.
    package var asInLibnl: Route {
        var route = self
        (route.expires, route.flags, route.preference, route.nexthopID) = (nil, 0, .medium, 0)
        route.nexthops = nexthops.map {
            Nexthop(interfaceIndex: $0.interfaceIndex, gateway: $0.gateway, weight: $0.weight)
        }
        return route
    }
}
