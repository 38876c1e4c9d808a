// SPDX-License-Identifier: Apache-2.0

/// Finds the attributes that an announcement concerns without a look at all of them.
struct RouteAttributeIndex: Sendable {
    /// Where a leg goes.
    private struct Leg: Hashable {
        let family: IPAddress.Family
        let interface: UInt32
    }

    private var through: [Leg: Set<UInt32>] = [:]
    private var marked: [Leg: Set<UInt32>] = [:]
    private var dead: [Leg: Set<UInt32>] = [:]
    private var preferring: [IPAddress: Set<UInt32>] = [:]
    private var nexthops: [UInt32: Set<UInt32>] = [:]

    /// The attributes with a leg through an interface.
    func through(_ index: UInt32, _ family: IPAddress.Family) -> Set<UInt32> {
        through[Leg(family: family, interface: index)] ?? []
    }

    /// Those of which such a leg has one of the flags, which are among dead and without a carrier.
    func through(_ index: UInt32, _ family: IPAddress.Family, with flags: NexthopFlags) -> Set<UInt32> {
        let leg = Leg(family: family, interface: index)
        return switch flags {
        case []: []
        case .dead: dead[leg] ?? []
        default: marked[leg] ?? []
        }
    }

    /// Those that prefer a source.
    func preferring(_ source: IPAddress) -> Set<UInt32> {
        preferring[source] ?? []
    }

    /// Those that name a nexthop object.
    func namingNexthop(_ id: UInt32) -> Set<UInt32> {
        nexthops[id] ?? []
    }

    /// Takes attributes in.
    mutating func insert(_ number: UInt32, _ attributes: RouteAttributes) {
        for leg in attributes.nexthops {
            let place = Leg(family: attributes.family, interface: leg.interfaceIndex)
            through[place, default: []].insert(number)
            if leg.flags.contains(.dead) { dead[place, default: []].insert(number) }
            if !leg.flags.isDisjoint(with: [.dead, .linkDown]) { marked[place, default: []].insert(number) }
        }
        if let source = attributes.preferredSource { preferring[source, default: []].insert(number) }
        if attributes.nexthopID != 0 { nexthops[attributes.nexthopID, default: []].insert(number) }
    }

    /// Takes out what was taken in with these attributes.
    mutating func remove(_ number: UInt32, _ attributes: RouteAttributes) {
        for leg in attributes.nexthops {
            let place = Leg(family: attributes.family, interface: leg.interfaceIndex)
            Self.remove(number, from: &through, place)
            if leg.flags.contains(.dead) { Self.remove(number, from: &dead, place) }
            if !leg.flags.isDisjoint(with: [.dead, .linkDown]) { Self.remove(number, from: &marked, place) }
        }
        if let source = attributes.preferredSource { Self.remove(number, from: &preferring, source) }
        if attributes.nexthopID != 0 { Self.remove(number, from: &nexthops, attributes.nexthopID) }
    }

    private static func remove<Key>(_ number: UInt32, from sets: inout [Key: Set<UInt32>], _ key: Key) {
        sets[key]?.remove(number)
        if sets[key]?.isEmpty ?? false { sets[key] = nil }
    }
}
