// SPDX-License-Identifier: Apache-2.0

/// What routes of one snapshot that differ in nothing but their prefix have in common.
///
/// Most of a full table is a few hundred such kinds: who has met one adds its next route without reading it
/// again. It counts for the snapshot that made it, until that forgets or changes the kind.
package struct RouteTemplate: Sendable {
    fileprivate let attributes: UInt32
    /// The place of the table among those of its family.
    fileprivate let place: Int
    fileprivate let generation: UInt64
}

extension NetworkSnapshot {
    /// What further routes like this one have in common.
    ///
    /// - Parameter route: A route that was just told.
    /// - Returns: The likeness; `nil` where each route must be looked at.
    package func likeness(of route: Route) -> RouteTemplate? {
        guard route.expires == nil, !route.isCloned,
            let attributes = pool.number(of: RouteAttributes(route)),
            let place = place(ofTable: route.table, route.destination.family)
        else { return nil }
        return RouteTemplate(attributes: attributes, place: place, generation: pool.generation)
    }

    /// Adds an IPv4 route to a prefix that has none.
    ///
    /// - Parameters:
    ///   - likeness: What was told of an IPv4 route of the same kind.
    ///   - key: The prefix's address in host order; bits behind the length do not count.
    ///   - length: The prefix's length, 0 to 32.
    /// - Returns: `false` when nothing was done, because the prefix has a route or the kind has changed.
    package mutating func addFirst(_ likeness: RouteTemplate, key: UInt32, length: Int) -> Bool {
        guard likeness.generation == pool.generation,
            routes4.addFirst(
                attributes: likeness.attributes, key: key, length: length, place: likeness.place)
        else { return false }
        pool.retain(likeness.attributes)
        return true
    }

    /// Adds an IPv6 route to a prefix that has none, likewise.
    package mutating func addFirst(_ likeness: RouteTemplate, key: AddressBits, length: Int) -> Bool {
        guard likeness.generation == pool.generation,
            routes6.addFirst(
                attributes: likeness.attributes, key: key, length: length, place: likeness.place)
        else { return false }
        pool.retain(likeness.attributes)
        return true
    }

    private func place(ofTable number: UInt32, _ family: IPAddress.Family) -> Int? {
        family == .v4 ? routes4.places[number] : routes6.places[number]
    }
}
