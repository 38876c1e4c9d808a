// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// Finds the attributes that a notification affects, without a search of all.
struct RouteAttributeIndex: Sendable {
    /// What attributes can have in common.
    enum Trait: Hashable {
        /// A nexthop through an interface.
        case through(UInt32, IPAddress.Family)
        /// One that is dead or without a carrier.
        case marked(UInt32, IPAddress.Family)
        /// One that is dead.
        case dead(UInt32, IPAddress.Family)
        /// A preferred source.
        case preferring(IPAddress)
        /// A nexthop object.
        case naming(UInt32)
        /// An IPv4 gateway.
        case via(IPAddress)
    }

    private var numbers: [Trait: Set<UInt32>] = [:]

    /// The attributes with a trait.
    subscript(_ trait: Trait) -> Set<UInt32> {
        numbers[trait] ?? []
    }

    /// Adds the attributes of a route.
    mutating func insert(_ number: UInt32, _ route: Route) {
        Self.forEachTrait(of: route) { numbers[$0, default: []].insert(number) }
    }

    /// Removes the attributes of a route.
    mutating func remove(_ number: UInt32, _ route: Route) {
        Self.forEachTrait(of: route) { numbers.remove(number, at: $0) }
    }

    private static func forEachTrait(of route: Route, _ body: (Trait) -> Void) {
        let family = route.destination.family
        for nexthop in route.nexthops {
            let index = nexthop.interfaceIndex
            body(.through(index, family))
            if let gateway = nexthop.gateway, gateway.family == .v4 { body(.via(gateway)) }
            if nexthop.flags.contains(.dead) { body(.dead(index, family)) }
            if !nexthop.flags.isDisjoint(with: [.dead, .linkDown]) { body(.marked(index, family)) }
        }
        if let source = route.preferredSource { body(.preferring(source)) }
        if route.nexthopID != 0 { body(.naming(route.nexthopID)) }
    }
}
