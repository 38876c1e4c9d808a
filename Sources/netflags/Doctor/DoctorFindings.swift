// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
import RoutingModel
import SystemSupport

/// The findings of `netflags doctor`.
///
/// A new value runs all checks. Each fact is tested separately: a refusal of one does not hide the others.
struct DoctorFindings {
    /// The receive buffer to request, in bytes: space for about ten thousand notifications.
    static let askedBuffer: UInt32 = 8 << 20

    var kernelRelease = currentKernelRelease
    let libnlRelease = KernelDiagnosis.libnlRelease
    let namespace = NetworkNamespace.current?.inode
    /// Each notification group, and whether it could be joined; `false` for a group that is newer than the kernel.
    var memberships = EventGroup.monitored.map { group in
        (group: group, outcome: Result { () throws(ReachabilityError) in try EventSocket().join(group) })
    }
    /// The receive buffer of an event socket, in bytes, and whether it may exceed net.core.rmem_max.
    var receiveBuffer = Result { () throws(ReachabilityError) in
        try EventSocket().setBuffer(bytes: askedBuffer)
    }
    var checksStrictly = Result { () throws(ReachabilityError) in try QuerySocket().isStrict }
    var routes = Result(catching: RouteComparison.now)
    var links = ((try? KernelRouting().links()) ?? []).sorted { $0.index < $1.index }
    var resolver = ResolverConfiguration.current
    /// The lines of /etc/gai.conf that have no effect.
    var addressPolicyNotes = AddressPolicy.current.notes
    /// The median time of a lookup, in nanoseconds.
    var lookup = medianLookup()
    /// The number of Wi-Fi interfaces that nl80211 lists; `nil` for a kernel without nl80211.
    var wireless = Result { () throws(ReachabilityError) in try DeviceFacts.wirelessIndexes()?.count }
    /// The interfaces whose reverse path filter drops the answers of sockets that are bound to them.
    var filters = Result(catching: filteringInterfaces)
    /// The visibility, to a recorder, of the processes that request changes.
    var processes = ProcessVisibility.current
    /// The state of each network manager; empty in a build that does not query them.
    ///
    /// The time limit is longer than that for a manager that hangs.
    var managers = HostManagers(waitingAtMost: .seconds(10)).states

    /// The names of interfaces, for the text of routes.
    var interfaceNames: [UInt32: String] { links.reduce(into: [:]) { $0[$1.index] = $1.name } }

    /// Warnings about interfaces that work although their packets do not arrive; none where no addresses are listed.
    var interfaceWarnings: [String] {
        let addresses = ((try? KernelRouting().addresses()) ?? []).filter { !$0.address.isLinkLocal }
        return links.flatMap { link in
            let state = NetworkInterface.State(link, over: links.filter { $0.master == link.index })
            return addresses.filter { $0.interfaceIndex == link.index }.flatMap {
                state.warnings(from: $0.address, on: link.name, isTunnel: link.isTunnel)
            }.withoutRepeats()
        }
    }

    /// The interfaces that have an IPv4 default route for sockets bound to them, but drop the answers.
    private static func filteringInterfaces() throws(ReachabilityError) -> [String] {
        var names: [String] = []
        for link in try KernelRouting().links().sorted(by: { $0.index < $1.index })
        where link.flags.contains(.up) && !link.flags.contains(.loopback) {
            var options = ReachabilityOptions()
            (options.interface, options.families) = (InterfaceReference(index: link.index), .v4)
            let query = NetworkQuery.report(of: .defaultPath, options: options, .full)
            let arrival = try NetworkSource.kernel.blockingValue(of: query).returns?.arrival
            if arrival?.reason.code == .reversePathFilter { names.append(link.name) }
        }
        return names
    }

    /// The kernel's release, as `uname -r` prints it.
    private static var currentKernelRelease: String {
        var names = utsname()
        guard uname(&names) == 0 else { return "unknown" }
        return String(fixedBytes: names.release)
    }

    /// The median of some lookups of the loopback address, in nanoseconds.
    private static func medianLookup() -> Result<Int, ReachabilityError> {
        // Enough lookups that neither the first one, which opens sockets, nor a disturbance affects the median.
        let rounds = 101
        return Result { () throws(ReachabilityError) in
            let reachability = NetworkReachability(address: .loopbackV4)
            let clock = ContinuousClock()
            let times = try (0..<rounds).map { _ throws(ReachabilityError) in
                let start = clock.now
                _ = try reachability.blockingFlags()
                return clock.now - start
            }
            return times.sorted()[rounds / 2].nanoseconds
        }
    }
}

extension ReachabilityError {
    /// The cause of a failed test, in the words of the system and of the kernel.
    var reason: String {
        let words = [number > 0 ? SystemCallError.message(number) : "", message].filter { !$0.isEmpty }
        return words.isEmpty ? "cannot \(operation)" : words.joined(separator: ": ")
    }
}

/// A comparison of the routes in the kernel's tables with those in libnl's route cache.
struct RouteComparison: Hashable {
    /// The most routes that are loaded into libnl's cache: ten times as many would take minutes.
    static let limit = 50_000

    /// The number of routes of one family.
    struct Counts: Hashable {
        let kernel: Int
        /// The number of routes in libnl's cache; `nil` if it was not loaded.
        let libnl: Int?
    }

    let ipv4: Counts
    let ipv6: Counts
    /// The kernel's routes that are missing or different in libnl's cache; `nil` if it was not loaded.
    let lost: [Route]?
    /// The routes in libnl's cache that differ from the kernel's; `nil` if it was not loaded.
    let altered: [Route]?

    /// Compares routes.
    init(kernel: [Route], libnl: [Route]) {
        func counts(_ family: IPAddress.Family) -> Counts {
            func count(_ routes: [Route]) -> Int { routes.count { $0.destination.family == family } }
            return Counts(kernel: count(kernel), libnl: count(libnl))
        }
        (ipv4, ipv6) = (counts(.v4), counts(.v6))
        (lost, altered) = (kernel.without(libnl), libnl.without(kernel))
    }

    /// Creates a comparison of only the kernel's counts, if there are too many routes to load libnl's cache.
    init(onlyKernel ipv4: Int, _ ipv6: Int) {
        self.ipv4 = Counts(kernel: ipv4, libnl: nil)
        self.ipv6 = Counts(kernel: ipv6, libnl: nil)
        (lost, altered) = (nil, nil)
    }

    /// Compares the routes now.
    static func now() throws(ReachabilityError) -> RouteComparison {
        // A router can have a million routes, so they are counted before they are stored.
        let (ipv4, ipv6) = (try KernelDiagnosis.routeCount(.v4), try KernelDiagnosis.routeCount(.v6))
        guard ipv4 + ipv6 <= limit else { return RouteComparison(onlyKernel: ipv4, ipv6) }
        return RouteComparison(
            kernel: try KernelDiagnosis.routes(), libnl: try RouteCache.routes().filter { !$0.isCloned })
    }

    /// Why libnl's cache was not loaded; `nil` if it was.
    var skipReason: String? {
        guard lost == nil else { return nil }
        return "libnl's cache was not loaded: with more than \(Self.limit) routes it takes minutes, "
            + "because its time grows with their square"
    }

    /// The number of lost routes of a family; `nil` if libnl's cache was not loaded.
    func lostCount(_ family: IPAddress.Family) -> Int? {
        lost?.count { $0.destination.family == family }
    }
}

extension [Route] {
    /// The routes that remain after each route of another list removes one equal route.
    ///
    /// Only fields that libnl stores are compared.
    fileprivate func without(_ others: [Route]) -> [Route] {
        var counts = others.reduce(into: [Route: Int]()) { $0[$1.asInLibnl, default: 0] += 1 }
        return filter { route in
            let key = route.asInLibnl
            guard let count = counts[key], count > 0 else { return true }
            counts[key] = count - 1
            return false
        }
    }
}
