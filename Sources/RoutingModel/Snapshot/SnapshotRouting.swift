// SPDX-License-Identifier: Apache-2.0

/// A recorded network as a source of facts: every question is answered in process.
///
/// A value; change ``snapshot`` and ask again.
package struct SnapshotRouting: Sendable {
    /// The network.
    package var snapshot: NetworkSnapshot
    /// The interfaces that nl80211 lists as Wi-Fi.
    ///
    /// No message of rtnetlink tells it.
    package var wirelessIndexes: Set<UInt32>
    /// The interfaces that the kernel's device model knows as cellular modems.
    ///
    /// No message of rtnetlink tells it.
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
    package func answer(to query: RouteQuery) throws(RoutingFault) -> RouteAnswer {
        try snapshot.answer(to: query)
    }

    package func outline(for query: RouteQuery) throws(RoutingFault) -> RouteSummary {
        try snapshot.outline(for: query)
    }

    /// The entry with the first nexthop that a packet could take.
    ///
    /// Which of several nexthops the kernel's hash would choose nothing tells. The preferred source is the entry's
    /// own, for an own IPv4 address that address, else `nil`: it is not worked out.
    package func choice(for query: RouteQuery) throws(RoutingFault) -> RouteAnswer {
        guard case .route(var route) = try snapshot.answer(to: query) else {
            return try snapshot.answer(to: query)
        }
        let live = route.nexthops.filter { !$0.flags.contains(.dead) }
        let bound = live.filter { $0.interfaceIndex == query.outputInterface }
        route.nexthops = Array((bound.first ?? live.first ?? route.nexthops.first).map { [$0] } ?? [])
        if route.type == .local, route.preferredSource == nil {
            route.preferredSource = query.destination.withoutZone
        }
        return .route(route)
    }

    package func interfaceIndex(named name: String) throws(RoutingFault) -> UInt32? {
        snapshot.links.values.first { $0.name == name }?.index
    }

    package func allLinks() throws(RoutingFault) -> [Link] {
        Array(snapshot.links.values)
    }

    package func facts(
        aboutInterface index: UInt32,
        detail: InterfaceDetail
    ) throws(RoutingFault) -> InterfaceFacts? {
        guard let link = snapshot.links[index] else { return nil }
        var facts = InterfaceFacts(link: link, lowers: lowers(of: link))
        facts.isCellularDevice = cellularIndexes.contains(index)
        if link.hardwareType == .ppp {
            facts.hasPlaceholderAddresses = snapshot.addresses(ofInterface: index, family: .v4)
                .contains(where: \.isDialPlaceholder)
        }
        if detail == .report {
            facts.ports = ports(of: link)
            facts.wirelessIndexes = wirelessIndexes
        }
        return facts
    }

    /// Walks down IFLA_LINK; the bound ends a walk over a loop.
    private func lowers(of link: Link) -> [Link] {
        var lowers: [Link] = []
        var next = link.lowerHere
        while let index = next, lowers.count < 16, let lower = snapshot.links[index] {
            lowers.append(lower)
            next = lower.lowerHere
        }
        return lowers
    }

    private func ports(of link: Link) -> [Link] {
        guard ["bridge", "bond", "team"].contains(link.kind) else { return [] }
        return snapshot.links.values.filter { $0.master == link.index }.sorted { $0.index < $1.index }
    }
}
