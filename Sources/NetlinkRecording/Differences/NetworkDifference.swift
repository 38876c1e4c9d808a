// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// An object that differs between two states of a network.
package enum NetworkDifference: Hashable, Sendable {
    /// An interface and its settings.
    case link(Change<Link>)
    /// An address of an interface.
    case address(Change<InterfaceAddress>)
    /// A nexthop object.
    case nexthop(Change<NexthopObject>)
    /// A route.
    case route(Change<Route>)
    /// A rule; rules are added and removed, and never change.
    case rule(Change<Rule>)
    /// A neighbour.
    case neighbour(Change<Neighbour>)
    /// The settings for all interfaces.
    case settings(Change<RoutingSettings>)

    /// A value that is added, removed or changed.
    package struct Change<Value: Hashable & Sendable>: Hashable, Sendable {
        /// The older value; `nil` if it is added.
        package let old: Value?
        /// The newer value; `nil` if it is removed.
        package let new: Value?

        /// The newer value, else the older one.
        package var latest: Value? { new ?? old }

        /// The value on one side.
        func value(_ side: Side) -> Value? {
            switch side {
            case .old: old
            case .new: new
            }
        }

        /// Whether the value itself is the same, and only its order among others differs.
        package var isOrder: Bool { old == new }

        /// Whether the value is added, removed or changed.
        package var kind: Kind {
            old == nil ? .added : new == nil ? .removed : .changed
        }
    }
}

extension NetworkDifference {
    /// One of the two states.
    enum Side { case old, new }

    /// The kind of a change.
    package enum Kind: String, Hashable, Sendable {
        case added, removed, changed
    }

    /// Whether the object is added, removed or changed.
    package var kind: Kind {
        switch self {
        case .link(let change): change.kind
        case .address(let change): change.kind
        case .nexthop(let change): change.kind
        case .route(let change): change.kind
        case .rule(let change): change.kind
        case .neighbour(let change): change.kind
        case .settings(let change): change.kind
        }
    }

    /// The change of a route; `nil` for another object.
    package var route: Change<Route>? {
        if case .route(let change) = self { change } else { nil }
    }

    /// The change that turns the older state into the newer one; `nil` for settings.
    package var change: NetworkChange? {
        switch self {
        case .link(let change):
            change.new.map { .link(LinkReport($0)) } ?? change.old.map { .removedLink(index: $0.index) }
        case .address(let change): change.new.map { .address($0) } ?? change.old.map { .removedAddress($0) }
        case .nexthop(let change):
            change.new.map { .nexthop($0) } ?? change.old.map { .removedNexthop(id: $0.id) }
        case .route(let change): change.new.map { .route($0, .last) } ?? change.old.map { .removedRoute($0) }
        case .rule(let change): change.new.map { .rule($0) } ?? change.old.map { .removedRule($0) }
        case .neighbour(let change):
            change.new.map { .neighbour($0) } ?? change.old.map { .removedNeighbour($0.key) }
        case .settings: nil
        }
    }

    /// The interfaces that something is on; of an interface its own index, and that of the one below it or its peer.
    var interfaces: Set<UInt32> {
        switch self {
        case .link(let change): Set([change.latest?.index, change.latest?.lower].compactMap(\.self))
        case .address(let change): Set([change.latest?.interfaceIndex].compactMap(\.self))
        case .neighbour(let change): Set([change.latest?.key.interfaceIndex].compactMap(\.self))
        case .route(let change):
            Set([change.old, change.new].flatMap { $0?.nexthops.map(\.interfaceIndex) ?? [] })
        case .nexthop(let change):
            Set(
                [change.old, change.new].compactMap { object in
                    guard case .single(let nexthop)? = object?.kind else { return nil }
                    return nexthop.interfaceIndex
                })
        case .rule, .settings: []
        }
    }
}

// MARK: - Equality of what lookups read

extension Link {
    /// Whether two interfaces are equal in everything that a lookup or a rule reads.
    ///
    /// A setting that one side does not know counts as equal.
    func countsAs(_ other: Link) -> Bool {
        var (left, right) = (self, other)
        let counted = LinkFlags.counted
        left.flags.formIntersection(counted)
        right.flags.formIntersection(counted)
        (left.settings, left.sizes) = (right.settings, right.sizes)
        return left == right && settings.countsAs(other.settings)
    }

    /// Whether two interfaces differ at most in their operational state, not in what the administrator sets.
    func differsInCarrierOnly(from other: Link) -> Bool {
        var copy = self
        copy.flags.formSymmetricDifference(
            flags.symmetricDifference(other.flags).intersection(.operational))
        copy.operationalState = other.operationalState
        copy.carrier = other.carrier
        return copy.countsAs(other)
    }
}

extension LinkFlags {
    /// The bits that follow the carrier.
    static let operational: LinkFlags = [.running, .lowerUp, .dormant]
    /// The bits that a lookup or a rule reads.
    fileprivate static let counted: LinkFlags = [
        .up, .loopback, .pointToPoint, .noARP, .master, .running, .lowerUp, .dormant,
    ]
}

extension Route {
    /// The route with only the state that a lookup reads: whether its nexthops work, and whether its lifetime has
    /// ended.
    var counted: Route {
        var route = identity
        for index in route.nexthops.indices {
            route.nexthops[index].flags = nexthops[index].flags.intersection([.onLink, .dead, .linkDown])
        }
        route.expires = (expires ?? 0) < 0 ? -1 : nil
        return route
    }

    /// Whether the kernel made the route, also because of a router advertisement or a redirect, and not a program.
    var isMadeByKernel: Bool {
        [Self.redirectOrigin, Self.kernelOrigin, Self.advertisedOrigin].contains(origin)
            || table == Self.localTable
    }
}

extension NexthopObject {
    /// The object without the gateway scope that a snapshot records.
    var identity: NexthopObject {
        guard case .single(var nexthop) = kind else { return self }
        nexthop.gatewayScope = .unnoted
        return NexthopObject(id: id, kind: .single(nexthop))
    }
}

extension RoutingSettings {
    /// Whether all settings that both sides know are equal.
    func countsAs(_ other: RoutingSettings) -> Bool {
        var (left, right) = (self, other)
        left.fill(from: right)
        right.fill(from: left)
        return left == right
    }
}
