// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
package import RoutingModel

/// Checks what this kernel and this process's sandbox allow, by trying it.
///
/// Each check opens its own sockets in the calling thread's network namespace and closes them.
package enum KernelDiagnosis {
    /// The release of the loaded libnl (`3.7.0`), which can be newer than the headers.
    package static var libnlRelease: String {
        let release = cnl_libnl_version()
        return "\(release.major).\(release.minor).\(release.micro)"
    }

    /// Whether the kernel checks requests strictly and filters dumps (Linux 4.20 and later).
    package static func checksStrictly() throws(RoutingFault) -> Bool {
        try QuerySocket().isStrict
    }

    /// Joins a multicast group.
    ///
    /// - Returns: `false` when the kernel is older than the group: there is nothing to be notified of.
    /// - Throws: The refusal.
    package static func join(_ group: EventGroup) throws(RoutingFault) -> Bool {
        var events = try EventSocket()
        do {
            try events.join(group)
            return true
        } catch {
            guard group.isUnknown(error) else { throw error }
            return false
        }
    }

    /// Requests a receive buffer for an event socket; see ``EventSocket/setBuffer(bytes:)``.
    package static func receiveBuffer(
        asking bytes: UInt32
    ) throws(RoutingFault) -> (effective: Int, isForced: Bool) {
        var events = try EventSocket()
        return try events.setBuffer(bytes: bytes)
    }

    /// Counts the Wi-Fi interfaces that nl80211 lists; `nil` when the kernel has no nl80211.
    package static func wirelessCount() throws(RoutingFault) -> Int? {
        try DeviceFacts.wirelessIndexes()?.count
    }
}

// MARK: - Routes

extension KernelDiagnosis {
    /// The number of routes of each family.
    package struct RouteCounts: Hashable, Sendable {
        /// IPv4 routes.
        package var ipv4 = 0
        /// IPv6 routes.
        package var ipv6 = 0

        /// Starts at zero.
        package init() {}

        /// The routes of both families.
        package var total: Int { ipv4 + ipv6 }
    }

    /// Counts the routes in all tables of the kernel.
    package static func kernelRoutes() throws(RoutingFault) -> RouteCounts {
        var socket = try QuerySocket()
        var counts = RouteCounts()
        counts.ipv4 = try count(.v4, &socket)
        counts.ipv6 = try count(.v6, &socket)
        return counts
    }

    /// Counts again when the table changed meanwhile, at most five times, and returns the last count.
    private static func count(_ family: IPAddress.Family, _ socket: inout QuerySocket) throws(RoutingFault)
        -> Int
    {
        var count = 0
        for _ in 1...5 {
            count = 0
            let isInterrupted = try socket.dump(DumpRequest(.routes, family: family)) { message in
                // A kernel without the family sends all routes.
                if case .route(let route, _) = message.change, route.destination.family == family {
                    count += 1
                }
            }
            if !isInterrupted { break }
        }
        return count
    }

    /// Counts the routes in libnl's route cache, which merges some routes that differ.
    ///
    /// The time grows with the square of the number of routes: call ``kernelRoutes()`` first.
    package static func libnlRoutes() throws(RoutingFault) -> RouteCounts {
        var fault = cnl_fault()
        guard let routes = cnl_route_cache_load(&fault) else {
            throw RoutingFault("load libnl's route cache", fault)
        }
        defer { cnl_route_cache_free(routes) }
        var counts = RouteCounts()
        counts.ipv4 = cnl_route_cache_count(routes, UInt8(AF_INET))
        counts.ipv6 = cnl_route_cache_count(routes, UInt8(AF_INET6))
        return counts
    }
}
