// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

// The routes that the kernel creates for addresses: `fib_add_ifaddr` for IPv4, `addrconf_prefix_route`,
// `addrconf_f6i_alloc` and `addrconf_add_mroute` for IPv6.

extension HostState {
    /// Inserts a route and notifies, unless it exists.
    package mutating func insert(_ route: Route?) {
        if let route { apply(.route(route, .last), to: route) }
    }

    /// Removes a route and notifies, if it exists.
    package mutating func remove(_ route: Route) {
        apply(.removedRoute(route), to: route)
    }

    private mutating func apply(_ change: NetworkChange, to route: Route) {
        let count = routing.snapshot.routeCount
        routing.snapshot.apply(change)
        if routing.snapshot.routeCount != count { notifications.append(.route(route.destination)) }
    }

    /// All routes that the kernel can create for an address.
    func allRoutes(of address: InterfaceAddress) -> [Route] {
        switch address.address.family {
        case .v4:
            ownRoutes(of: address, evenIfDown: true) + [firstBroadcastRoute(of: address)].compactMap(\.self)
        case .v6:
            [prefixRoute(of: address), localRoute(of: address), anycastRoute(of: address)].compactMap(\.self)
        }
    }

    /// The routes of an IPv4 address.
    ///
    /// On an interface that is down, only the route to the address itself.
    func ownRoutes(of address: InterfaceAddress, evenIfDown: Bool = false) -> [Route] {
        let index = address.interfaceIndex
        // Packets to a secondary address get the primary address as their source.
        let primary = address.isPrimary ? nil : subnetMates(of: address).first(where: \.isPrimary)
        func route(_ prefix: IPPrefix?, _ type: RouteType) -> Route? {
            kernelRoute(
                prefix, type, index, scope: type == .local ? .host : .link,
                source: (primary ?? address).address)
        }
        let own = route(IPPrefix(address.address, length: 32), .local)
        guard evenIfDown || interfaces[index]?.isUp == true else { return [own].compactMap(\.self) }
        let isGiven = address.broadcast != nil && address.broadcast != IPAddress(255, 255, 255, 255)
        let given = isGiven ? route(address.broadcast.flatMap { IPPrefix($0, length: 32) }, .broadcast) : nil
        guard let subnet = address.subnet, address.isPrimary,
            !subnet.isHost || subnet.address != address.address
        else { return [own, given].compactMap(\.self) }
        let isLoopback = snapshot.links[index]?.flags.contains(.loopback) == true
        let broadcast = subnet.length < 31 ? IPPrefix(subnet.lastAddress, length: 32) : nil
        let isConnected = !address.flags.contains(.noPrefixRoute)
        let connected = isConnected ? route(subnet, isLoopback ? .local : .unicast) : nil
        let subnets = route(broadcast, .broadcast)
        return [own, given, connected, subnets == given ? nil : subnets].compactMap(\.self)
    }

    /// The broadcast route to the first address of the subnet of a primary IPv4 address.
    ///
    /// The kernel creates it only for an address with that broadcast address, keeps it as long as a primary address of
    /// the subnet, and removes it with that (`fib_del_ifaddr`).
    private func firstBroadcastRoute(of address: InterfaceAddress) -> Route? {
        guard address.isPrimary, let subnet = address.subnet, subnet.length < 31,
            subnet.address.low >> 24 != 0
        else { return nil }
        return kernelRoute(
            IPPrefix(subnet.address, length: 32), .broadcast, address.interfaceIndex, scope: .link,
            source: address.address)
    }

    /// The route to the subnet of an IPv6 address.
    func prefixRoute(of address: InterfaceAddress) -> Route? {
        address.flags.contains(.noPrefixRoute) ? nil : keptRoute(of: address)
    }

    /// The route to the subnet of an IPv6 address, which another address of the subnet may have created.
    ///
    /// It stays as long as this address: `check_cleanup_prefix_route`.
    func keptRoute(of address: InterfaceAddress) -> Route? {
        guard address.address.family == .v6, address.address != .loopbackV6 else { return nil }
        return kernelRoute(address.subnet, .unicast, address.interfaceIndex, metric: 256)
    }

    /// The route to an IPv6 address itself.
    func localRoute(of address: InterfaceAddress) -> Route? {
        kernelRoute(IPPrefix(address.address, length: 128), .local, address.interfaceIndex)
    }

    /// A router's route to the subnet-router anycast address: `addrconf_join_anycast`.
    func anycastRoute(of address: InterfaceAddress) -> Route? {
        let link = snapshot.links[address.interfaceIndex]
        guard link?.settings.ipv6Forwards ?? snapshot.settings.ipv6Forwards == true,
            address.prefixLength < 127,
            let subnet = address.subnet, !subnet.address.isUnspecified
        else { return nil }
        return kernelRoute(IPPrefix(subnet.address, length: 128), .anycast, address.interfaceIndex)
    }

    /// The route to all IPv6 multicast groups.
    func multicastRoute(_ index: UInt32) -> Route? {
        let groups = IPPrefix(IPAddress(v6High: 0xff << 56, low: 0), length: 8)
        return kernelRoute(groups, .multicast, index, metric: 256)
    }

    private func kernelRoute(
        _ prefix: IPPrefix?,
        _ type: RouteType,
        _ index: UInt32,
        scope: RouteScope = .universe,
        metric: UInt32 = 0,
        source: IPAddress? = nil
    ) -> Route? {
        prefix.map {
            Route(
                destination: $0,
                type: type,
                table: snapshot.vrf(ofInterface: index)?.vrfTable
                    ?? (type == .unicast ? Route.mainTable : Route.localTable),
                scope: scope,
                origin: Route.kernelOrigin,
                priority: metric,
                nexthops: [nexthop(index, isOwn: type == .local || type == .anycast, family: prefix?.family)],
                preferredSource: source
            )
        }
    }

    /// A nexthop through an interface, with the flags of the interface's present state.
    package func nexthop(
        _ index: UInt32,
        via gateway: IPAddress? = nil,
        weight: UInt16 = 1,
        isOwn: Bool = false,
        isOnLink: Bool = false,
        family: IPAddress.Family? = nil
    ) -> Nexthop {
        var flags: NexthopFlags = isOnLink ? .onLink : []
        if !isOwn, let link = snapshot.links[index], interfaces[index]?.hasCarrier == false {
            flags.insert(.linkDown)
            if let family, snapshot.ignoresLinkdown(link, family) { flags.insert(.dead) }
        }
        return Nexthop(interfaceIndex: index, gateway: gateway, weight: weight, flags: flags)
    }
}
