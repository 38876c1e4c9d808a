// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
package import RoutingModel

/// What this kernel and this process's sandbox allow, found out by trying.
///
/// Each question opens sockets of its own in the calling thread's network namespace and closes them again.
package enum KernelDiagnosis {
    /// The release of the libnl that runs, such as `3.7.0`; it can be newer than the headers.
    package static var libnlRelease: String {
        let release = cnl_libnl_version()
        return "\(release.major).\(release.minor).\(release.micro)"
    }

    /// Whether the kernel checks requests strictly, and so can filter dumps (Linux 4.20 and later).
    package static func checksStrictly() throws(RoutingFault) -> Bool {
        try QuerySocket().isStrict
    }

    /// Tries to join a group of announcements, and throws what the kernel said when it refused.
    package static func join(_ group: EventGroup) throws(RoutingFault) {
        var events = try EventSocket()
        try events.join(group)
    }

    /// Asks for a receive buffer on an event socket.
    ///
    /// - Parameter bytes: The size to ask for; the kernel counts the double.
    /// - Returns: The effective size in bytes, and whether it went beyond what an ordinary process may have.
    /// - Throws: A fault when the socket could not be opened or sized.
    package static func receiveBuffer(
        asking bytes: UInt32
    ) throws(RoutingFault) -> (effective: Int, isForced: Bool) {
        var events = try EventSocket()
        return try events.setBuffer(bytes: bytes)
    }

    /// Counts the Wi-Fi interfaces that nl80211 lists; `nil` when the kernel has no nl80211.
    package static func wirelessCount() throws(RoutingFault) -> Int? {
        var count = 0
        var fault = cnl_fault()
        let outcome = withUnsafeMutablePointer(to: &count) { pointer in
            cnl_wireless_list(
                { _, context in context?.assumingMemoryBound(to: Int.self).pointee += 1 },
                pointer,
                &fault
            )
        }
        if outcome == CNL_ANSWERED { return count }
        if outcome == CNL_REFUSED, fault.number == ENOENT { return nil }
        throw RoutingFault("ask for the Wi-Fi interfaces", fault)
    }
}

// MARK: - Routes

extension KernelDiagnosis {
    /// Numbers of routes, by family.
    package struct RouteCounts: Hashable, Sendable {
        /// IPv4 routes.
        package var ipv4 = 0
        /// IPv6 routes.
        package var ipv6 = 0

        /// Counts no routes yet.
        package init() {}

        /// Both families together.
        package var total: Int { ipv4 + ipv6 }
    }

    /// Counts the routes of all of the kernel's tables, one message after the other.
    package static func kernelRoutes() throws(RoutingFault) -> RouteCounts {
        var socket = try QuerySocket()
        var counts = RouteCounts()
        counts.ipv4 = try count(.v4, &socket)
        counts.ipv6 = try count(.v6, &socket)
        return counts
    }

    /// A table that changes meanwhile is counted again, at most five times; then the last count is taken.
    private static func count(_ family: IPAddress.Family, _ socket: inout QuerySocket) throws(RoutingFault)
        -> Int
    {
        var count = 0
        for _ in 1...5 {
            count = 0
            let isInterrupted = try socket.dump(DumpRequest(.routes, family: family)) { message in
                // A kernel without the family sends everything that it has.
                guard case .route(let route) = message.content, route.destination.family == family else {
                    return
                }
                count += 1
            }
            if !isInterrupted { break }
        }
        return count
    }

    /// Loads libnl's own route cache and counts what it kept: it merges routes that differ.
    ///
    /// The time grows with the square of the number of routes: count ``kernelRoutes()`` first.
    package static func libnlRoutes() throws(RoutingFault) -> RouteCounts {
        var fault = cnl_fault()
        guard let routes = cnl_libnl_routes_load(&fault) else {
            throw RoutingFault("load libnl's route cache", fault)
        }
        defer { cnl_libnl_routes_free(routes) }
        var counts = RouteCounts()
        counts.ipv4 = cnl_libnl_routes_count(routes, UInt8(AF_INET))
        counts.ipv6 = cnl_libnl_routes_count(routes, UInt8(AF_INET6))
        return counts
    }
}
