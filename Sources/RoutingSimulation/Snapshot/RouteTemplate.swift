// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// The attributes that routes of one snapshot share when they differ in the prefix alone.
///
/// Most routes of a full table share a few hundred templates. Adding a route by its template skips reading the
/// attributes again. A template is valid for the snapshot that made it, until the snapshot drops or changes the
/// attributes.
package struct RouteTemplate: Sendable {
    fileprivate let attributes: UInt32
    /// The position of the table among those of its family.
    fileprivate let table: Int
    fileprivate let generation: UInt64
}

extension NetworkSnapshot {
    /// Returns the template of a route.
    ///
    /// - Parameter route: A route that was just applied.
    /// - Returns: The template; `nil` for a route that expires or is an entry of the kernel's route cache.
    package func template(of route: Route) -> RouteTemplate? {
        let isIPv4 = route.destination.family == .v4
        guard route.expires == nil, !route.isCloned,
            let attributes = pool.number(of: route),
            let table = isIPv4 ? routes4.places[route.table] : routes6.places[route.table]
        else { return nil }
        return RouteTemplate(attributes: attributes, table: table, generation: pool.generation)
    }

    /// Adds an IPv4 route to a prefix that has none, or removes one from a prefix that has no other.
    ///
    /// - Parameters:
    ///   - template: The template of an IPv4 route.
    ///   - key: The prefix's address in host order; bits behind the length are ignored.
    ///   - length: The prefix's length, 0 to 32.
    ///   - removing: Whether the route is removed.
    /// - Returns: `false` when nothing was changed, because the prefix has another route or the template is out of
    ///   date.
    package mutating func apply(_ template: RouteTemplate, key: UInt32, length: Int, removing: Bool) -> Bool {
        routes4.apply(template, key, length, removing: removing, &pool)
    }

    /// Adds or removes an IPv6 route; see the form for IPv4.
    package mutating func apply(
        _ template: RouteTemplate, key: AddressBits, length: Int, removing: Bool
    ) -> Bool {
        routes6.apply(template, key, length, removing: removing, &pool)
    }
}

extension FamilyRoutes {
    fileprivate mutating func apply(
        _ template: RouteTemplate,
        _ key: Key,
        _ length: Int,
        removing: Bool,
        _ pool: inout RouteAttributePool
    ) -> Bool {
        let attributes = template.attributes
        guard template.generation == pool.generation else { return false }
        let isDone =
            removing
            ? tables[template.table].removeOnly(attributes: attributes, key: key, length: length)
            : tables[template.table].addFirst(attributes: attributes, key: key, length: length)
        guard isDone else { return false }
        if removing { pool.release(attributes) } else { pool.retain(attributes) }
        return true
    }
}
