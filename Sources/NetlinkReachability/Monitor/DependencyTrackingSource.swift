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

    func answer(to query: RouteQuery) throws(RoutingFault) -> RouteAnswer {
        let answer = try base.answer(to: query)
        note(query, answer)
        return answer
    }

    /// Only IPv6 routes have lifetimes, and only the whole answer tells them.
    func outline(for query: RouteQuery) throws(RoutingFault) -> RouteSummary {
        if query.destination.family == .v6 { return RouteSummary(try answer(to: query)) }
        let outline = try base.outline(for: query)
        basis.withLock { $0.note(query.destination) }
        return outline
    }

    func choice(for query: RouteQuery) throws(RoutingFault) -> RouteAnswer {
        try base.choice(for: query)
    }

    func facts(
        aboutInterface index: UInt32,
        detail: InterfaceDetail
    ) throws(RoutingFault) -> InterfaceFacts? {
        try base.facts(aboutInterface: index, detail: detail)
    }

    func traits(ofInterface index: UInt32) throws(RoutingFault) -> InterfaceTraits? {
        try base.traits(ofInterface: index)
    }

    func interfaceIndex(named name: String) throws(RoutingFault) -> UInt32? {
        try base.interfaceIndex(named: name)
    }

    func allLinks() throws(RoutingFault) -> [Link] {
        try base.allLinks()
    }

    private func note(_ query: RouteQuery, _ answer: RouteAnswer) {
        var lifetime: Int32?
        if case .route(let route) = answer { lifetime = route.expires }
        basis.withLock { basis in
            basis.note(query.destination)
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
