// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
package import RoutingModel

/// libnl's route cache: the routes of the calling thread's network namespace as programs that use libnl see them.
///
/// It is not a copy of the kernel's tables: of several routes with the same key, libnl keeps one. The key of libnl
/// 3.7 is the family, the table, the type of service, the destination and the metric. The time to load the cache
/// grows with the square of the number of routes. ``KernelDiagnosis/routes()`` dumps all routes.
package enum RouteCache {
    /// Loads the cache and reads its routes in libnl's order, without lifetimes, router preferences and nexthop
    /// objects.
    ///
    /// - Throws: An error if libnl cannot write a route as a message (EBADMSG), for example with very many
    ///   nexthops. No route is omitted.
    package static func routes() throws(ReachabilityError) -> [Route] {
        var error = cnl_error()
        guard let cache = cnl_route_cache_open(&error) else {
            throw ReachabilityError("load libnl's route cache", error)
        }
        defer { cnl_route_cache_close(cache) }
        var routes: [Route] = []
        var position: UnsafeMutableRawPointer?
        while true {
            var route = cnl_route()
            let status = cnl_route_cache_next(cache, &position, &route)
            guard status >= 0 else {
                throw ReachabilityError(operation: "read libnl's route cache", number: -status)
            }
            guard status > 0 else { return routes }
            routes.append(Route(route))
        }
    }
}
