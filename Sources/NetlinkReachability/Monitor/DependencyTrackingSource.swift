// SPDX-License-Identifier: Apache-2.0

internal import NetlinkRoute
internal import SystemSupport

/// Passes questions on and notes what the answers rest on.
final class DependencyTrackingSource: RoutingSource {
    private let base: any RoutingSource
    private let basis = Locked(MonitorState.Basis())

    init(_ base: any RoutingSource) {
        self.base = base
    }

    /// Runs some questions and tells what their answers rest on.
    func observe<Result>(_ questions: () -> Result) -> (Result, MonitorState.Basis) {
        basis.withLock { $0 = MonitorState.Basis() }
        let result = questions()
        return (result, basis.withLock { $0 })
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

    func sourceAddresses(for query: RouteQuery) throws(RoutingFault) -> [IPAddress] {
        try base.sourceAddresses(for: query)
    }

    func links() throws(RoutingFault) -> [Link] {
        try base.links()
    }

    private func note(_ destination: IPAddress, lifetime: Int32?) {
        basis.withLock { basis in
            basis.note(destination)
            basis.lifetime = [basis.lifetime, lifetime].compactMap(\.self).min()
        }
    }
}

extension MonitorState.Basis {
    /// Adds an address that was asked about; a path asks about the same ones for each interface.
    fileprivate mutating func note(_ address: IPAddress) {
        if !asked.contains(address) { asked.append(address) }
    }
}

/// A name whose addresses are known: nobody waits for a resolver.
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
