// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// Looks up what a socket gets, which differs from a plain question.
///
/// A socket without a source address selects one: IPv4 sockets look up again with it (`ip_route_connect`), IPv6
/// sockets only where the first lookup is rejected (`ip6_dst_lookup_tail`).
struct SocketLookup {
    let routing: any RoutingSource

    /// A result, and the question that it answers.
    struct Result {
        var lookup: RouteLookup
        var query: RouteQuery
    }

    /// Asks, and asks again with the selected source address where that can change the answer.
    func lookUp(_ query: RouteQuery, detail: LookupDetail) throws(RoutingFault) -> Result {
        let first = try lookUpOnce(query, detail)
        guard query.source == nil else { return first }
        if first.lookup.dependsOnSource || (first.lookup.isRejected && query.destination.family == .v6) {
            return try lookUpFromSelectedSource(first, detail)
        }
        return first
    }

    /// Asks with the source address that the question has, or with none.
    private func lookUpOnce(_ query: RouteQuery, _ detail: LookupDetail) throws(RoutingFault) -> Result {
        var query = query
        query.isStrict = query.source != nil && query.outputInterface != 0 && query.destination.family == .v6
        let first = Result(lookup: try routing.lookUp(query, detail: detail), query: query)
        guard query.destination.family == .v4, case .rejected(let rejection) = first.lookup.summary else {
            return first
        }
        guard query.isBoundGroup, rejection == .noRoute || rejection == .unreachable else { return first }
        // The kernel picks the device of a group without a route, and an entry is all that it rejects.
        return Result(lookup: try routing.lookUp(query, detail: .choice), query: query)
    }

    /// Asks with each source address that the kernel can select.
    ///
    /// An IPv6 socket whose first lookup is accepted keeps that route, and only needs an address to send from.
    ///
    /// - Throws: ``RoutingFault/Kind/undecided`` where the kernel can select several and the answers differ in kind.
    private func lookUpFromSelectedSource(
        _ first: Result,
        _ detail: LookupDetail
    ) throws(RoutingFault) -> Result {
        let isIPv6 = first.query.destination.family == .v6
        let sources =
            if let known = first.lookup.selectedSource {
                [known]
            } else {
                try routing.sourceAddresses(for: first.query, after: first.lookup)
            }
        if isIPv6, !first.lookup.isRejected {
            guard sources.isEmpty else { return first }
            return Result(lookup: RouteLookup(RouteSummary.rejected(.noSourceAddress)), query: first.query)
        }
        var found: Result?
        for source in sources {
            var query = first.query
            query.source = source
            var next = try lookUpOnce(query, detail)
            // The first rejection says more.
            if isIPv6, next.lookup.isRejected { next = first }
            if let known = found, known.lookup.summary != next.lookup.summary {
                // Each nexthop of an IPv4 route has a source: the rules judge the interfaces of all of them.
                if !isIPv6, let both = known.lookup.merged(with: next.lookup) {
                    found?.lookup = both
                    continue
                }
                throw RoutingFault(
                    kind: .undecided,
                    operation: "select a source address",
                    text: "the kernel can select \(source) or another source address for "
                        + "\(first.query.destination), and they take different routes"
                )
            }
            found = found ?? next
        }
        return found ?? first
    }
}

extension RouteQuery {
    /// Whether a bound socket asks about an IPv4 group or the limited broadcast address.
    fileprivate var isBoundGroup: Bool {
        (outputInterface != 0 || source != nil) && destination.isIPv4Group
    }
}
