// SPDX-License-Identifier: Apache-2.0

/// A route without its destination and lifetime: what a million routes of one table have in common.
struct RouteAttributes: Hashable, Sendable {
    var source: IPPrefix?
    var type: RouteType
    var table: UInt32
    var scope: RouteScope
    var origin: UInt8
    var tos: UInt8
    var priority: UInt32
    var preference: RouterPreference
    var nexthops: [Nexthop]
    var nexthopID: UInt32
    var preferredSource: IPAddress?
    var flags: UInt32
    var family: IPAddress.Family

    init(_ route: Route) {
        source = route.source
        type = route.type
        table = route.table
        scope = route.scope
        origin = route.origin
        tos = route.tos
        priority = route.priority
        preference = route.preference
        nexthops = route.nexthops
        nexthopID = route.nexthopID
        preferredSource = route.preferredSource
        flags = route.flags
        family = route.destination.family
    }

    /// Mixes in all that routes of one recording can differ in by the thousand: what else there is are a few bits,
    /// and equality looks at them.
    func hash(into hasher: inout Hasher) {
        hasher.combine(UInt64(table) << 32 | UInt64(priority))
        hasher.combine(UInt64(nexthopID) << 32 | UInt64(type.rawValue) << 8 | UInt64(tos))
        if let preferredSource {
            hasher.combine(preferredSource.high)
            hasher.combine(preferredSource.low)
        }
        if let source { hasher.combine(source) }
        for nexthop in nexthops {
            hasher.combine(nexthop.gateway?.high ?? 0)
            hasher.combine(nexthop.gateway?.low ?? 0)
            hasher.combine(
                UInt64(nexthop.interfaceIndex) << 32 | UInt64(nexthop.weight) << 8
                    | UInt64(nexthop.flags.rawValue))
        }
    }

    /// The route again.
    func route(_ destination: IPPrefix, expires: Int32?) -> Route {
        Route(
            destination: destination,
            source: source,
            type: type,
            table: table,
            scope: scope,
            origin: origin,
            tos: tos,
            priority: priority,
            preference: preference,
            nexthops: nexthops,
            nexthopID: nexthopID,
            preferredSource: preferredSource,
            expires: expires,
            flags: flags
        )
    }

    /// The identity of the route in the kernel, regardless of the state of its nexthops.
    var identity: RouteAttributes {
        var identity = self
        identity.flags = 0
        for place in identity.nexthops.indices {
            identity.nexthops[place].flags.formIntersection(.onLink)
        }
        return identity
    }

    /// Whether all its nexthops are dead: IPv4 has forgotten such a route.
    var isDead: Bool {
        !nexthops.isEmpty && nexthops.allSatisfy { $0.flags.contains(.dead) }
    }
}
