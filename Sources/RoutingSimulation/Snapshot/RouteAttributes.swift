// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// A route without its destination and lifetime: what a million routes of one table have in common.
struct RouteAttributes: Hashable, Sendable {
    /// A route of the same family to all addresses, without a lifetime.
    let route: Route

    init(_ route: Route) {
        var shared = route
        shared.destination = route.destination.family == .v4 ? .allV4 : .allV6
        shared.expires = nil
        self.route = shared
    }

    /// Combines every attribute but the family, in few steps: a recording can vary each of them by the million.
    func hash(into hasher: inout Hasher) {
        hasher.combine(UInt64(route.table) << 32 | UInt64(route.priority))
        hasher.combine(
            UInt64(route.nexthopID) << 32 | UInt64(route.type.rawValue) << 8 | UInt64(route.tos))
        hasher.combine(
            UInt64(route.flags) << 32 | UInt64(route.scope.rawValue) << 16 | UInt64(route.origin) << 8
                | UInt64(route.preference.rawValue))
        if let preferredSource = route.preferredSource {
            hasher.combine(preferredSource.high)
            hasher.combine(preferredSource.low)
        }
        if let source = route.source { hasher.combine(source) }
        for nexthop in route.nexthops {
            hasher.combine(nexthop.gateway?.high ?? 0)
            hasher.combine(nexthop.gateway?.low ?? 0)
            hasher.combine(
                UInt64(nexthop.interfaceIndex) << 32 | UInt64(nexthop.weight) << 8
                    | UInt64(nexthop.flags.rawValue))
        }
    }
}
