// SPDX-License-Identifier: Apache-2.0

extension NetworkSnapshot {
    /// Returns the kernel's answer to RTM_GETROUTE with RTM_F_FIB_MATCH.
    ///
    /// - Throws: ``RoutingFault`` of the kind ``RoutingFault/Kind/undecided`` with the reason, where the
    ///   answer depends on something that the snapshot does not hold. As the kernel does, it also throws a fault
    ///   of the kind ``RoutingFault/Kind/system`` for an interface that does not exist.
    package func answer(to query: RouteQuery) throws(RoutingFault) -> RouteAnswer {
        try SnapshotLookup.answer(self, query)
    }

    /// Returns every answer that the kernel can give, for each case of what the snapshot does not hold.
    ///
    /// Where all of them use the same interfaces, ``answer(to:)`` returns the first; the kernel's answer can have
    /// another prefix, metric or errno. Gateways of equal default routes are not tried.
    package func possibleAnswers(to query: RouteQuery) throws(RoutingFault) -> [RouteAnswer] {
        try SnapshotLookup.possibleAnswers(self, query)
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
            if tables[local].mayMatch(key), self.value(key, inTable: local) != nil { return nil }
            let quick = tables[main].quickMatch(key)
            guard let value = quick != nil ? quick?.value : self.value(key, inTable: main) else {
                return program.hasIPv4Default ? nil : .rejected(.noRoute)
            }
            guard let attributes = tables[main].onlyAttributes(value) else { return nil }
            let summary = pool.summaries[Int(attributes)]
            return summary.isPlain ? .entry(summary.type, summary.nexthop) : nil
        }
    }

    /// Out of line, because few questions in a large table need it.
    @inline(never)
    private func value(_ key: UInt32, inTable place: Int) -> UInt32? {
        routes4.tables[place].longestMatch(key)?.value
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
