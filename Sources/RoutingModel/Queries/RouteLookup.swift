// SPDX-License-Identifier: Apache-2.0

/// How much a routing table returns about a ``RouteQuery``.
package enum LookupDetail: Hashable, Sendable {
    /// The type and the nexthops, which is all that flags depend on.
    case summary
    /// The whole entry with all its nexthops.
    case entry
    /// The entry, and ``RouteLookup/selectedSource`` where that takes no further round trip.
    case entryAndSource
    /// The nexthop that this packet takes, with the source address that it gets as the preferred source.
    case choice
}

/// The answer to a plain question: an address, and a socket without bindings, mark or flow.
///
/// The common case, so the value holds no references.
package enum PlainAnswer: Sendable {
    /// An entry with one nexthop, and the traits of its interface where the type depends on them.
    case route(RouteType, Nexthop, InterfaceTraits)
    /// Nothing takes an IPv4 packet.
    case rejected(RouteRejection)
}

/// What a routing table returns for a ``RouteQuery``.
package struct RouteLookup: Hashable, Sendable {
    /// The type and the nexthops, or the rejection.
    package let summary: RouteSummary
    /// Whether the source address that a socket without one gets can change the answer.
    package var dependsOnSource = false
    /// The source address that the packet gets; `nil` where it was not looked up.
    package var selectedSource: IPAddress?
    /// The facts about the interface of the only nexthop, as current as the answer; `nil` if they are not cached.
    package var facts: Box<InterfaceFacts>?
    /// How much ``facts`` contains.
    package var factsDetail = InterfaceDetail.flags
    /// `nil` for a rejection, and it can be `nil` for ``LookupDetail/summary``.
    private let boxedRoute: Box<Route>?

    /// Wraps a summary.
    package init(_ summary: RouteSummary) {
        self.summary = summary
        boxedRoute = nil
    }

    /// Wraps a whole answer.
    package init(_ answer: RouteAnswer) {
        summary = RouteSummary(answer)
        if case .route(let route) = answer { boxedRoute = Box(route) } else { boxedRoute = nil }
    }

    /// The table's entry; `nil` for a rejection, and it can be `nil` for ``LookupDetail/summary``.
    package var route: Route? {
        boxedRoute?.value
    }

    /// The entry or the rejection; it can be `nil` for ``LookupDetail/summary``.
    package var answer: RouteAnswer? {
        if case .rejected(let rejection) = summary { return .rejected(rejection) }
        return route.map(RouteAnswer.route)
    }

    /// Whether nothing takes the packet.
    package var isRejected: Bool {
        if case .rejected = summary { true } else { false }
    }

    /// The entry with the nexthops of both results; `nil` unless both have entries of one type.
    package func merged(with other: RouteLookup) -> RouteLookup? {
        guard let type = summary.type, other.summary.type == type else { return nil }
        let nexthops = summary.nexthops + other.summary.nexthops.filter { !summary.nexthops.contains($0) }
        guard var route else { return RouteLookup(RouteSummary(type, nexthops)) }
        route.nexthops = nexthops
        return RouteLookup(.route(route))
    }

    /// Whether every nexthop that a packet bound to an interface can take uses that interface.
    package func leaves(through index: UInt32) -> Bool {
        switch bound(toInterface: index).summary {
        case .rejected: false
        case .entry(_, let nexthop): nexthop?.interfaceIndex == index
        case .multipath(_, let nexthops): nexthops.allSatisfy { $0.interfaceIndex == index }
        }
    }

    /// The result as a packet sees it that is bound to an interface.
    ///
    /// A multipath entry comes with all its nexthops, but such a packet takes none through another interface.
    /// Where no nexthop uses the interface, as with a VRF, the result stays as it is.
    ///
    /// - Parameter index: The interface; 0 for none.
    /// - Returns: The result without the nexthops of other interfaces.
    package func bound(toInterface index: UInt32) -> RouteLookup {
        guard index != 0, case .multipath(let type, let all) = summary else { return self }
        let nexthops = all.filter { $0.interfaceIndex == index }
        guard !nexthops.isEmpty else { return self }
        guard var route else { return RouteLookup(RouteSummary(type, nexthops)) }
        route.nexthops = nexthops
        return RouteLookup(.route(route))
    }
}

/// What the rules need of a ``RouteAnswer``, and no more.
package enum RouteSummary: Hashable, Sendable {
    /// Nothing takes the packet, or an entry or a rule refuses it.
    case rejected(RouteRejection)
    /// An entry takes it, through its only nexthop, or none where it names no interface.
    ///
    /// Most are such. They hold no reference, so that nothing has to be counted or freed.
    case entry(RouteType, Nexthop?)
    /// An entry takes it, through one of several nexthops.
    case multipath(RouteType, [Nexthop])

    /// Takes the summary of an answer.
    package init(_ answer: RouteAnswer) {
        switch answer {
        case .rejected(let rejection):
            self = .rejected(rejection)
        case .route(let route):
            self.init(route.type, route.nexthops)
        }
    }

    /// Takes what counts of an entry.
    package init(_ type: RouteType, _ nexthops: [Nexthop]) {
        self = nexthops.count > 1 ? .multipath(type, nexthops) : .entry(type, nexthops.first)
    }

    /// The nexthops of the entry that takes the packet; empty where none does.
    package var nexthops: [Nexthop] {
        switch self {
        case .rejected: []
        case .entry(_, let nexthop): [nexthop].compactMap(\.self)
        case .multipath(_, let nexthops): nexthops
        }
    }

    /// The type of the entry that takes the packet; `nil` where none does.
    package var type: RouteType? {
        switch self {
        case .rejected: nil
        case .entry(let type, _), .multipath(let type, _): type
        }
    }
}
