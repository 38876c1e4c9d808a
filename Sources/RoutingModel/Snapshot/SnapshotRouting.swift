// SPDX-License-Identifier: Apache-2.0

/// A recorded network as a source of facts: every question is answered in process.
///
/// A value; change ``snapshot`` and ask again.
package struct SnapshotRouting: Sendable {
    /// The network.
    package var snapshot: NetworkSnapshot
    /// The interfaces that nl80211 lists as Wi-Fi.
    ///
    /// No rtnetlink message contains it.
    package var wirelessIndexes: Set<UInt32>
    /// The interfaces that the kernel's device model knows as cellular modems.
    ///
    /// No rtnetlink message contains it.
    package var cellularIndexes: Set<UInt32>

    /// Answers from a snapshot.
    package init(
        _ snapshot: NetworkSnapshot,
        wirelessIndexes: Set<UInt32> = [],
        cellularIndexes: Set<UInt32> = []
    ) {
        self.snapshot = snapshot
        self.wirelessIndexes = wirelessIndexes
        self.cellularIndexes = cellularIndexes
    }
}

extension SnapshotRouting: RoutingSource {
    package func lookUp(_ query: RouteQuery, detail: LookupDetail) throws(RoutingFault) -> RouteLookup {
        switch detail {
        case .summary: RouteLookup(try snapshot.summary(for: query))
        case .entry: RouteLookup(try snapshot.answer(to: query))
        case .choice: RouteLookup(try choice(for: query))
        }
    }

    /// The entry with the first nexthop that a packet can take.
    ///
    /// A snapshot does not contain the hash by which the kernel chooses among several nexthops. The preferred
    /// source is the entry's own, for an own IPv4 address that address, else `nil`.
    private func choice(for query: RouteQuery) throws(RoutingFault) -> RouteAnswer {
        let answer = try snapshot.answer(to: query)
        guard case .route(var route) = answer else { return groupChoice(for: query) ?? answer }
        let live = route.nexthops.filter { !$0.flags.contains(.dead) }
        let bound = live.first { $0.interfaceIndex == query.outputInterface }
        route.nexthops = [bound ?? live.first ?? route.nexthops.first].compactMap(\.self)
        if route.type == .local, route.preferredSource == nil {
            route.preferredSource = query.destination.withoutZone
        }
        return .route(route)
    }

    /// The route of an IPv4 group from a bound socket: `ip_route_output_key_hash_rcu` takes the device of the
    /// binding, or of the source address, where no route matches.
    private func groupChoice(for query: RouteQuery) -> RouteAnswer? {
        let isBroadcast = query.destination == IPAddress(255, 255, 255, 255)
        guard query.destination.family == .v4, isBroadcast || query.destination.isMulticast else {
            return nil
        }
        let owner = snapshot.addresses.first { $0.address == query.source }?.interfaceIndex
        let index = query.outputInterface != 0 ? query.outputInterface : owner
        guard let index, snapshot.links[index]?.flags.contains(.up) == true,
            let destination = IPPrefix(query.destination, length: 32)
        else { return nil }
        return .route(
            Route(
                destination: destination,
                type: isBroadcast ? .broadcast : .multicast,
                nexthops: [Nexthop(interfaceIndex: index)],
                preferredSource: query.source
            )
        )
    }

    /// Selects among the recorded addresses, those of a VRF for a socket that is bound to it.
    package func sourceAddresses(for query: RouteQuery) throws(RoutingFault) -> [IPAddress] {
        guard query.destination.family == .v6 else { return [] }
        let vrf = snapshot.vrf(ofInterface: query.outputInterface)?.index
        let addresses = snapshot.addresses.filter {
            snapshot.vrf(ofInterface: $0.interfaceIndex)?.index == vrf
        }
        return SourceAddressSelection.candidates(for: query.destination, among: addresses)
    }

    package func facts(
        aboutInterface index: UInt32,
        detail: InterfaceDetail
    ) throws(RoutingFault) -> InterfaceFacts? {
        try gatherFacts(aboutInterface: index, detail: detail)
    }

    package func links() throws(RoutingFault) -> [Link] {
        Array(snapshot.links.values)
    }
}

extension SnapshotRouting: LinkDirectory {
    package func link(_ index: UInt32) throws(RoutingFault) -> Link? {
        snapshot.links[index]
    }

    package func isCellularDevice(_ link: Link) -> Bool {
        cellularIndexes.contains(link.index)
    }

    package func ipv4Addresses(ofInterface index: UInt32) throws(RoutingFault) -> [InterfaceAddress] {
        snapshot.addresses(ofInterface: index, family: .v4)
    }
}
