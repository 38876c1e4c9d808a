// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

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
    package func answer(_ lookups: inout [RouteLookup], from first: Int) -> [InterfaceReading] {
        lookups.answer(from: first) { (query) throws(ReachabilityError) in try answer(to: query) }
        return []
    }

    package func answer(to query: RouteQuery) throws(ReachabilityError) -> RouteAnswer {
        if query.selectsNexthop { return try choice(for: query) }
        // The common case: one plain route decides, and the source address changes nothing.
        if !query.wantsEntry, let answer = snapshot.plainAnswer(to: query) { return answer }
        return try snapshot.answer(to: query).with { match in
            guard let entry = match.entry else { return }
            match.dependsOnSource =
                query.dependsOnSource(entry.type, origin: entry.origin)
                || snapshot.hasRules(forSourceOf: query)
        }
    }

    /// The entry with the nexthops that a packet can take: several, where the kernel chooses one of them.
    ///
    /// A snapshot does not contain the hash by which it does. The source is that of the question or of the entry, else
    /// the only one that the kernel can select; `nil` where it can select several.
    private func choice(for query: RouteQuery) throws(ReachabilityError) -> RouteAnswer {
        let answer = try snapshot.answer(to: query)
        guard var route = answer.entry else { return try groupChoice(for: query) ?? answer }
        let sources =
            if let source = query.source { [source] } else {
                try sourceAddresses(for: query, after: answer)
            }
        let live = route.nexthops.filter { !$0.flags.contains(.dead) }
        let bound = live.filter { $0.interfaceIndex == query.outputInterface }.prefix(1)
        route.nexthops = Array(!bound.isEmpty ? bound : live.isEmpty ? route.nexthops.prefix(1) : live[...])
        return .route(route).with { $0.source = sources.count == 1 ? sources[0] : nil }
    }

    /// The route of an IPv4 group from a bound socket: `ip_route_output_key_hash_rcu` takes the device of the
    /// binding, or of the source address, where no route matches.
    private func groupChoice(for query: RouteQuery) throws(ReachabilityError) -> RouteAnswer? {
        guard query.destination.isIPv4Group, let destination = IPPrefix(query.destination, length: 32) else {
            return nil
        }
        let index: UInt32
        if query.outputInterface != 0 {
            index = query.outputInterface
            guard snapshot.links[index]?.flags.contains(.up) == true else { return nil }
        } else {
            var lookup = SnapshotLookup(snapshot, query)
            guard let source = query.source, let owner = try lookup.interface(ofSource: source) else {
                return nil
            }
            index = owner
        }
        return .route(
            Route(
                destination: destination,
                type: query.destination.isMulticast ? .multicast : .broadcast,
                nexthops: [Nexthop(interfaceIndex: index)],
                preferredSource: query.source
            )
        ).with { $0.source = query.source }
    }

    /// Selects among the recorded addresses, those of a VRF for its interfaces.
    package func sourceAddresses(
        for query: RouteQuery,
        after answer: RouteAnswer
    ) throws(ReachabilityError) -> [IPAddress] {
        guard case .taken(let match) = answer else {
            guard query.destination.family == .v6 else { return [] }
            return SourceAddressSelection.candidates(
                for: query.destination,
                among: addresses(inDomainOf: query.outputInterface)
            )
        }
        let entry = if let known = match.entry { known } else { try snapshot.answer(to: query).entry }
        guard let route = entry else { return [] }
        if let source = route.preferredSource { return [source] }
        guard query.destination.family == .v6 || route.type != .local else {
            return [query.destination.withoutZone]
        }
        var sources: [IPAddress] = []
        let live = route.nexthops.filter { !$0.flags.contains(.dead) }
        for nexthop in live.isEmpty ? route.nexthops : live {
            for source in self.sources(for: query.destination, through: nexthop)
            where !sources.contains(source) { sources.append(source) }
        }
        return sources
    }

    private func sources(for destination: IPAddress, through nexthop: Nexthop) -> [IPAddress] {
        let addresses = addresses(inDomainOf: nexthop.interfaceIndex)
        guard destination.family == .v4 else {
            return SourceAddressSelection.candidates(
                for: destination,
                among: addresses,
                outgoingInterface: nexthop.interfaceIndex
            )
        }
        let source = SourceAddressSelection.selectIPv4(
            near: nexthop.gateway,
            among: addresses,
            outgoingInterface: nexthop.interfaceIndex
        )
        return source.map { [$0] } ?? []
    }

    /// The addresses of the VRF that an interface is or belongs to, or of all interfaces without a VRF.
    private func addresses(inDomainOf index: UInt32) -> [InterfaceAddress] {
        let vrf = snapshot.vrf(ofInterface: index)?.index
        return snapshot.addresses.filter { snapshot.vrf(ofInterface: $0.interfaceIndex)?.index == vrf }
    }

    package func addresses() throws(ReachabilityError) -> [InterfaceAddress] {
        snapshot.addresses
    }

    package func facts(
        aboutInterface index: UInt32,
        detail: QueryDetail
    ) throws(ReachabilityError) -> InterfaceFacts? {
        guard let link = snapshot.links[index] else { return nil }
        let isModem = cellularIndexes.contains(index)
        return try gatherFacts(about: link, isCellularDevice: isModem, detail: detail)
    }

    package func links() throws(ReachabilityError) -> [Link] {
        Array(snapshot.links.values)
    }
}

extension SnapshotRouting: LinkDirectory {
    package func link(_ index: UInt32) throws(ReachabilityError) -> Link? {
        snapshot.links[index]
    }

    package func ipv4Addresses(ofInterface index: UInt32) throws(ReachabilityError) -> [InterfaceAddress] {
        snapshot.addresses(ofInterface: index, family: .v4)
    }
}
