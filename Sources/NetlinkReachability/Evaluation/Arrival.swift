// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// The outcome of an arriving packet. The kernel answers (RTM_GETROUTE with RTA_IIF). These functions find the reason,
// in the kernel's order of checks (`ip_route_input_slow`, `ip6_forward`).

/// A packet that arrives on an interface.
private struct ArrivingPacket {
    let query: RouteQuery
    /// The interface whose settings and routes apply: for a port of a bridge, the bridge.
    let link: Link

    var source: IPAddress { query.source ?? .anyV4 }
    var destination: IPAddress { query.destination }

    func dropped(
        _ kind: ReachabilityReason.Code, other: String = "", icmp: (UInt8, UInt8)? = nil
    ) -> PacketArrival {
        // If a route drops packets, the reason names the route. The kernel names it only by its interface.
        let isOfRoute = [.unreachable, .prohibited, .blackhole].contains(kind)
        return PacketArrival(
            outcome: .dropped,
            reason: ReachabilityReason(kind, isOfRoute ? other : link.name, other: isOfRoute ? "" : other),
            icmpError: icmp.map { .init(type: $0.0, code: $0.1) })
    }

    func undecided(_ message: String) -> Interruption {
        .undecided("find what becomes of a packet on \(link.name)", message)
    }

    func unknown(_ setting: String) -> Interruption {
        undecided("the setting \(setting) of \(link.name), or that of all interfaces, is not known")
    }
}

extension Known {
    /// Finds the outcome of an arriving packet.
    ///
    /// - Parameter query: The packet, with the interface that it arrives on.
    /// - Returns: The outcome.
    /// - Throws: An ``Interruption`` if a fact is missing, or if the outcome is not known.
    mutating func arrival(of query: RouteQuery) throws(Interruption) -> PacketArrival {
        guard let link = try receiver(query.inputInterface) else {
            throw .failed(.noInterface(query.inputInterface, "find what becomes of a packet"))
        }
        let query = query.with { $0.inputInterface = link.index }
        let packet = ArrivingPacket(query: query, link: link)
        if let source = query.source { note(address: source) }
        guard link.flags.contains(.up) else { return packet.dropped(.interfaceDown) }
        if link.flags.contains(.loopback), let looped = try looped(packet) { return looped }
        let isMarkOpen = query.destination.family == .v4 && query.mark == 0
        // Noted, to be asked for together with the route. Few outcomes depend on the list of rules.
        if isMarkOpen { _ = unnotified.rules.find() }
        let arrival = try evaluate(packet)
        guard isMarkOpen else { return arrival }
        let marks = try marks()
        guard !marks.isEmpty, try settings(of: packet).looksBackByMark != false else { return arrival }
        // From here on, the outcome depends on the rules.
        _ = try host.rules.get()
        // A firewall can restore the mark of a connection on its answers, so each mark must give the same outcome.
        for mark in marks {
            let other = try evaluate(ArrivingPacket(query: query.with { $0.mark = mark }, link: link))
            guard other.outcome == arrival.outcome else {
                throw packet.undecided(
                    "src_valid_mark is on, and with the mark 0x\(String(mark, radix: 16)) the packet is "
                        + "\(other.outcome.rawValue): whether a firewall sets that is not known")
            }
        }
        return arrival
    }

    /// The interface whose settings and routes apply to packets that arrive on an interface; `nil` if it does not
    /// exist.
    ///
    /// For a port of a bridge or bond, this is the bridge or bond. A port of a VRF keeps its own.
    private mutating func receiver(_ index: UInt32) throws(Interruption) -> Link? {
        guard var link = try link(index) else { return nil }
        // Nested ports are rare.
        for _ in 0..<8 {
            guard let master = link.master, !link.isVRFPort, let above = try self.link(master), !above.isVRF
            else { break }
            link = above
        }
        return link
    }

    /// The settings of the interface on which a packet arrives.
    ///
    /// Few outcomes depend on them. The kernel notifies few changes of them, so they are asked for each time.
    private mutating func settings(of packet: ArrivingPacket) throws(Interruption) -> InputSettings {
        guard let settings = try unnotified.inputSettings.get(packet.link.index) else {
            throw .undecided("find the settings of \(packet.link.name)", "this source does not have them")
        }
        return settings
    }

    /// The marks that IPv4 rules match.
    private mutating func marks() throws(Interruption) -> Set<UInt32> {
        Set(try unnotified.rules.get().filter { $0.family == .v4 }.compactMap(\.mark?.value)).subtracting([0])
    }

    /// The outcome of a packet on the loopback interface that this host sends to itself; `nil` for another one.
    ///
    /// Such a packet keeps the route with which it was sent (`loopback_xmit`), so that the addresses are not checked
    /// and no route is looked up. Only a packet that a program writes to the interface as a frame has none.
    private mutating func looped(_ packet: ArrivingPacket) throws(Interruption) -> PacketArrival? {
        // IPv6 first looks at the interface, and refuses a group as the source of any packet (`ip6_rcv_core`).
        if packet.destination.family == .v6 {
            if packet.source.isMulticast { return nil }
            if try settings(of: packet).ipv6IsOff == true { return packet.dropped(.ipv6Off) }
        }
        var query = packet.query
        (query.inputInterface, query.user) = (0, nil)
        // A raw socket gives its packets any source address, and looks their route up without it.
        guard let own = findAnswer(to: RouteQuery(destination: packet.source).forPacket) else {
            throw .missing
        }
        if own.answer?.type != .local { query.source = nil }
        guard let result = findAnswer(to: query.forPacket) else { throw .missing }
        guard case .taken(let match)? = result.answer else { return nil }
        let kinds: [RouteType: ReachabilityReason.Code] = [
            .local: .localAddress, .anycast: .anycastAddress, .broadcast: .broadcast,
        ]
        let isElsewhere = match.type == .broadcast && match.nexthop?.interfaceIndex != packet.link.index
        guard let kind = kinds[match.type], !isElsewhere else { return nil }
        return PacketArrival(outcome: .delivered, reason: ReachabilityReason(kind, packet.link.name))
    }

    private mutating func evaluate(_ packet: ArrivingPacket) throws(Interruption) -> PacketArrival {
        if packet.destination.family == .v6, let early = try packet.earlyOutcome(settings(of: packet)) {
            return early
        }
        guard let result = findAnswer(to: packet.query) else { throw .missing }
        switch try value(of: result) {
        case .taken(let match): return try passed(packet, match)
        case .rejected(let rejection):
            return packet.destination.family == .v4
                ? try refused(packet, rejection) : packet.refusedV6(rejection)
        }
    }

    /// The outcome of a packet that matches a route.
    private mutating func passed(_ packet: ArrivingPacket, _ match: RouteMatch) throws(Interruption)
        -> PacketArrival
    {
        func delivered(_ kind: ReachabilityReason.Code) -> PacketArrival {
            PacketArrival(outcome: .delivered, reason: ReachabilityReason(kind, packet.link.name))
        }
        switch match.type {
        case .local: return delivered(.localAddress)
        case .anycast: return delivered(.anycastAddress)
        case .multicast: return delivered(.multicast)
        case .broadcast:
            // Through the loopback interface or a VRF, the kernel delivers the packet.
            guard let index = match.nexthop?.interfaceIndex, let link = try link(index),
                !link.flags.contains(.loopback), !link.isVRF
            else { return delivered(.broadcast) }
        case .unicast: break
        default: return packet.dropped(.martianDestination)
        }
        return try forwarded(packet, match)
    }

    private mutating func forwarded(_ packet: ArrivingPacket, _ match: RouteMatch) throws(Interruption)
        -> PacketArrival
    {
        let facts = try values(of: match.nexthops) { (nexthop, known) throws(Interruption) in
            try known.interfaces.facts(aboutInterface: nexthop.interfaceIndex, .reason)
        }.compactMap(\.self)
        guard let first = facts.first, let nexthop = match.nexthop else {
            return packet.dropped(.interfaceGone)
        }
        if packet.destination.family == .v6 {
            let settings = try settings(of: packet)
            let refusals = try facts.map { (facts) throws(Interruption) in
                try packet.forwardingRefusal(out: facts.index, settings)
            }
            guard Set(refusals).count == 1 else {
                throw packet.undecided(
                    "the kernel chooses a nexthop by a hash, and forwards packets from \(packet.source) to no other "
                        + "link")
            }
            if let refusal = refusals[0] { return refusal }
        }
        // IPv6 refuses the packet (`fib6_is_reject`). An IPv4 packet re-enters through the loopback interface, and is
        // forwarded there again until its hop limit ends.
        if first.traits.contains(.isLoopback) {
            return packet.dropped(
                .unreachable, other: "out of \(first.name)",
                icmp: packet.destination.family == .v4 ? (11, 0) : (1, 0))
        }
        let isOne = match.nexthops.count == 1
        // The kernel chooses one of several nexthops by a hash.
        let names = Set(facts.map(\.name)).sorted().joined(separator: " or ")
        let gateways = Set(match.nexthops.compactMap { $0.gateway?.description }).sorted()
        var reason = ReachabilityReason(
            gateways.isEmpty ? .onLink : .gateway, names, other: gateways.joined(separator: " or "))
        if facts.allSatisfy({ ReachabilityRules.blocker($0.traits) != nil }),
            let blocker = ReachabilityRules.blocker(first.traits)
        {
            reason = ReachabilityReason(blocker, first.name, other: first.blockedLower?.name ?? "")
        }
        return PacketArrival(
            outcome: .forwarded, interface: isOne ? NetworkInterface(first) : nil,
            gateway: isOne ? nexthop.gateway : nil, reason: reason)
    }

    // MARK: The reason for an IPv4 errno

    private mutating func refused(_ packet: ArrivingPacket, _ rejection: RouteRejection)
        throws(Interruption) -> PacketArrival
    {
        switch rejection {
        case .reversePathFilter: return try filtered(packet)
        case .prohibited: return packet.dropped(.prohibited, icmp: (3, 13))
        case .noRoute:
            // A rule that says unreachable has the same errno.
            let isRefused = try finding(of: packet) == .unreachable
            return packet.dropped(isRefused ? .unreachable : .noRoute, icmp: (3, 0))
        case .noFamily: return packet.dropped(.noFamily, other: "IPv4")
        case .unreachable:
            guard try settings(of: packet).ipv4Forwards == false else {
                return packet.dropped(.unreachable, icmp: (3, 1))
            }
            return packet.dropped(.notForwarding)
        default: return try invalid(packet)
        }
    }

    /// Finds the cause of EINVAL in the kernel's order: addresses that are never valid, the route of the destination,
    /// and the source.
    private mutating func invalid(_ packet: ArrivingPacket) throws(Interruption) -> PacketArrival {
        let settings = try settings(of: packet)
        if let refusal = packet.martian(settings) { return refusal }
        // A packet that is not forwarded has another errno, even if its route is a blackhole.
        if settings.ipv4Forwards != false, !packet.destination.isIPv4Group {
            switch try finding(of: packet) {
            case .blackhole: return packet.dropped(.blackhole)
            case .multicast: return packet.dropped(.martianDestination)
            default: break
            }
        }
        var source = RouteQuery(destination: packet.source, outputInterface: try domain(of: packet))
        if settings.looksBackByMark == true { source.mark = packet.query.mark }
        guard let result = findAnswer(to: source.forPacket) else { throw .missing }
        switch result.answer?.type {
        case .local where settings.takesOwnSources != true:
            let words = source.mark == 0 ? "" : " with the mark 0x\(String(source.mark, radix: 16))"
            return packet.dropped(.ownSource, other: packet.source.description + words)
        case .broadcast:
            return packet.dropped(.martianSource, other: packet.source.description)
        // Without a filter, only a sender that no other host can have is refused.
        case _ where settings.reversePathFilter == 0:
            return packet.dropped(.martianSource, other: packet.source.description)
        default: return try filtered(packet)
        }
    }

    /// The VRF of the interface on which a packet arrives; 0 for none.
    private mutating func domain(of packet: ArrivingPacket) throws(Interruption) -> UInt32 {
        try vrf(ofInterface: packet.link.index) ?? 0
    }

    /// The outcome of a packet that the reverse path filter drops.
    private mutating func filtered(_ packet: ArrivingPacket) throws(Interruption) -> PacketArrival {
        let isOwn = findAnswer(to: RouteQuery(destination: packet.destination).forPacket)
        let addresses = host.addresses.find()
        let strictness = try settings(of: packet).reversePathFilter == 2 ? "loose" : "strict"
        guard let addresses, let isOwn else { throw .missing }
        var words =
            "(\(strictness)): no way back from \(packet.destination) to \(packet.source) leads through it"
        let hasAddress = addresses.answer?.contains {
            $0.interfaceIndex == packet.link.index && $0.address.family == .v4
        }
        if hasAddress == false {
            words = "(\(strictness)): \(packet.link.name) has no IPv4 address"
        } else if isOwn.answer?.type == .local {
            // The kernel answers queries about the reverse route only from an address of this host. The filter takes
            // any nexthop of it, so that none is chosen.
            var back = packet.query.back.forEntry
            back.outputInterface = try domain(of: packet)
            guard let result = findAnswer(to: back) else { throw .missing }
            let exits = Set(result.answer?.nexthops.map(\.interfaceIndex) ?? []).sorted()
            if result.answer?.type == .unicast, !exits.isEmpty, !exits.contains(packet.link.index) {
                let names = try values(of: exits) { (index, known) throws(Interruption) in
                    try known.link(index)?.name
                }.compactMap(\.self)
                words =
                    "(\(strictness)): the way back to \(packet.source) is \(names.joined(separator: " or "))"
            } else if result.answer?.isRejected == true {
                words = "(\(strictness)): there is no way back to \(packet.source)"
            }
        } else if strictness == "loose" {
            words = "(loose): there is no way back from \(packet.destination) to \(packet.source)"
        }
        return packet.dropped(.reversePathFilter, other: words)
    }
}

extension Known {
    /// The type of the route in the IPv4 rules and tables for an arriving packet's destination; `nil` if there is
    /// none, or if this walk cannot evaluate a rule.
    private mutating func finding(of packet: ArrivingPacket) throws(Interruption) -> RouteType? {
        let rules = try host.rules.get().filter { $0.family == .v4 }
        let selected = try rulePacket(packet.query, rules)
        return try rules.walk(for: selected) { (rule, step) throws(Interruption) -> RouteType?? in
            switch step {
            case .goto: return nil
            case .undecided: return .some(nil)
            case .refusal(.noRoute): return RouteType.unreachable
            case .refusal(.prohibited): return RouteType.prohibit
            case .refusal: return RouteType.blackhole
            case .table(let table):
                let query = TableQuery(table: table, address: packet.destination)
                let route = try host.routes.get(query).filter { route in
                    (route.tos == 0 || route.tos == packet.query.comparedTypeOfService)
                        && (route.nexthops.isEmpty
                            || !route.nexthops.allSatisfy { $0.flags.contains(.dead) })
                }.min { one, other in
                    (-one.destination.length, -Int(one.tos), one.priority)
                        < (-other.destination.length, -Int(other.tos), other.priority)
                }
                guard let route, route.type != .throw else { return nil }
                // A refusal has no prefix to suppress.
                if !route.type.isRejecting, rule.suppresses(length: route.destination.length, group: nil) {
                    return nil
                }
                return .some(rule.suppressedGroup == nil ? route.type : nil)
            }
        } ?? nil
    }
}

// MARK: - Addresses of the packet

extension ArrivingPacket {
    /// The reason to drop an IPv4 packet because of its addresses; `nil` if the addresses can be valid.
    fileprivate func martian(_ settings: InputSettings) -> PacketArrival? {
        let routesLoopback = settings.routesLoopback == true
        func refusal(_ kind: ReachabilityReason.Code) -> PacketArrival {
            dropped(kind, other: (kind == .martianSource ? source : destination).description)
        }
        // The kernel checks the joined groups before the source.
        if destination.isMulticast { return refusal(.groupNotJoined) }
        if source.isIPv4Group { return refusal(.martianSource) }
        if destination.isIPv4Group || source.isUnspecified && destination.isUnspecified { return nil }
        // Since Linux 5.3, the rest of 0.0.0.0/8 is valid.
        if source.isUnspecified { return refusal(.martianSource) }
        if destination.isUnspecified { return refusal(.martianDestination) }
        if destination.isLoopback { return routesLoopback ? nil : refusal(.martianDestination) }
        return source.isLoopback && !routesLoopback ? refusal(.martianSource) : nil
    }

    /// The outcome of an IPv6 packet that does not depend on its route; `nil` if it depends on the route.
    fileprivate func earlyOutcome(_ settings: InputSettings) throws(Interruption) -> PacketArrival? {
        guard let isOff = settings.ipv6IsOff else { throw unknown("disable_ipv6") }
        if isOff { return dropped(.ipv6Off) }
        // `ip6_rcv_core`: the loopback address is valid on the loopback interface alone.
        let isLoopback = link.flags.contains(.loopback)
        if source.isMulticast || source.isLoopback && !isLoopback {
            return dropped(.martianSource, other: source.description)
        }
        if destination.isLoopback, !isLoopback {
            return dropped(.martianDestination, other: destination.description)
        }
        guard !destination.isMulticast else {
            throw undecided(
                "groups that sockets have joined are delivered, and it is not known which those are")
        }
        return nil
    }

    /// Why this host does not forward an IPv6 packet through an interface; `nil` if it forwards the packet.
    fileprivate func forwardingRefusal(
        out index: UInt32, _ settings: InputSettings
    ) throws(Interruption) -> PacketArrival? {
        guard let forwards = settings.ipv6Forwards else { throw unknown("forwarding") }
        if !forwards { return dropped(.notForwarding) }
        // `ip6_forward`: a packet from a link-local address is not forwarded to another link.
        guard source.isUnspecified || source.isLinkLocal, index != link.index else { return nil }
        return dropped(
            .scopedSource, other: source.description, icmp: source.isLinkLocal ? (1, 2) : nil)
    }

    fileprivate func refusedV6(_ rejection: RouteRejection) -> PacketArrival {
        switch rejection {
        case .prohibited: dropped(.prohibited, icmp: (1, 1))
        case .noRoute: dropped(.noRoute, icmp: (1, 0))
        case .unreachable: dropped(.unreachable, icmp: (1, 0))
        case .noFamily: dropped(.noFamily, other: "IPv6")
        default: dropped(.blackhole)
        }
    }
}

// MARK: - Answers

extension Known {
    /// The outcome of an answer that arrives on the interface through which a packet leaves; `nil` below
    /// ``QueryDetail/full``, and for packets that have no such answer.
    mutating func answerArrival(
        of evaluation: Evaluation,
        _ options: ReachabilityOptions
    ) throws(Interruption) -> PacketArrival? {
        guard let query = evaluation.query, query.wantsEntry, evaluation.rank == 2,
            let answer = evaluation.answer, answer.type == .unicast, !answer.isEncapsulated,
            !query.destination.isMulticast,
            let interface = evaluation.nexthop?.interfaceIndex
        else { return nil }
        guard let own = evaluation.sourceAddress else {
            throw .undecided(
                "find what becomes of an answer", "the source address of the packets is not known")
        }
        return try arrival(of: .answer(from: query.destination, to: own, on: interface, options))
    }
}

extension RouteQuery {
    /// Creates the query about an answer to a packet: the ports are swapped, and the mark and the type of service are
    /// 0.
    static func answer(
        from remote: IPAddress, to own: IPAddress, on interface: UInt32, _ options: ReachabilityOptions
    ) -> RouteQuery {
        var options = options
        (options.sourcePort, options.destinationPort) = (options.destinationPort, options.sourcePort)
        (options.mark, options.typeOfService) = (0, 0)
        return .arriving(on: interface, from: remote, to: own, options)
    }
}

extension ReachabilityReason {
    /// The reason of a target whose answers are dropped on the interface through which packets leave.
    ///
    /// - Parameters:
    ///   - cause: Why an answer is dropped.
    ///   - interface: The interface.
    ///   - isKnown: Whether the kernel knows the conversation. It then looks up a route only after the next change
    ///     of one.
    init(answerDropped cause: ReachabilityReason, by interface: String, isKnown: Bool = false) {
        let words =
            cause.code == .reversePathFilter ? "by its reverse path filter \(cause.other)" : "(\(cause))"
        self.init(
            .answerDropped, interface, other: (isKnown ? "after the next change of a route, " : "") + words)
    }
}

extension RouteQuery {
    /// Creates the query about an arriving packet, with the mark and the flow of some options.
    ///
    /// The source port is the sender's. The kernel evaluates the packet as user 0: without a user, IPv6 would miss
    /// rules that match on the user.
    static func arriving(
        on interface: UInt32, from source: IPAddress, to destination: IPAddress,
        _ options: ReachabilityOptions = ReachabilityOptions()
    ) -> RouteQuery {
        var query = RouteQuery(destination: destination.withoutZone, source: source.withoutZone)
        options.apply(to: &query)
        (query.inputInterface, query.user, query.selectsNexthop) = (interface, 0, true)
        return query
    }
}
