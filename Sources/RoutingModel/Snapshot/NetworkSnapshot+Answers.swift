// SPDX-License-Identifier: Apache-2.0

extension NetworkSnapshot {
    /// Returns the kernel's answer to RTM_GETROUTE with RTM_F_FIB_MATCH.
    ///
    /// - Throws: ``RoutingFault`` of the kind ``RoutingFault/Kind/undecided`` with the reason, where the
    ///   answer depends on something that the snapshot does not hold. As the kernel does, it also throws a fault
    ///   of the kind ``RoutingFault/Kind/system`` for an interface that does not exist.
    package func answer(to query: RouteQuery) throws(RoutingFault) -> RouteAnswer {
        try SnapshotLookup.answer(self, query) { (unknown, answer, other) throws(RoutingFault) in
            guard answer.leadsTheSameWay(as: other) else { throw SnapshotLookup.undecided(unknown.reason) }
        }
    }

    /// Returns every answer that the kernel can give, for each case of what the snapshot does not hold.
    ///
    /// Where all of them use the same interfaces, ``answer(to:)`` returns the first; the kernel's answer can have
    /// another prefix, metric or errno. Gateways of equal default routes are not tried.
    package func possibleAnswers(to query: RouteQuery) throws(RoutingFault) -> [RouteAnswer] {
        var others: [RouteAnswer] = []
        let answer = try SnapshotLookup.answer(self, query) { others.append($2) }
        return [answer] + others
    }

    /// Returns the summary of the answer, which the flag rules need.
    ///
    /// It allocates nothing for a plain question that one plain route of the main table decides.
    package func summary(for query: RouteQuery) throws(RoutingFault) -> RouteSummary {
        if query.outputInterface == 0, query.source == nil, query.destination.family == .v4,
            let summary = plainSummary(UInt32(truncatingIfNeeded: query.destination.low))
        {
            return summary
        }
        return try searchedSummary(for: query)
    }

    /// The full lookup, out of line: its stack frame would cost the fast path a tenth of a microsecond.
    @inline(never)
    private func searchedSummary(for query: RouteQuery) throws(RoutingFault) -> RouteSummary {
        RouteSummary(try answer(to: query))
    }

    /// The short way for IPv4 with the rules that every host starts with; `nil` where it does not apply.
    @inline(__always)
    private func plainSummary(_ key: UInt32) -> RouteSummary? {
        guard program.hasPlainIPv4, key.isPlainIPv4, let local = program.local4, let main = program.main4
        else {
            return nil
        }
        return routes4.tables.withUnsafeBufferPointer { tables in
            if has(key, inTable: tables[local]) { return nil }
            let quick = tables[main].prefixes.quickMatch(key)
            return plainSummary(quick != nil ? quick?.value : tables[main].longestMatchValue(key))
        }
    }

    /// What the value that the main table has for an IPv4 address, or none, says where the local table has none.
    @inline(__always)
    private func plainSummary(_ value: UInt32?) -> RouteSummary? {
        guard let value else { return program.hasIPv4Default ? nil : .rejected(.noRoute) }
        guard let attributes = RouteTable<UInt32>.onlyAttributes(value) else { return nil }
        let summary = pool.summaries[Int(attributes)]
        return summary.isPlain ? .entry(summary.type, summary.nexthop) : nil
    }

    /// Whether a small table has a prefix over an address.
    @inline(__always)
    private func has<Key>(_ key: Key, inTable table: borrowing RouteTable<Key>) -> Bool {
        table.mayMatch(key) && table.longestMatchValue(key) != nil
    }
}

// MARK: - Many addresses at once

extension NetworkSnapshot {
    /// Answers plain questions about addresses, in their order.
    ///
    /// The main table is asked about all addresses first, so that a processor loads from memory for many of them at
    /// a time.
    ///
    /// - Parameters:
    ///   - destinations: The addresses, some hundred at most, so that what is found first stays in the cache.
    ///   - body: Receives the summary of each answer, or `nil` where it needs the full lookup.
    @inline(__always)
    func plainSummaries(of destinations: [IPAddress], _ body: (RouteSummary?) -> Void) {
        let matches4 = program.hasPlainIPv4 ? matches(destinations, .v4, routes4, program.main4) : []
        let matches6 = program.hasPlainIPv6 ? matches(destinations, .v6, routes6, program.main6) : []
        for (place, destination) in destinations.enumerated() {
            if destination.family == .v4 {
                body(matches4.isEmpty ? nil : plainSummary(UInt32(destination), matches4[place]))
            } else {
                body(matches6.isEmpty ? nil : plainSummary(destination, matches6[place]))
            }
        }
    }

    /// What a table has for addresses, of which those of the other family do not count; empty without a table.
    private func matches<Key: RouteKey>(
        _ destinations: [IPAddress],
        _ family: IPAddress.Family,
        _ routes: borrowing FamilyRoutes<Key>,
        _ place: Int?
    ) -> [PrefixMatch] {
        guard let place, destinations.contains(where: { $0.family == family }) else { return [] }
        return routes.tables[place].prefixes.longestMatchValues(destinations.map { Key($0) })
    }

    @inline(__always)
    private func plainSummary(_ key: UInt32, _ match: PrefixMatch) -> RouteSummary? {
        guard key.isPlainIPv4, let local = program.local4 else { return nil }
        return routes4.tables.withUnsafeBufferPointer { tables in
            has(key, inTable: tables[local]) ? nil : plainSummary(match.value)
        }
    }

    /// The way of an IPv6 address over the only route of a prefix; `nil` where the source of the packet or a
    /// gateway that does not answer can change it.
    @inline(__always)
    private func plainSummary(_ destination: IPAddress, _ match: PrefixMatch) -> RouteSummary? {
        guard !destination.isLinkScoped, let local = program.local6, let value = match.value,
            let attributes = RouteTable<AddressBits>.onlyAttributes(value)
        else { return nil }
        let summary = pool.summaries[Int(attributes)]
        guard summary.isPlain, answers(summary.nexthop) else { return nil }
        let isOwn = routes6.tables.withUnsafeBufferPointer {
            has(AddressBits(destination), inTable: $0[local])
        }
        return isOwn ? nil : .entry(summary.type, summary.nexthop)
    }

    /// Whether an IPv6 nexthop is taken, which only its gateway can prevent.
    private func answers(_ nexthop: Nexthop) -> Bool {
        guard let gateway = nexthop.gateway, settings.ipv6Forwards != true else { return true }
        guard let neighbours else { return false }
        let neighbour = Neighbour.Key(interfaceIndex: nexthop.interfaceIndex, address: gateway)
        return !(neighbours[neighbour]?.state.contains(.failed) ?? false)
    }
}

extension NetworkSnapshot {
    /// Whether policy rules compare the source address that an IPv4 socket without one selects.
    func hasRules(forSourceOf query: RouteQuery) -> Bool {
        query.source == nil && query.destination.family == .v4 && rules4.countBySource > 0
    }

    /// Whether the source address of a socket without one can change the answer, whatever entry it is.
    func mayDependOnSource(_ query: RouteQuery) -> Bool {
        query.dependsOnSource(.unicast, origin: 0) || hasRules(forSourceOf: query)
    }
}

extension UInt32 {
    /// Whether an IPv4 address is neither multicast, reserved nor in 0.0.0.0/8, which old kernels refuse.
    @inline(__always)
    fileprivate var isPlainIPv4: Bool { self >> 28 < 0xe && self >> 24 != 0 }
}
