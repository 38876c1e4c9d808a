// SPDX-License-Identifier: Apache-2.0

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

    /// Takes the outline of an answer.
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

    /// The type of the entry that takes the packet; `nil` where none does.
    package var type: RouteType? {
        switch self {
        case .rejected: nil
        case .entry(let type, _), .multipath(let type, _): type
        }
    }
}

extension RouteSummary {
    /// The same as a packet sees it that is bound to an interface.
    ///
    /// A multipath entry is told with all its nexthops, but such a packet takes none through another interface.
    /// Where no nexthop goes through it, as with a VRF, the outline stays as it is.
    ///
    /// - Returns: The outline; 0 stands for no interface.
    package func bound(toInterface index: UInt32) -> RouteSummary {
        guard index != 0, case .multipath(let type, let all) = self else { return self }
        let nexthops = all.filter { $0.interfaceIndex == index }
        return nexthops.isEmpty ? self : RouteSummary(type, nexthops)
    }
}

extension RouteAnswer {
    /// The same as a packet sees it that is bound to an interface; see ``RouteSummary/bound(toInterface:)``.
    ///
    /// - Returns: The answer; 0 stands for no interface.
    package func bound(toInterface index: UInt32) -> RouteAnswer {
        guard index != 0, case .route(var route) = self, route.nexthops.count > 1 else { return self }
        let nexthops = route.nexthops.filter { $0.interfaceIndex == index }
        if !nexthops.isEmpty { route.nexthops = nexthops }
        return .route(route)
    }
}

extension RoutingSource {
    /// Asks which way a packet would go, for the rules alone.
    package func outline(for query: RouteQuery) throws(RoutingFault) -> RouteSummary {
        RouteSummary(try answer(to: query))
    }

    /// Tells how the rules read an interface; `nil` when there is none of that index.
    package func traits(ofInterface index: UInt32) throws(RoutingFault) -> InterfaceTraits? {
        try facts(aboutInterface: index, detail: .flags)?.traits
    }
}
