// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import RoutingModel

// Which source address a packet gets: `inet_select_addr` for IPv4, `ipv6_dev_get_saddr` for IPv6, each as far as
// addresses here differ at all: none is temporary, deprecated or a home address.

extension NetworkSnapshot {
    /// A choice with the source address that the kernel would add, where the route does not name one.
    func withSource(_ answer: RouteAnswer, for query: RouteQuery) -> RouteAnswer {
        guard case .route(var route) = answer, route.preferredSource == nil, let leg = route.nexthops.first
        else { return answer }
        route.preferredSource = query.source ?? source(for: query.destination, leg)
        return .route(route)
    }

    private func source(for destination: IPAddress, _ leg: Nexthop) -> IPAddress? {
        let own = addresses(ofInterface: leg.interfaceIndex, family: destination.family)
        if destination.family == .v6 {
            return best(own, for: destination) ?? best(addresses, for: destination)
        }
        let near = leg.gateway ?? destination
        let usable = own.filter { $0.scope != .host && $0.isPrimary }
        let mate = usable.first { $0.subnet?.contains(near) ?? false }
        let elsewhere = addresses.first { $0.address.family == .v4 && $0.scope == .universe }
        return (mate ?? usable.first ?? elsewhere)?.address
    }

    /// RFC 6724: of the destination's scope before another, then what shares most bits with the destination.
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
