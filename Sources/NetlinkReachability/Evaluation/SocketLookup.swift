// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// Looks up what a socket gets, which differs from a plain question where that is rejected.
struct SocketLookup {
    let routing: any RoutingSource
    let isDefaultPath: Bool

    /// A result, and the question that it answers.
    struct Result {
        var lookup: RouteLookup
        var query: RouteQuery
    }

    /// Asks, and asks again as a socket does where the question is rejected.
    func lookUp(_ query: RouteQuery, detail: LookupDetail) throws(RoutingFault) -> Result {
        let lookup = try routing.lookUp(query, detail: detail)
        let first = Result(lookup: lookup, query: query)
        guard case .rejected(let rejection) = lookup.summary else {
            // A socket that is bound to an IPv6 source is as strict about its interface as any other.
            let hasSource = query.destination.family == .v6 && query.source != nil
            guard hasSource, try !leaves(first) else { return first }
            // Without a source the kernel looks only for routes through the interface.
            var strict = query
            strict.source = nil
            let second = Result(lookup: try routing.lookUp(strict, detail: detail), query: query)
            if try leaves(second) { return second }
            return Result(lookup: RouteLookup(RouteSummary.rejected(.noRoute)), query: query)
        }
        switch query.destination.family {
        case .v6:
            return try query.source == nil ? lookUpFromSelectedSource(first, detail) : first
        case .v4 where isDefaultPath && rejection == .blackhole:
            return try lookUpOtherProbes(first, detail)
        case .v4 where query.isBoundGroup && (rejection == .noRoute || rejection == .unreachable):
            // The kernel picks the device of a group without a route, and an entry is all that it rejects.
            return Result(lookup: try routing.lookUp(query, detail: .choice), query: query)
        case .v4:
            return first
        }
    }

    /// Asks about other addresses that only a default route matches.
    ///
    /// 0.0.0.0/8 is no destination before Linux 5.3: such a kernel refuses 0.0.0.1 with EINVAL, which is also
    /// the errno of a blackhole. A blackhole refuses the others too.
    private func lookUpOtherProbes(_ first: Result, _ detail: LookupDetail) throws(RoutingFault) -> Result {
        for probe in [IPAddress(240, 0, 0, 1), IPAddress(255, 255, 255, 254)] {
            var query = first.query
            query.destination = probe
            let lookup = try routing.lookUp(query, detail: detail)
            if lookup.summary != first.lookup.summary { return Result(lookup: lookup, query: query) }
        }
        return first
    }

    /// Asks with each source address that the kernel can select, as `ip6_dst_lookup_tail` does.
    ///
    /// - Throws: ``RoutingFault/Kind/undecided`` where the kernel can select several and the answers differ.
    private func lookUpFromSelectedSource(
        _ first: Result,
        _ detail: LookupDetail
    ) throws(RoutingFault) -> Result {
        var wanted = first.query
        // For the unspecified address the kernel selects the loopback address.
        if isDefaultPath { wanted.destination = .publicV6 }
        var found: Result?
        for source in try routing.sourceAddresses(for: wanted) {
            var query = first.query
            query.source = source
            var next = Result(lookup: try routing.lookUp(query, detail: detail), query: query)
            if try !leaves(next) { next = first }
            if let found, found.lookup.summary != next.lookup.summary {
                throw RoutingFault(
                    kind: .undecided,
                    operation: "select a source address",
                    text: "the kernel can select \(source) or another source address for "
                        + "\(wanted.destination), and they take different routes"
                )
            }
            found = found ?? next
        }
        return found ?? first
    }

    /// Whether a packet leaves through the interface that the socket is bound to, or through any of a VRF.
    ///
    /// The second lookup of a socket is bound as strictly as the first (`RT6_LOOKUP_F_IFACE`), while a question
    /// with a source address only prefers the interface.
    private func leaves(_ found: Result) throws(RoutingFault) -> Bool {
        let index = found.query.outputInterface
        switch found.lookup.bound(toInterface: index).summary {
        case .rejected: return false
        case _ where index == 0: return true
        case .entry(_, let nexthop) where nexthop?.interfaceIndex == index: return true
        case .multipath(_, let nexthops) where nexthops.allSatisfy { $0.interfaceIndex == index }: return true
        default: return try routing.facts(aboutInterface: index, detail: .flags)?.link.kind == "vrf"
        }
    }
}

extension IPAddress {
    /// An address in 2000::/3 that stands for all public addresses.
    fileprivate static let publicV6 = IPAddress(v6High: 0x2000 << 48, low: 1)
}

extension RouteQuery {
    /// Whether a bound socket asks about an IPv4 group or the limited broadcast address.
    fileprivate var isBoundGroup: Bool {
        (outputInterface != 0 || source != nil)
            && (destination.isMulticast || destination == IPAddress(255, 255, 255, 255))
    }
}
