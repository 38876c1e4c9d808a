// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
package import RoutingModel

/// Compares libnl with the kernel.
package enum KernelDiagnosis {
    /// The release of the loaded libnl (`3.7.0`), which can be newer than the headers.
    package static var libnlRelease: String {
        let release = cnl_libnl_version()
        return "\(release.major).\(release.minor).\(release.micro)"
    }

    /// The number of routes of each family.
    package struct RouteCounts: Hashable, Sendable {
        /// IPv4 routes.
        package let ipv4: Int
        /// IPv6 routes.
        package let ipv6: Int

        package init(ipv4: Int, ipv6: Int) {
            self.ipv4 = ipv4
            self.ipv6 = ipv6
        }

        /// The routes of both families.
        package var total: Int { ipv4 + ipv6 }
    }

    /// Counts the routes in all tables of the kernel.
    package static func kernelRoutes() throws(ReachabilityError) -> RouteCounts {
        var socket = try QuerySocket()
        return RouteCounts(ipv4: try count(.v4, &socket), ipv6: try count(.v6, &socket))
    }

    private static func count(
        _ family: IPAddress.Family,
        _ socket: inout QuerySocket
    ) throws(ReachabilityError) -> Int {
        // A kernel without the family sends all routes.
        try socket.collect(DumpRequest(.routes, family: family)) { change -> Void? in
            if case .route(let route, _) = change, route.destination.family == family { () } else { nil }
        }.count
    }

    /// Counts the routes in libnl's route cache, which merges some routes that differ.
    ///
    /// The time grows with the square of the number of routes: call ``kernelRoutes()`` first.
    package static func libnlRoutes() throws(ReachabilityError) -> RouteCounts {
        var error = cnl_error()
        var (ipv4, ipv6) = (0, 0)
        guard cnl_route_cache_count(&ipv4, &ipv6, &error) else {
            throw ReachabilityError("load libnl's route cache", error)
        }
        return RouteCounts(ipv4: ipv4, ipv6: ipv6)
    }
}
