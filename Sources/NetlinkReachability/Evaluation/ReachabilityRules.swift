// SPDX-License-Identifier: Apache-2.0

/// The rules: what the kernel answered, and what is known of the interface, as flags and a reason.
///
/// Pure. The live kernel, a recording and a simulated network all come through here.
package enum ReachabilityRules {
    /// What was asked about.
    package enum Subject: Hashable, Sendable {
        /// An address.
        case address(IPAddress)
        /// The default path, by way of this probe.
        case defaultPath(probe: IPAddress)

        /// The address that the kernel is asked about.
        package var destination: IPAddress {
            switch self {
            case .address(let address): address
            case .defaultPath(let probe): probe
            }
        }
    }

    /// The verdict in its shortest form.
    package struct Ruling: Hashable, Sendable {
        package var flags: ReachabilityFlags
        package var kind: ReachabilityReason.Kind
        /// The leg that decided; `nil` when there was none.
        package var leg: Nexthop?
    }

    /// Rules on the kernel's answer about one subject.
    ///
    /// - Parameters:
    ///   - outline: What the kernel answered.
    ///   - subject: What it was asked about.
    ///   - isBound: Whether the question was bound to an interface.
    ///   - traits: Tells how an interface is; `nil` when it is gone.
    /// - Returns: The verdict.
    /// - Throws: Whatever `traits` throws, and nothing else.
    package static func rule<Failure: Error>(
        on outline: RouteSummary,
        subject: Subject,
        isBound: Bool,
        traits: (UInt32) throws(Failure) -> InterfaceTraits?
    ) throws(Failure) -> Ruling {
        switch outline {
        case .rejected(let rejection):
            return Ruling(flags: [], kind: kind(of: rejection, subject: subject, isBound: isBound))
        case .entry(let type, let leg):
            return try rule(onEntry: type, leg, [], subject: subject, traits: traits)
        case .multipath(let type, let legs):
            return try rule(onEntry: type, legs.first, legs.dropFirst(), subject: subject, traits: traits)
        }
    }

    private static func rule<Failure: Error>(
        onEntry type: RouteType,
        _ first: Nexthop?,
        _ others: ArraySlice<Nexthop>,
        subject: Subject,
        traits: (UInt32) throws(Failure) -> InterfaceTraits?
    ) throws(Failure) -> Ruling {
        if case .defaultPath = subject, type != .unicast { return Ruling(flags: [], kind: .noDefaultRoute) }
        if let ruling = ruling(onType: type, leg: first) { return ruling }
        return try rule(on: type, first, others, subject: subject, traits: traits)
    }

    // MARK: Answers without a way out

    private static func kind(
        of rejection: RouteRejection,
        subject: Subject,
        isBound: Bool
    ) -> ReachabilityReason.Kind {
        switch rejection {
        case .noFamily: return .noFamily
        case .prohibited: return .prohibited
        case .blackhole: return .blackhole
        default: break
        }
        // A bound IPv4 question says EHOSTUNREACH where an unbound one says ENETUNREACH.
        if isBound { return .noRouteOutOfInterface }
        if rejection == .unreachable { return .unreachable }
        if case .defaultPath = subject { return .noDefaultRoute }
        return .noRoute
    }

    /// The types whose interface does not matter; `nil` for the others.
    private static func ruling(onType type: RouteType, leg: Nexthop?) -> Ruling? {
        switch type {
        case .unicast, .broadcast, .multicast:
            return nil
        case .local, .anycast:
            // The kernel delivers to itself whatever state the interface is in.
            return Ruling(
                flags: [.reachable, .isLocalAddress, .isDirect],
                kind: type == .local ? .localAddress : .anycastAddress,
                leg: leg
            )
        case .blackhole: return Ruling(flags: [], kind: .blackhole)
        case .unreachable: return Ruling(flags: [], kind: .unreachable)
        case .prohibit: return Ruling(flags: [], kind: .prohibited)
        case .throw: return Ruling(flags: [], kind: .noRoute)
        default: return Ruling(flags: [], kind: .unusableRoute)
        }
    }

    // MARK: Legs

    /// Rules on each leg alone.
    ///
    /// The best rank counts, and among equals the lowest interface index, so that the verdict never depends
    /// on the kernel's choice by hash.
    private static func rule<Failure: Error>(
        on type: RouteType,
        _ first: Nexthop?,
        _ others: ArraySlice<Nexthop>,
        subject: Subject,
        traits: (UInt32) throws(Failure) -> InterfaceTraits?
    ) throws(Failure) -> Ruling {
        guard let first else { return Ruling(flags: [], kind: .interfaceGone) }
        var best = rule(on: first, type, subject, try traits(first.interfaceIndex))
        for leg in others {
            let next = rule(on: leg, type, subject, try traits(leg.interfaceIndex))
            let isBetter = next.flags.rank > best.flags.rank
            let isEarlier =
                next.flags.rank == best.flags.rank
                && (best.leg.map { leg.isOrdered(before: $0) } ?? true)
            if isBetter || isEarlier { best = next }
        }
        return best
    }

    private static func rule(
        on leg: Nexthop,
        _ type: RouteType,
        _ subject: Subject,
        _ traits: InterfaceTraits?
    ) -> Ruling {
        guard let traits else { return Ruling(flags: [], kind: .interfaceGone, leg: leg) }
        if !(traits.isPlain && leg.flags.rawValue == 0), let obstacle = obstacle(of: leg, traits) {
            return Ruling(flags: [], kind: obstacle, leg: leg)
        }
        // The type comes first: the entry behind a multicast or broadcast address can name the gateway of a
        // covering route, which such packets do not take.
        let takesGateway = type == .unicast && leg.gateway != nil
        var flags: ReachabilityFlags = [.reachable]
        let isPointToPoint = !traits.isPlain && traits.contains(.isPointToPoint)
        // Apple's idiom for "is there a local Wi-Fi": the link-local network itself, whatever routes there are.
        let isLocalNetworkIdiom = subject == .address(linkLocalNetwork) && traits.contains(.isLocalNetwork)
        if (!takesGateway && !isPointToPoint) || isLocalNetworkIdiom { flags.insert(.isDirect) }
        if traits.isPlain {
            return Ruling(flags: flags, kind: wayKind(type, takesGateway: takesGateway, traits), leg: leg)
        }
        let connection = connectionFlags(traits)
        flags.formUnion(connection)
        let kind =
            connection.contains(.connectionRequired)
            ? (traits.contains(.isNotDialled) ? .notDialled : .dormant)
            : wayKind(type, takesGateway: takesGateway, traits)
        return Ruling(flags: flags, kind: kind, leg: leg)
    }

    private static let linkLocalNetwork = IPAddress(169, 254, 0, 0)

    /// What keeps packets from leaving.
    ///
    /// The kernel can know of a leg's state before its interface shows it.
    private static func obstacle(of leg: Nexthop, _ traits: InterfaceTraits) -> ReachabilityReason.Kind? {
        if traits.isDisjoint(with: .obstacles), leg.flags.isDisjoint(with: [.dead, .linkDown]) { return nil }
        if traits.contains(.isDown) { return .interfaceDown }
        if traits.contains(.hasNoCarrier) { return .noCarrier }
        if traits.contains(.lowerIsDown) { return .lowerInterfaceDown }
        if traits.contains(.lowerHasNoCarrier) { return .lowerNoCarrier }
        return leg.flags.contains(.linkDown) ? .noCarrier : .interfaceDown
    }

    /// What an interface adds to the flags of everything that leaves through it.
    private static func connectionFlags(_ traits: InterfaceTraits) -> ReachabilityFlags {
        var flags: ReachabilityFlags = []
        if traits.contains(.isPointToPoint) { flags.insert(.transientConnection) }
        if traits.contains(.isCellular) { flags.formUnion([.isWWAN, .transientConnection]) }
        if traits.contains(.isDormant) {
            flags.insert(.connectionRequired)
            if !traits.isDisjoint(with: [.isPointToPoint, .isCellular]) {
                flags.insert(.connectionOnTraffic)
            }
        }
        if traits.contains(.isNotDialled) { flags.formUnion([.connectionRequired, .connectionOnTraffic]) }
        return flags
    }

    private static func wayKind(
        _ type: RouteType,
        takesGateway: Bool,
        _ traits: InterfaceTraits
    ) -> ReachabilityReason.Kind {
        switch type {
        case .broadcast: .broadcast
        case .multicast: .multicast
        case _ where takesGateway: .gateway
        default: !traits.isPlain && traits.contains(.isPointToPoint) ? .pointToPoint : .onLink
        }
    }
}

extension Nexthop {
    /// An order that does not depend on how the kernel lists the legs: the lowest interface index, and on the
    /// same interface no gateway before any, then the lowest.
    fileprivate func isOrdered(before other: Nexthop) -> Bool {
        guard interfaceIndex == other.interfaceIndex else { return interfaceIndex < other.interfaceIndex }
        guard let gateway, let next = other.gateway else { return gateway == nil && other.gateway != nil }
        return gateway < next
    }
}

extension InterfaceTraits {
    /// Whether nothing is special about the interface, as is the rule.
    ///
    /// Compared as numbers: an option set of another module is compared by calls that are not inlined, a tenth
    /// of a question's cost.
    fileprivate var isPlain: Bool {
        rawValue & ~Self.isLocalNetwork.rawValue == 0
    }
}

extension ReachabilityFlags {
    /// How good an address is among several: 2 reachable now, 1 after a connection is made, 0 not at all.
    package var rank: Int {
        guard contains(.reachable) else { return 0 }
        return contains(.connectionRequired) ? 1 : 2
    }
}
