// SPDX-License-Identifier: Apache-2.0

extension NetworkSnapshot {
    /// Tells which way a packet would go: what the kernel answers to RTM_GETROUTE with RTM_F_FIB_MATCH.
    ///
    /// - Throws: ``RoutingFault`` of the kind ``RoutingFault/Kind/undecided`` with the reason, where the way
    ///   hangs on something that the snapshot does not tell: it never guesses. Also, as the kernel does, a
    ///   fault of the kind ``RoutingFault/Kind/system`` for an interface that does not exist.
    package func answer(to query: RouteQuery) throws(RoutingFault) -> RouteAnswer {
        try SnapshotLookup.answer(self, query)
    }

    /// Tells all that the kernel can answer, for each case of what the snapshot does not tell.
    ///
    /// Where they lead the same way ``answer(to:)`` gives the first, whose prefix, metric or errno the kernel's
    /// may differ from. No gateways of equal default routes are tried.
    package func possibleAnswers(to query: RouteQuery) throws(RoutingFault) -> [RouteAnswer] {
        try SnapshotLookup.possibleAnswers(self, query)
    }

    /// Tells which way a packet would go, for the rules alone.
    ///
    /// For a plain question about an address that one plain route of the main table decides it allocates
    /// nothing.
    package func outline(for query: RouteQuery) throws(RoutingFault) -> RouteSummary {
        if query.outputInterface == 0, query.source == nil,
            let outline = plainOutline(query.destination)
        {
            return outline
        }
        return try searchedOutline(for: query)
    }

    /// The long way, kept out of line: its frame would cost the short way a tenth of a microsecond.
    @inline(never)
    private func searchedOutline(for query: RouteQuery) throws(RoutingFault) -> RouteSummary {
        RouteSummary(try answer(to: query))
    }

    /// The short way for IPv4 with the rules that every host starts with; `nil` where it does not apply.
    @inline(__always)
    private func plainOutline(_ destination: IPAddress) -> RouteSummary? {
        guard destination.family == .v4, program.hasPlainIPv4, destination.low.isPlainIPv4,
            let local = program.local4, let main = program.main4
        else { return nil }
        let key = UInt32(truncatingIfNeeded: destination.low)
        return routes4.tables.withUnsafeBufferPointer { tables in
            if tables[local].mayMatch(key), self.match(key, inTable: local).isThere { return nil }
            let match = tables[main].quickMatch(key) ?? self.match(key, inTable: main)
            guard match.isThere else {
                return program.hasIPv4Default ? nil : .rejected(.noRoute)
            }
            guard let attributes = tables[main].onlyAttributes(match.value) else { return nil }
            let outline = pool.outlines[Int(attributes)]
            return outline.isPlain ? .entry(outline.type, outline.nexthop) : nil
        }
    }

    /// Out of line, because few questions come here in a large table and the short way is to stay short.
    @inline(never)
    private func match(_ key: UInt32, inTable place: Int) -> PrefixTrie.Match {
        PrefixTrie.Match(routes4.tables[place].longestMatch(key))
    }
}

extension UInt64 {
    /// Whether an IPv4 address is neither multicast, reserved nor in 0.0.0.0/8, which old kernels refuse.
    @inline(__always)
    fileprivate var isPlainIPv4: Bool { self >> 28 < 0xe && self >> 24 != 0 }
}
