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
            let outline = plainOutline(query.destination, { $0.quickMatch($1) })
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

    /// Tells of many destinations which way a packet would go: for each what ``outline(for:)`` tells of a plain
    /// question.
    ///
    /// In a large table that is a multiple quicker than one after the other, as the waits for memory are shared.
    /// It allocates two buffers in all.
    ///
    /// - Parameters:
    ///   - destinations: Where packets go.
    ///   - take: Gets the place of each destination and its outline, in their order.
    /// - Throws: What ``outline(for:)`` throws for the first destination that has no outline.
    package func forEachOutline(
        of destinations: [IPAddress],
        _ take: (Int, RouteSummary) -> Void
    ) throws(RoutingFault) {
        var keys = ContiguousArray<UInt32>(repeating: 0, count: min(destinations.count, Self.batch))
        var matches = ContiguousArray(repeating: PrefixTrie.Match(), count: keys.count)
        var start = 0
        while start < destinations.count {
            let count = min(keys.count, destinations.count - start)
            if program.hasPlainIPv4, let main = program.main4 {
                for place in 0..<count {
                    keys[place] = UInt32(truncatingIfNeeded: destinations[start + place].low)
                }
                keys.withUnsafeBufferPointer { keys in
                    matches.withUnsafeMutableBufferPointer { routes4.tables[main].longestMatches(keys, $0) }
                }
            }
            for place in start..<start + count {
                let match = matches[place - start]
                if let outline = plainOutline(destinations[place], { _, _ in match }) {
                    take(place, outline)
                } else {
                    take(place, try searchedOutline(for: RouteQuery(destination: destinations[place])))
                }
            }
            start += count
        }
    }

    /// How many destinations are looked up at once: their buffers stay in the nearest cache.
    private static var batch: Int { 256 }

    /// The short way for IPv4 with the rules that every host starts with; `nil` where it does not lead to the
    /// end.
    ///
    /// - Parameters:
    ///   - destination: Where the packet goes.
    ///   - match: Finds the longest prefix of the main table, or `nil` where that is not quickly done.
    /// - Returns: The outline.
    @inline(__always)
    private func plainOutline(
        _ destination: IPAddress,
        _ match: (borrowing RouteTable<UInt32>, UInt32) -> PrefixTrie.Match?
    ) -> RouteSummary? {
        guard destination.family == .v4, program.hasPlainIPv4, destination.low.isPlainIPv4,
            let local = program.local4, let main = program.main4
        else { return nil }
        let key = UInt32(truncatingIfNeeded: destination.low)
        return routes4.tables.withUnsafeBufferPointer { tables in
            if tables[local].mayMatch(key), self.match(key, inTable: local).isThere { return nil }
            let match = match(tables[main], key) ?? self.match(key, inTable: main)
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
    /// Whether an IPv4 address is neither multicast, reserved nor 0.0.0.0.
    @inline(__always)
    fileprivate var isPlainIPv4: Bool { self >> 28 < 0xe && self != 0 }
}
