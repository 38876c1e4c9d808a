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
    /// The number of times that the cache was loaded: an iteration ends when it grows.
    private var generation = 0

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
        generation += 1
        var error = cnl_error()
        guard cnl_route_cache_refill(handle, &error) else {
            throw ReachabilityError("load libnl's route cache", error)
        }
    }
}

extension RouteCache: Sequence {
    /// Reads the routes in libnl's order, without lifetimes, router preferences and nexthop objects.
    package struct Iterator: IteratorProtocol {
        fileprivate let cache: RouteCache
        fileprivate let generation: Int
        private var position: UnsafeMutableRawPointer?

        fileprivate init(_ cache: RouteCache) {
            self.cache = cache
            generation = cache.generation
        }

        /// The next route; `nil` at the end, and after the cache was loaded again.
        package mutating func next() -> Route? {
            guard generation == cache.generation else { return nil }
            var route = cnl_route()
            let status = cnl_route_cache_next(cache.handle, &position, &route)
            precondition(status >= 0, "no memory for a route of libnl's cache")
            return status == 0 ? nil : Route(route)
        }
    }

    package func makeIterator() -> Iterator {
        Iterator(self)
    }
}
