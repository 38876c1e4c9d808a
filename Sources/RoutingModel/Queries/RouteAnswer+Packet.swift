// SPDX-License-Identifier: Apache-2.0

extension RouteAnswer {
    /// The route that a packet takes, from the table's entry and from the kernel's answer about the packet itself.
    ///
    /// The two differ. The kernel ignores a gateway that is its own address, and an exception of the route, such as a
    /// redirect, has another gateway. The entry alone shows the other nexthops of a multipath route, and their state.
    ///
    /// - Parameters:
    ///   - packet: The answer to ``RouteQuery/forPacket``.
    ///   - query: The packet.
    ///   - isConnected: Whether its socket is connected: such a packet takes the nexthop that the kernel chose by a
    ///     hash, and any other packet can take each of them.
    /// - Returns: The entry as the packet sees it, or why nothing takes the packet.
    package func taken(by packet: RouteAnswer, of query: RouteQuery, isConnected: Bool) -> RouteAnswer {
        guard case .taken(let choice) = packet else {
            // A strict entry has no answer about the packet. Else the tables changed in between, and this one is newer.
            return isRejected || query.isStrict ? self : packet
        }
        guard case .taken(var match) = self else { return isMissing(for: query) ? packet : self }
        match.source = choice.source
        match.lifetime.shorten(to: choice.lifetime)
        if match.type != .local, match.type != .anycast {
            match.take(choice, to: query.destination.withoutZone, isConnected: isConnected)
        }
        return .taken(match)
    }
}

extension RouteMatch {
    /// Takes the gateways that the kernel chose; the entry keeps its own.
    fileprivate mutating func take(_ choice: RouteMatch, to destination: IPAddress, isConnected: Bool) {
        guard hasSeveralNexthops || choice.hasSeveralNexthops else {
            // Nearly all routes have one nexthop, and lists are on the heap.
            if let chosen = choice.nexthop, chosen.interfaceIndex == nexthop?.interfaceIndex {
                nexthop?.take(chosen.gateway, to: destination)
            }
            return
        }
        let entry = entry
        nexthops = nexthops.taken(by: choice.nexthops, to: destination, isConnected: isConnected)
        self.entry = entry
    }
}

extension Nexthop {
    /// Takes the gateway of a packet.
    ///
    /// After a redirect to the destination itself, an IPv4 exception has the destination for a gateway: it is on the
    /// link.
    fileprivate mutating func take(_ chosen: IPAddress?, to destination: IPAddress) {
        gateway = chosen == destination && gateway != destination ? nil : chosen
    }
}

extension [Nexthop] {
    /// The nexthops of an entry with those that the kernel chose in the places of their own.
    ///
    /// Strict lookups have no answer about the packet: a choice through an interface that the entry does not use is
    /// that of another packet.
    fileprivate func taken(by choices: [Nexthop], to destination: IPAddress, isConnected: Bool) -> [Nexthop] {
        var nexthops = self
        let paths = Set(choices.map(\.path))
        // The first places of what was chosen, and of the other nexthops of each interface.
        var same: [Nexthop.Path: Int] = [:]
        var others: [UInt32: Int] = [:]
        for place in indices.reversed() {
            let path = self[place].path
            if paths.contains(path) { same[path] = place } else { others[self[place].interfaceIndex] = place }
        }
        var chosen: Int?
        for choice in choices {
            guard let place = same[choice.path] ?? others[choice.interfaceIndex] else { continue }
            nexthops[place].take(choice.gateway, to: destination)
            chosen = place
        }
        if isConnected, choices.count == 1, let chosen { return [nexthops[chosen]] }
        return nexthops
    }
}

extension RouteAnswer {
    /// Whether no entry matches a packet whose device the kernel picks by itself: one to an IPv4 group or the limited
    /// broadcast address, of a socket that is bound to an interface or an address (`ip_route_output_key_hash_rcu`).
    private func isMissing(for query: RouteQuery) -> Bool {
        guard query.destination.isIPv4Group, query.outputInterface != 0 || query.source != nil else {
            return false
        }
        return self == .rejected(.noRoute) || self == .rejected(.unreachable)
    }
}

extension Int32? {
    /// Takes another lifetime if it is shorter; `nil` stands for none.
    package mutating func shorten(to other: Int32?) {
        if let other { self = min(self ?? other, other) }
    }
}
