// SPDX-License-Identifier: Apache-2.0

package import NetlinkRecording
package import RoutingModel

/// Creates a host with `lo` (1), `eth0` (2) and `eth1` (3), all up, the initial rules of a namespace, and known
/// neighbours.
package func makeHost(_ changes: NetworkChange..., knowsNeighbours: Bool = true) -> NetworkSnapshot {
    var snapshot = NetworkSnapshot()
    let loopback: LinkFlags = [.up, .running, .lowerUp, .loopback]
    snapshot.apply(
        .link(
            LinkReport(
                Link(
                    index: 1, name: "lo", hardwareType: .loopback, flags: loopback,
                    settings: RoutingSettings(ipv6Forwards: false)))))
    snapshot.apply(
        .link(LinkReport(Link(index: 2, name: "eth0", settings: RoutingSettings(ipv6Forwards: false)))))
    snapshot.apply(
        .link(LinkReport(Link(index: 3, name: "eth1", settings: RoutingSettings(ipv6Forwards: false)))))
    for (priority, table, families) in [
        (0, Route.localTable, IPAddress.Family.allCases),
        (32_766, Route.mainTable, IPAddress.Family.allCases),
        (32_767, Route.defaultTable, [.v4]),
    ] {
        for family in families {
            snapshot.apply(
                .rule(Rule(family: family, priority: UInt32(priority), action: .lookup(table: table))))
        }
    }
    for change in changes { snapshot.apply(change) }
    snapshot.dumpEnded(knowsNeighbours: knowsNeighbours)
    return snapshot
}

extension NetworkChange {
    /// A unicast route through a gateway, or onto the link.
    package static func route(
        _ prefix: String,
        via gateway: String? = nil,
        dev interface: UInt32,
        metric: UInt32 = 0,
        _ placement: RoutePlacement = .last,
        change: (inout Route) -> Void = { _ in }
    ) -> NetworkChange {
        let nexthop = Nexthop(interfaceIndex: interface, gateway: gateway.flatMap { IPAddress($0) })
        return route(prefix, nexthops: [nexthop], metric: metric, placement, change: change)
    }

    /// A route with these nexthops.
    package static func route(
        _ prefix: String,
        nexthops: [Nexthop],
        metric: UInt32 = 0,
        _ placement: RoutePlacement = .last,
        change: (inout Route) -> Void = { _ in }
    ) -> NetworkChange {
        var route = Route(destination: parsed(prefix), priority: metric, nexthops: nexthops)
        change(&route)
        return .route(route, placement)
    }

    /// A rule.
    package static func rule(
        _ family: IPAddress.Family,
        _ priority: UInt32,
        _ action: Rule.Action,
        change: (inout Rule) -> Void = { _ in }
    ) -> NetworkChange {
        var rule = Rule(family: family, priority: priority, action: action)
        change(&rule)
        return .rule(rule)
    }

    package static func parsed(_ prefix: String) -> IPPrefix {
        guard let prefix = IPPrefix(prefix) else { preconditionFailure("\(prefix) is not a prefix") }
        return prefix
    }
}

extension NetworkSnapshot {
    /// The answer in words: the nexthop, the errno, or the reason why the answer is undecided.
    package func way(
        _ destination: String,
        dev interface: UInt32 = 0,
        from source: String? = nil,
        change: (inout RouteQuery) -> Void = { _ in }
    ) -> String {
        guard let destination = IPAddress(destination) else { return "no address" }
        var query = RouteQuery(destination: destination, outputInterface: interface)
        query.source = source.flatMap { IPAddress($0) }
        change(&query)
        do throws(ReachabilityError) {
            switch try answer(to: query) {
            case .rejected(let rejection):
                return "errno \(rejection.rawValue)"
            case .taken(let match):
                guard let route = match.entry else { return "no entry" }
                let nexthops = route.nexthops.map {
                    "\($0.gateway?.description ?? "link") dev \($0.interfaceIndex)"
                }
                return
                    "\(route.type == .unicast ? "" : "\(route.type) ")\(route.destination) \(nexthops.joined(separator: ", "))"
            }
        } catch {
            return error.code == .undecided ? "undecided: \(error.message)" : "error \(error.number)"
        }
    }
}

extension SettingsReport {
    /// Whether routes without a carrier are ignored in a family.
    package static func ignoring(_ family: IPAddress.Family, _ place: Place, _ ignores: Bool) -> Self {
        Self(place) { settings in
            switch family {
            case .v4: settings.ipv4IgnoresLinkdown = ignores
            case .v6: settings.ipv6IgnoresLinkdown = ignores
            }
        }
    }
}
