// SPDX-License-Identifier: Apache-2.0

/// Finds the attributes that a notification concerns without a look at all of them.
struct RouteAttributeIndex: Sendable {
    /// Where a nexthop goes.
    private struct InterfaceKey: Hashable {
        let family: IPAddress.Family
        let interface: UInt32
    }

    private var through: [InterfaceKey: Set<UInt32>] = [:]
    private var marked: [InterfaceKey: Set<UInt32>] = [:]
    private var dead: [InterfaceKey: Set<UInt32>] = [:]
    private var preferring: [IPAddress: Set<UInt32>] = [:]
    private var nexthops: [UInt32: Set<UInt32>] = [:]

    /// The attributes with a nexthop through an interface.
    func through(_ index: UInt32, _ family: IPAddress.Family) -> Set<UInt32> {
        through[InterfaceKey(family: family, interface: index)] ?? []
    }

    /// Those of which such a nexthop has one of the flags, which are among dead and without a carrier.
    func through(_ index: UInt32, _ family: IPAddress.Family, with flags: NexthopFlags) -> Set<UInt32> {
        let nexthop = InterfaceKey(family: family, interface: index)
        return switch flags {
        case []: []
        case .dead: dead[nexthop] ?? []
        default: marked[nexthop] ?? []
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
        for nexthop in attributes.nexthops {
            let place = InterfaceKey(family: attributes.family, interface: nexthop.interfaceIndex)
            through[place, default: []].insert(number)
            if nexthop.flags.contains(.dead) { dead[place, default: []].insert(number) }
            if !nexthop.flags.isDisjoint(with: [.dead, .linkDown]) {
                marked[place, default: []].insert(number)
            }
        }
        if let source = attributes.preferredSource { preferring[source, default: []].insert(number) }
        if attributes.nexthopID != 0 { nexthops[attributes.nexthopID, default: []].insert(number) }
    }

    /// Takes out what was taken in with these attributes.
    mutating func remove(_ number: UInt32, _ attributes: RouteAttributes) {
        for nexthop in attributes.nexthops {
            let place = InterfaceKey(family: attributes.family, interface: nexthop.interfaceIndex)
            Self.remove(number, from: &through, place)
            if nexthop.flags.contains(.dead) { Self.remove(number, from: &dead, place) }
            if !nexthop.flags.isDisjoint(with: [.dead, .linkDown]) {
                Self.remove(number, from: &marked, place)
            }
        }
        if let source = attributes.preferredSource { Self.remove(number, from: &preferring, source) }
        if attributes.nexthopID != 0 { Self.remove(number, from: &nexthops, attributes.nexthopID) }
    }

    private static func remove<Key>(_ number: UInt32, from sets: inout [Key: Set<UInt32>], _ key: Key) {
        sets[key]?.remove(number)
        if sets[key]?.isEmpty ?? false { sets[key] = nil }
    }
}
