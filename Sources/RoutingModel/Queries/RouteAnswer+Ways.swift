// SPDX-License-Identifier: Apache-2.0

// When two answers are equivalent for reachability.

extension RouteAnswer {
    /// Whether two answers give a packet the same type of way through the same interfaces, or both none.
    ///
    /// Which of several gateways on one link it is makes no difference to reachability.
    package func leadsTheSameWay(as other: RouteAnswer) -> Bool {
        switch (self, other) {
        case (.route(let one), .route(let two)) where one.leadsTheSameWay(as: two): true
        default: self == other || (leadsNowhere && other.leadsNowhere)
        }
    }

    /// Whether nothing gets out, be it that there is no route or that no nexthop of it has a carrier.
    private var leadsNowhere: Bool {
        guard case .route(let route) = self else { return true }
        switch route.type {
        case .unicast, .broadcast, .multicast:
            return route.nexthops.allSatisfy { !$0.flags.isDisjoint(with: [.dead, .linkDown]) }
        default:
            return false
        }
    }
}

extension Route {
    private struct Way: Hashable {
        var interface: UInt32
        var hasGateway: Bool
        var flags: NexthopFlags
    }

    private var ways: Set<Way> {
        let ways = nexthops.map { nexthop in
            let flags = nexthop.flags.intersection([.dead, .linkDown])
            return Way(interface: nexthop.interfaceIndex, hasGateway: nexthop.gateway != nil, flags: flags)
        }
        return Set(ways)
    }

    /// Whether two routes give a packet the same type of way through the same interfaces.
    package func leadsTheSameWay(as other: Route) -> Bool {
        self == other || (type == other.type && ways == other.ways)
    }
}
