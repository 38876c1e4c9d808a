// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import RoutingModel

// Source address selection: `inet_select_addr` for IPv4, `ipv6_dev_get_saddr` for IPv6. Simulated addresses are never
// temporary, deprecated or home addresses, so those rules are left out.

extension NetworkSnapshot {
    /// Adds the source address that the kernel selects where the route has none.
    func withSource(_ answer: RouteAnswer, for query: RouteQuery) -> RouteAnswer {
        guard case .route(var route) = answer, route.preferredSource == nil,
            let nexthop = route.nexthops.first
        else { return answer }
        route.preferredSource = query.source ?? source(for: query.destination, nexthop)
        return .route(route)
    }

    private func source(for destination: IPAddress, _ nexthop: Nexthop) -> IPAddress? {
        let own = addresses(ofInterface: nexthop.interfaceIndex, family: destination.family)
        if destination.family == .v6 {
            return best(own, for: destination) ?? best(addresses, for: destination)
        }
        let near = nexthop.gateway ?? destination
        let usable = own.filter { $0.scope != .host && $0.isPrimary }
        let mate = usable.first { $0.subnet?.contains(near) ?? false }
        let elsewhere = addresses.first { $0.address.family == .v4 && $0.scope == .universe }
        return (mate ?? usable.first ?? elsewhere)?.address
    }

    /// RFC 6724: prefers the scope of the destination, then the longest common prefix with it.
    private func best(_ candidates: [InterfaceAddress], for destination: IPAddress) -> IPAddress? {
        func rank(_ address: IPAddress) -> (Int, Int) {
            let isSameScope = address.isLinkLocal == (destination.isLinkLocal || destination.isLinkGroup)
            return (isSameScope ? 1 : 0, address.sharedBits(with: destination))
        }
        let usable = candidates.map(\.address).filter { $0.family == .v6 && !$0.isLoopback }
        return usable.max { rank($0) < rank($1) }
    }
}

extension IPAddress {
    /// ff02::/16: groups on the link.
    fileprivate var isLinkGroup: Bool { family == .v6 && high >> 48 == 0xff02 }

    fileprivate func sharedBits(with other: IPAddress) -> Int {
        let difference = high ^ other.high
        return difference != 0
            ? difference.leadingZeroBitCount : 64 + (low ^ other.low).leadingZeroBitCount
    }
}
