// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
package import RoutingModel

/// libnl's route cache: the routes of the calling thread's network namespace as programs that use libnl see them.
///
/// It is no copy of the kernel's tables: of routes whose key is the same libnl keeps one. The key of libnl 3.7 is the
/// family, the table, the type of service, the destination and the metric. The time to load it grows with the square of
/// the number of routes. ``KernelDiagnosis/routes()`` dumps the tables whole.
package final class RouteCache {
    private let handle: OpaquePointer

    /// Opens a socket and loads the cache.
    package init() throws(ReachabilityError) {
        var error = cnl_error()
        guard let handle = cnl_route_cache_open(&error) else {
            throw ReachabilityError("load libnl's route cache", error)
        }
        self.handle = handle
    }

    deinit { cnl_route_cache_close(handle) }

    /// Loads the cache again: it follows no change by itself.
    package func refill() throws(ReachabilityError) {
        var error = cnl_error()
        guard cnl_route_cache_refill(handle, &error) else {
            throw ReachabilityError("load libnl's route cache", error)
        }
    }

    /// Reads the routes in libnl's order, without lifetimes, router preferences and nexthop objects.
    ///
    /// - Throws: An error for a route that libnl cannot write as a message (EBADMSG), as for one with very many
    ///   nexthops: none is left out.
    package func routes() throws(ReachabilityError) -> [Route] {
        var routes: [Route] = []
        var position: UnsafeMutableRawPointer?
        while true {
            var route = cnl_route()
            let status = cnl_route_cache_next(handle, &position, &route)
            guard status >= 0 else {
                throw ReachabilityError(operation: "read libnl's route cache", number: -status)
            }
            guard status > 0 else { return routes }
            routes.append(Route(route))
        }
    }
}
