// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// Arriving IPv4 packets: `ip_route_input_slow` and `__fib_validate_source` in the kernel.

extension SnapshotLookup {
    /// The kernel's result for the packet; ``RouteRejection/reversePathFilter`` if the filter drops it.
    mutating func answerArrivingIPv4() throws(ReachabilityError) -> RouteAnswer {
        guard let settings = snapshot.inputSettings(ofInterface: query.inputInterface) else {
            return .rejected(.blackhole)
        }
        let (source, destination) = (query.source ?? .anyV4, query.destination)
        if source.isIPv4Group { return .rejected(.blackhole) }
        if destination.isMulticastIPv4 {
            throw Self.undecided("the tables do not hold the groups that sockets have joined")
        }
        if destination.isLimitedBroadcast || source.isUnspecified && destination.isUnspecified {
            return try delivered(.broadcast, from: source, settings)
        }
        if isZeroNetwork(source) || isZeroNetwork(destination) { return .rejected(.blackhole) }
        if destination.isLoopback || source.isLoopback {
            guard let isRouted = settings.routesLoopback else { throw unrecorded("route_localnet") }
            guard isRouted else { return .rejected(.blackhole) }
        }
        return try answerArrivingIPv4(try findIPv4() ?? .rejected(.noRoute), from: source, settings)
    }

    private mutating func answerArrivingIPv4(
        _ finding: Finding, from source: IPAddress, _ settings: InputSettings
    ) throws(ReachabilityError) -> RouteAnswer {
        switch finding {
        case .rejected(let rejection):
            guard rejection != .unreachable else { return .rejected(rejection) }
            return .rejected(try forwards(settings) ? rejection : .unreachable)
        case .hit(let hit) where hit.route.type == .local:
            return try delivered(.local, from: source, settings)
        case .hit(let hit):
            if hit.route.type == .broadcast {
                guard let isForwarded = settings.forwardsBroadcasts else { throw unrecorded("bc_forwarding") }
                guard isForwarded else { return try delivered(.broadcast, from: source, settings) }
            } else if try !forwards(settings) {
                return .rejected(.unreachable)
            } else if hit.route.type != .unicast {
                return .rejected(.blackhole)
            }
            return try forwarded(hit, from: source, settings)
        }
    }

    /// `ipv4_is_zeronet`: until Linux 5.2 all of 0.0.0.0/8, since then 0.0.0.0 alone.
    private func isZeroNetwork(_ address: IPAddress) -> Bool {
        address.isUnspecified || address.low >> 24 == 0 && snapshot.isKernel(before: 5, 3)
    }

    private func forwards(_ settings: InputSettings) throws(ReachabilityError) -> Bool {
        guard let forwards = settings.ipv4Forwards else { throw unrecorded("forwarding") }
        return forwards
    }

    private mutating func delivered(
        _ type: RouteType, from source: IPAddress, _ settings: InputSettings
    ) throws(ReachabilityError) -> RouteAnswer {
        let local = type == .local ? query.destination : .anyV4
        if !(type == .broadcast && isZeroNetwork(source)),
            let refusal = try refusal(ofSource: source, to: local, out: 0, settings)
        {
            return .rejected(refusal)
        }
        return .taken(RouteMatch(type, Nexthop(interfaceIndex: 1)))
    }

    private mutating func forwarded(
        _ hit: Hit, from source: IPAddress, _ settings: InputSettings
    ) throws(ReachabilityError) -> RouteAnswer {
        var route = hit.route
        var usable: [Nexthop] = []
        for nexthop in route.nexthops where isUsable(nexthop, of: route) { usable.append(nexthop) }
        route.nexthops = usable
        var refusals: Set<RouteRejection?> = []
        for index in Set(usable.map(\.interfaceIndex)).sorted() {
            refusals.insert(try refusal(ofSource: source, to: query.destination, out: index, settings))
        }
        guard refusals.count < 2 else {
            throw Self.undecided("the kernel chooses a nexthop by a hash, and validates the source by it")
        }
        if let refusal = refusals.first ?? nil { return .rejected(refusal) }
        return .route(route)
    }

    // MARK: The source

    /// Why the kernel refuses the source of a packet; `nil` if it accepts the source.
    ///
    /// The reverse lookup has `local` as its source: the destination, or the zero address for a broadcast. Its
    /// incoming interface is the interface through which the packet is forwarded, 0 for none.
    private mutating func refusal(
        ofSource source: IPAddress, to local: IPAddress, out index: UInt32, _ settings: InputSettings
    ) throws(ReachabilityError) -> RouteRejection? {
        let known = settings.reversePathFilter
        if known ?? 0 > 0 {
            return try wholeRefusal(ofSource: source, to: local, out: index, settings, known ?? 0)
        }
        // Without a filter, the kernel compares only its own addresses, and with accept_local nothing. The exceptions:
        // the packet leaves through the interface on which it arrived; without accept_local, a rule or a local route
        // was ever added.
        let whole = try wholeRefusal(ofSource: source, to: local, out: index, settings, 0)
        var refusal = whole
        let isPlain = snapshot.program.hasPlainIPv4 && !snapshot.hasCustomLocalRoutes
        if isPlain || settings.takesOwnSources == true {
            var simple: RouteRejection?
            if settings.takesOwnSources != true, snapshot.addressBook.contains(source) {
                guard settings.takesOwnSources == false else { throw unrecorded("accept_local") }
                simple = .blackhole
            }
            let redirects: Bool? = index == query.inputInterface ? settings.sendsRedirects : false
            if simple != whole, redirects != true {
                guard redirects != nil else { throw unrecorded("send_redirects") }
                guard settings.takesOwnSources == true else {
                    throw Self.undecided(Unknown.sharedTree.reason)
                }
            }
            refusal = redirects == true ? whole : simple
        }
        guard known == nil else { return refusal }
        for filter: UInt8 in [1, 2] {
            let other = try wholeRefusal(ofSource: source, to: local, out: index, settings, filter)
            guard (other == nil) == (refusal == nil) else { throw unrecorded("rp_filter") }
        }
        return refusal
    }

    /// Why the kernel refuses the source with a reverse path filter, according to the reverse route.
    ///
    /// Follows `__fib_validate_source`.
    private mutating func wholeRefusal(
        ofSource source: IPAddress, to local: IPAddress, out index: UInt32, _ settings: InputSettings,
        _ filter: UInt8
    ) throws(ReachabilityError) -> RouteRejection? {
        let refusal: RouteRejection? = filter == 0 ? nil : .reversePathFilter
        var packet = query
        packet.destination = local
        packet = packet.back
        packet.inputInterface = index
        if query.mark != 0 {
            guard let isUsed = settings.looksBackByMark else { throw unrecorded("src_valid_mark") }
            packet.mark = isUsed ? query.mark : 0
        }
        var lookup = SnapshotLookup(snapshot, packet)
        (lookup.assumed, lookup.choosesDefault, lookup.domainInterface) = (
            assumed, false, query.inputInterface
        )
        let finding = try lookup.findIPv4()
        consulted.formUnion(lookup.consulted)
        guard case .hit(let hit)? = finding else { return refusal }
        if hit.route.type == .local {
            guard let isTaken = settings.takesOwnSources else { throw unrecorded("accept_local") }
            if !isTaken { return .blackhole }
        } else if hit.route.type != .unicast {
            return .blackhole
        }
        let isBack = hit.route.nexthops.contains {
            $0.interfaceIndex == query.inputInterface
                || snapshot.links[$0.interfaceIndex]?.master == query.inputInterface && vrf == nil
                    && snapshot.links[query.inputInterface]?.isVRF == true
        }
        if isBack { return nil }
        if snapshot.addresses(ofInterface: query.inputInterface, family: .v4).isEmpty { return refusal }
        return filter == 1 ? refusal : nil
    }

    private func unrecorded(_ setting: String) -> ReachabilityError {
        let name = snapshot.links[query.inputInterface]?.name ?? ""
        return Self.undecided(
            "the tables do not hold the setting \(setting) of \(name), or that of all interfaces")
    }
}

extension NetworkSnapshot {
    /// The settings for packets that arrive on an interface; `nil` if there is none.
    func inputSettings(ofInterface index: UInt32) -> InputSettings? {
        links[index].map { InputSettings(own: $0.settings, all: settings) }
    }

    /// Whether a program added a `local` route.
    fileprivate var hasCustomLocalRoutes: Bool {
        pool.inUse.contains {
            let route = pool[$0]
            return route.type == .local && route.origin != Route.kernelOrigin
                && route.destination.family == .v4
        }
    }
}
