// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

extension NetworkSnapshot {
    /// Returns the kernel's answer to RTM_GETROUTE with RTM_F_FIB_MATCH.
    ///
    /// - Throws: ``ReachabilityError`` with the code ``ReachabilityError/Code/undecided`` with the reason, where the
    ///   answer depends on something that the snapshot does not hold. As the kernel does, it also throws an error
    ///   with the code ``ReachabilityError/Code/systemFailure`` for an interface that does not exist.
    package func answer(to query: RouteQuery) throws(ReachabilityError) -> RouteAnswer {
        try SnapshotLookup.answer(self, query) { (unknown, answer, other) throws(ReachabilityError) in
            guard answer.isEquivalent(to: other),
                answer.isRejected == other.isRejected || !canBeRoutedBySource(query)
            else { throw SnapshotLookup.undecided(unknown.reason) }
        }
    }

    /// Whether an IPv6 socket whose lookup is rejected can find a route from the source address that it then selects
    /// (`ip6_dst_lookup_tail`).
    private func canBeRoutedBySource(_ query: RouteQuery) -> Bool {
        guard query.destination.family == .v6, query.source == nil else { return false }
        return ruleLists[.v6].all.contains { $0.source != nil }
            || pool.inUse.contains { pool.source($0) != nil }
    }

    /// Returns every answer that the kernel can give, for each case of what the snapshot does not hold.
    ///
    /// Where all of them use the same interfaces, ``answer(to:)`` returns the first; the kernel's answer can have
    /// another prefix, metric, gateway or errno. Of several gateways of equal default routes two are tried.
    package func possibleAnswers(to query: RouteQuery) throws(ReachabilityError) -> [RouteAnswer] {
        var others: [RouteAnswer] = []
        let answer = try SnapshotLookup.answer(self, query) { others.append($2) }
        return [answer] + others
    }

    /// What decides the path of a packet beside what the snapshot holds, in words; empty for most queries.
    package func openChoices(for query: RouteQuery) -> [String] {
        var reasons: [String] = []
        let answer = try? SnapshotLookup.answer(self, query) { (unknown, answer, other) in
            if answer.path != other.path { reasons.append(unknown.reason) }
        }
        let nexthops = answer?.bound(toInterface: query.outputInterface).nexthops ?? []
        let count = nexthops.count { !$0.flags.contains(.dead) }
        if count > 1 { reasons.append("the kernel chooses one of \(count) nexthops by a hash of the packet") }
        return reasons
    }

    /// The interfaces without a carrier through which the kernel's hash sends some packets.
    package func silentInterfaces(for query: RouteQuery) -> Set<UInt32> {
        let nexthops = (try? answer(to: query))?.bound(toInterface: query.outputInterface).nexthops ?? []
        guard nexthops.count > 1 else { return [] }
        let silent = nexthops.filter { $0.flags.contains(.linkDown) && !$0.flags.contains(.dead) }
        return Set(silent.map(\.interfaceIndex))
    }

    /// Returns the answer where one plain route of the main table decides by itself; `nil` where that needs the lookup.
    ///
    /// It covers hosts with the initial IPv4 rules, and queries about an address alone.
    func plainAnswer(to query: RouteQuery) -> RouteAnswer? {
        guard program.hasPlainIPv4, query.destination.family == .v4, query.outputInterface == 0,
            query.source == nil, query.destination.isPlainIPv4, let local = program.local4,
            let main = program.main4
        else { return nil }
        // Tables are read in place: a copy of one would count references.
        return routeTables.tables.withUnsafeBufferPointer { tables in
            guard tables[local].longestMatch(query.destination) == nil else { return nil }
            guard let chain = tables[main].longestMatch(query.destination)?.value else {
                return program.hasIPv4Default ? nil : .rejected(.noRoute)
            }
            guard case .one(let attributes) = chain else { return nil }
            return pool.plainMatch(attributes).map(RouteAnswer.taken)
        }
    }

    /// Whether policy rules compare the source address that an IPv4 socket without one selects.
    func hasRules(forSourceOf query: RouteQuery) -> Bool {
        query.source == nil && query.destination.family == .v4
            && ruleLists[.v4].all.contains { $0.source != nil }
    }

    /// The IPv4 address that the kernel selects for a route without one of its own, as the recorded ones decide.
    func ipv4Source(near gateway: IPAddress?, scope: RouteScope, through index: UInt32) -> IPAddress? {
        SourceAddressSelection.selectIPv4(
            near: gateway,
            scope: scope,
            among: addresses(ofInterface: index, family: .v4),
            orElse: ipv4Addresses(inDomainOf: index)
        )
    }

    /// The IPv4 addresses of all interfaces of a VRF, or of all without one, as `inet_select_addr` looks through them.
    private func ipv4Addresses(inDomainOf index: UInt32) -> [InterfaceAddress] {
        let domain = vrf(ofInterface: index)?.index
        let interfaces = addressBook.owners(.v4).filter {
            links[$0] != nil && vrf(ofInterface: $0)?.index == domain
        }
        let order = interfaces.sorted { ($0 == domain ? 0 : $0) < ($1 == domain ? 0 : $1) }
        return order.flatMap { addresses(ofInterface: $0, family: .v4).inKernelOrder }
    }
}

extension IPAddress {
    /// Whether an IPv4 address is neither multicast, reserved nor in 0.0.0.0/8, which old kernels refuse.
    fileprivate var isPlainIPv4: Bool { low >> 28 < 0xe && low >> 24 != 0 }
}
