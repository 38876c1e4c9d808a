// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import NetlinkRecording
internal import RoutingModel

/// Where a prediction leaves an answer open, because the kernel decides by something that no dump holds.
///
/// `netflags what-if` marks or refuses each kind.
enum ChangeException: String, CaseIterable {
    /// There is no prediction, and the command says what is missing.
    case undecided
    /// A line below the answer says what decides: `fib_select_multipath` and `fib6_select_path` choose one of several
    /// nexthops by a hash, `fib_select_default` takes equal default routes in turn, and `fib6_repair_tree` hides
    /// prefixes after the order in which routes came and went. The same holds for the outer packets of a tunnel.
    case open
    /// `__ipv6_dev_get_saddr`: of addresses that fit alike, the first one of a list is the source. The command prints
    /// no source addresses, and the report of the library has none.
    case source
    /// `fib_check_nh_v4_gw`: the kernel ignores a gateway that was an address of the host when the route was added. A
    /// dump does not hold that, and the address is gone since, or came later.
    case gatewayScope
    /// `fib_select_multipath`: an IPv4 nexthop that lost its carrier before `ignore_routes_with_linkdown` was set keeps
    /// its share of the packets, and gives them its source address, until the kernel distributes them anew
    /// (`fib_rebalance`). A dump shows it as dead, and not its share.
    case share
    /// `addrconf_ifid_eui48`: a link-local address is made of the hardware address. The command says that its bits
    /// are not known.
    case hardwareAddress

    /// `rt6_score_route`: RTM_GETROUTE matches the interface of a bound packet loosely if the packet has a source. The
    /// live answer about a tunnel's IPv6 packets is undecided where rules or routes compare sources, and the
    /// prediction reads the tables.
    case unasked

    /// The kind that explains why the kernel's answer is not the predicted one; `nil` where none does.
    init?(_ target: String, live: PredictedAnswer, _ predicted: PredictedAnswer, _ routing: RecordedRouting) {
        if predicted.isUndecided {
            self = .undecided
            return
        }
        let snapshot = routing.routing.snapshot
        if live.isUndecided {
            guard snapshot.comparesIPv6Sources else { return nil }
            self = .unasked
            return
        }
        if predicted.carriers.count > 1 {
            // The default path can lead past a tunnel that may wait.
            var other = predicted
            (other.carriers, other.flags) = (live.carriers, live.flags)
            if predicted.carriers.isSuperset(of: live.carriers) && other == live
                || IPAddress(target) == .anyV4
            {
                self = .open
                return
            }
        }
        guard let address = IPAddress(target) else { return nil }
        // Addresses that the default path leads to stand for it.
        let addresses =
            address == .anyV4
            ? [IPAddress(12, 0, 0, 1), IPAddress(206, 0, 0, 1), IPAddress(v6High: 0x2600 << 48, low: 1)]
            : [address]
        if let gateway = live.gateway ?? predicted.gateway,
            addresses.contains(where: { Self.isEntry(of: $0, via: gateway, from: live.source) }),
            live.gateway == nil || predicted.gateway == nil, live.interface == predicted.interface
        {
            self = .gatewayScope
            return
        }
        let zone = address.zone.flatMap { zone in snapshot.links.values.first { $0.name == "\(zone)" } }
        let plain = addresses.map {
            RouteQuery(destination: $0.withoutZone, outputInterface: zone?.index ?? 0)
        }
        // Where routes are for certain sources, each address of the host is asked about.
        let sourced = plain.flatMap { query in
            let sources = snapshot.addresses.map(\.address).filter { $0.family == query.destination.family }
            return sources.map { source in
                var sourced = query
                sourced.source = source
                return sourced
            }
        }
        let queries = plain + sourced
        // The source of the nexthop that the hash selects can lead to another table.
        let isAnyOpen = plain.contains { !snapshot.openChoices(for: $0).isEmpty }
        // The hash can select a nexthop without a carrier, also where others have one.
        if live.flags == ReachabilityFlags([]).letters, live.interface != nil,
            queries.contains(where: { live.takesOne(in: snapshot, $0) })
        {
            self = .open
            return
        }
        // So it can one whose gateway is an address of this host, which the kernel ignores.
        if live.gateway == nil || predicted.gateway == nil, live.interface != predicted.interface,
            plain.contains(where: { live.takesOne(in: snapshot, $0) })
        {
            self = .open
            return
        }
        guard live.flags == predicted.flags else { return nil }
        var other = predicted
        // So it is with the outer packets of a tunnel.
        other.carriers = live.carriers
        if other == live, let ends = snapshot.links.values.first(where: { $0.name == live.interface })?.ends,
            let remote = ends.remote
        {
            var outer = RouteQuery(destination: remote, outputInterface: ends.link)
            outer.source = ends.local
            if !snapshot.openChoices(for: outer).isEmpty {
                self = .open
                return
            }
        }
        other = predicted
        other.source = live.source
        if queries.contains(where: {
            (isAnyOpen || !snapshot.openChoices(for: $0).isEmpty) && live.isPossible(in: snapshot, $0)
        }) {
            self = .open
        } else if other == live, predicted.source == nil {
            self = .source
        } else if other == live,
            plain.contains(where: { $0.destination.family == .v4 && Self.isShared($0, live.source, snapshot) }
            )
        {
            self = .share
        } else if other == live,
            snapshot.links.keys.contains(where: {
                predicted.source == HostState.madeUpLinkLocal($0).description
            })
        {
            self = .hardwareAddress
        } else {
            return nil
        }
    }
}

extension NetworkSnapshot {
    /// Whether an IPv6 rule or route is for certain sources.
    fileprivate var comparesIPv6Sources: Bool {
        rules.contains { $0.family == .v6 && $0.source != nil }
            || routes.contains { $0.source != nil }
    }
}

extension ChangeException {
    /// Whether a source is an address of a nexthop without a carrier, among several of the kernel's entry.
    private static func isShared(_ query: RouteQuery, _ source: String?, _ snapshot: NetworkSnapshot) -> Bool
    {
        var query = query
        query.wantsEntry = true
        let nexthops = (try? KernelRouting().answer(to: query).entry?.nexthops) ?? []
        let down = nexthops.filter { $0.flags.isSuperset(of: [.dead, .linkDown]) }.map(\.interfaceIndex)
        return snapshot.addresses.contains {
            down.contains($0.interfaceIndex) && $0.address.description == source
        }
    }

    /// Whether the kernel's entry for an address has a gateway, whatever packets take.
    fileprivate static func isEntry(of address: IPAddress, via gateway: String?, from source: String?) -> Bool
    {
        var query = RouteQuery(destination: address.withoutZone)
        query.wantsEntry = true
        query.source = source.flatMap { IPAddress($0) }
        let entry = try? KernelRouting().answer(to: query).entry
        return entry?.nexthops.contains { $0.gateway?.family == .v4 && $0.gateway?.description == gateway }
            ?? false
    }
}

extension PredictedAnswer {
    /// Whether it takes one of several nexthops of a snapshot's route.
    fileprivate func takesOne(in snapshot: NetworkSnapshot, _ query: RouteQuery) -> Bool {
        guard let answer = try? snapshot.answer(to: query), answer.hasSeveralNexthops else { return false }
        return answer.nexthops.contains { nexthop in
            guard snapshot.links[nexthop.interfaceIndex]?.name == interface else { return false }
            if nexthop.gateway?.description == gateway { return true }
            // The kernel also ignores a gateway that was an address of this host when the route was added.
            return gateway == nil
                && ChangeException.isEntry(
                    of: query.destination, via: nexthop.gateway?.description, from: source)
        }
    }

    /// Whether it takes a way that is open in a snapshot.
    fileprivate func isPossible(in snapshot: NetworkSnapshot, _ query: RouteQuery) -> Bool {
        let answers = (try? snapshot.possibleAnswers(to: query)) ?? []
        return answers.contains { answer in
            answer.isRejected
                ? interface == nil
                : answer.nexthops.contains {
                    snapshot.links[$0.interfaceIndex]?.name == interface
                        && $0.gateway?.description == gateway
                }
        }
    }
}
