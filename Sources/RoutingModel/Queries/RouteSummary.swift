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
