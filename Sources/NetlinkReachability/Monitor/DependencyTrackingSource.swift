// SPDX-License-Identifier: Apache-2.0

internal import NetlinkRoute
internal import RoutingModel
internal import SystemSupport

/// Forwards questions, and records what the answers depend on.
///
/// Used by one thread: the lock only satisfies the compiler.
final class DependencyTrackingSource: RoutingSource {
    private let base: any RoutingSource
    private let dependencies = Locked(MonitorState.Dependencies())

    init(_ base: any RoutingSource) {
        self.base = base
    }

    /// Returns the result of some questions, and what their answers depend on.
    func observe<Result>(_ questions: () -> Result) -> (Result, MonitorState.Dependencies) {
        dependencies.withLock { $0 = MonitorState.Dependencies() }
        let result = questions()
        return (result, dependencies.withLock { $0 })
    }

    /// Only IPv6 routes have lifetimes, and only a whole entry contains them.
    func lookUp(_ query: RouteQuery, detail: LookupDetail) throws(RoutingFault) -> RouteLookup {
        let isWhole = detail == .summary && query.destination.family == .v6
        let lookup = try base.lookUp(query, detail: isWhole ? .entry : detail)
        if detail != .choice { note(query.destination, lifetime: lookup.route?.expires) }
        return lookup
    }

    func facts(
        aboutInterface index: UInt32,
        detail: InterfaceDetail
    ) throws(RoutingFault) -> InterfaceFacts? {
        try base.facts(aboutInterface: index, detail: detail)
    }

    func interfaceIndex(named name: String) throws(RoutingFault) -> UInt32? {
        try base.interfaceIndex(named: name)
    }

    func sourceAddresses(
        for query: RouteQuery,
        after lookup: RouteLookup
    ) throws(RoutingFault) -> [IPAddress] {
        try base.sourceAddresses(for: query, after: lookup)
    }

    func addresses() throws(RoutingFault) -> [InterfaceAddress] {
        try base.addresses()
    }

    func links() throws(RoutingFault) -> [Link] {
        try base.links()
    }

    private func note(_ destination: IPAddress, lifetime: Int32?) {
        dependencies.withLock { dependencies in
            dependencies.note(destination)
            if let lifetime { dependencies.lifetime = min(dependencies.lifetime ?? lifetime, lifetime) }
        }
    }
}

extension MonitorState.Dependencies {
    /// Adds an address that was asked about; a path asks about the same ones for each interface.
    fileprivate mutating func note(_ address: IPAddress) {
        if !addresses.contains(address) { addresses.append(address) }
    }
}

/// A resolver that returns what the monitor knows already.
struct KnownResolution: HostResolver {
    var resolution: HostResolution

    func resolve(
        _ name: String,
        families: ReachabilityOptions.Families,
        timeout: Duration
    ) throws(RoutingFault) -> HostResolution {
        resolution
    }
}
