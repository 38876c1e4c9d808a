// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// Finds the attributes that a notification concerns without a look at all of them.
struct RouteAttributeIndex: Sendable {
    /// What attributes can have in common.
    private enum Trait: Hashable {
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
    }

    private var numbers: [Trait: Set<UInt32>] = [:]

    /// The attributes with a nexthop through an interface.
    func through(_ index: UInt32, _ family: IPAddress.Family) -> Set<UInt32> {
        numbers[.through(index, family)] ?? []
    }

    /// Those of which such a nexthop has one of the flags, which are among dead and without a carrier.
    func through(_ index: UInt32, _ family: IPAddress.Family, with flags: NexthopFlags) -> Set<UInt32> {
        guard !flags.isEmpty else { return [] }
        return numbers[flags == .dead ? .dead(index, family) : .marked(index, family)] ?? []
    }

    /// Those that prefer a source.
    func preferring(_ source: IPAddress) -> Set<UInt32> {
        numbers[.preferring(source)] ?? []
    }

    /// Those that name a nexthop object.
    func namingNexthop(_ id: UInt32) -> Set<UInt32> {
        numbers[.naming(id)] ?? []
    }

    /// Takes the attributes of a route in.
    mutating func insert(_ number: UInt32, _ route: Route) {
        Self.forEachTrait(of: route) { numbers[$0, default: []].insert(number) }
    }

    /// Takes out what was taken in with the attributes of a route.
    mutating func remove(_ number: UInt32, _ route: Route) {
        Self.forEachTrait(of: route) { numbers.remove(number, at: $0) }
    }

    private static func forEachTrait(of route: Route, _ body: (Trait) -> Void) {
        let family = route.destination.family
        for nexthop in route.nexthops {
            let index = nexthop.interfaceIndex
            body(.through(index, family))
            if nexthop.flags.contains(.dead) { body(.dead(index, family)) }
            if !nexthop.flags.isDisjoint(with: [.dead, .linkDown]) { body(.marked(index, family)) }
        }
        if let source = route.preferredSource { body(.preferring(source)) }
        if route.nexthopID != 0 { body(.naming(route.nexthopID)) }
    }
}
