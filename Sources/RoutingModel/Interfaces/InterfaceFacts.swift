// SPDX-License-Identifier: Apache-2.0

/// All facts about one interface that the rules use, from all sources.
///
/// A copy costs one reference count, so that facts can be cached and returned on the fast path.
package struct InterfaceFacts: Hashable, Sendable {
    private struct Contents: Hashable, Sendable {
        var link: Link
        var lowers: [Link]
        var isCellularDevice: Bool
        var wirelessIndexes: Set<UInt32>
        var basis: [Link]
    }

    private let contents: Box<Contents>
    /// The index of the interface.
    package let index: UInt32
    /// The facts in the form that the rules read.
    package let traits: InterfaceTraits

    /// The interface itself.
    package var link: Link { contents.value.link }
    /// The name of the interface.
    package var name: String { contents.value.link.name }
    /// The interfaces below it in this namespace, from the nearest down.
    package var lowers: [Link] { contents.value.lowers }
    /// Whether sysfs reports the interface as a cellular modem (`DEVTYPE=wwan`).
    package var isCellularDevice: Bool { contents.value.isCellularDevice }
    /// The indexes of the interfaces that nl80211 lists as Wi-Fi; empty for ``QueryDetail/flags``.
    package var wirelessIndexes: Set<UInt32> { contents.value.wirelessIndexes }
    /// Whether the interface has the placeholder address pair that pppd sets before it dials for the first time.
    package var hasPlaceholderAddresses: Bool { traits.contains(.isNotDialled) }
    /// The interfaces from which this one gets its type: the ports of a bridge, a bond or a team, or the lowest
    /// interface below a layer; empty if it has a type of its own.
    ///
    /// For ``QueryDetail/flags``, the ports are not included.
    package var basis: [Link] { contents.value.basis }

    /// Collects facts.
    package init(
        link: Link,
        lowers: [Link] = [],
        ports: [Link] = [],
        isCellularDevice: Bool = false,
        wirelessIndexes: Set<UInt32> = [],
        hasPlaceholderAddresses: Bool = false
    ) {
        contents = Box(
            Contents(
                link: link,
                lowers: lowers,
                isCellularDevice: isCellularDevice,
                wirelessIndexes: wirelessIndexes,
                basis: link.basis(lowers: lowers, ports: ports)
            )
        )
        index = link.index
        traits = InterfaceTraits(
            of: link,
            above: lowers,
            isCellularDevice: isCellularDevice,
            hasPlaceholderAddresses: hasPlaceholderAddresses
        )
    }

    /// The nearest interface below that cannot send.
    package var blockedLower: Link? {
        lowers.firstBlocked
    }
}

extension Link {
    /// The interfaces from which this one gets its type: its ports, or the lowest interface below a layer.
    fileprivate func basis(lowers: [Link], ports: [Link]) -> [Link] {
        let traits = kindTraits
        return traits.contains(.hasPorts) ? ports : traits.contains(.isLayer) ? lowers.suffix(1) : []
    }

    var hasPorts: Bool { kindTraits.contains(.hasPorts) }

    /// Whether sysfs can report the interface as a cellular modem, although rtnetlink does not.
    package var mayBeModem: Bool {
        kind.isEmpty && !flags.contains(.loopback)
    }

    /// Whether nl80211 can report this interface, or an interface that it is stacked on, as Wi-Fi.
    var mayBeWireless: Bool {
        hardwareType == .ethernet && kindTraits.isDisjoint(with: [.isPairEnd, .leadsNowhere])
    }
}

// MARK: - Traits

/// The facts that the rules read, as a few bits.
///
/// Small enough to be stored and compared in a query that takes a microsecond. Inlined like ``NexthopFlags``, because
/// the rules read most of them for each answer.
@usableFromInline
package struct InterfaceTraits: OptionSet, Hashable, Sendable {
    @usableFromInline package let rawValue: UInt32

    @inlinable
    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Set down by the administrator.
    package static let isDown = InterfaceTraits(rawValue: 1 << 0)
    /// Up, but without a carrier, or in an operational state in which no packets pass.
    package static let hasNoCarrier = InterfaceTraits(rawValue: 1 << 1)
    /// An interface below is down.
    package static let lowerIsDown = InterfaceTraits(rawValue: 1 << 2)
    /// An interface below has no carrier.
    package static let lowerHasNoCarrier = InterfaceTraits(rawValue: 1 << 3)
    /// Waits for an external event.
    package static let isDormant = InterfaceTraits(rawValue: 1 << 4)
    /// The link has one peer at the other end: dial-up links and tunnels.
    package static let isPointToPoint = InterfaceTraits(rawValue: 1 << 5)
    /// A cellular modem.
    package static let isCellular = InterfaceTraits(rawValue: 1 << 6)
    /// A dial-on-demand link that has not dialled yet.
    package static let isNotDialled = InterfaceTraits(rawValue: 1 << 7)
    /// A link to neighbours, wired or Wi-Fi.
    package static let isLocalNetwork = InterfaceTraits(rawValue: 1 << 8)
    /// Sends its packets inside other packets.
    package static let isTunnel = InterfaceTraits(rawValue: 1 << 9)
    /// A tunnel whose outer packets cannot leave now.
    ///
    /// Added from the route of the outer packets.
    package static let isNotCarried = InterfaceTraits(rawValue: 1 << 10)
    /// Like ``isNotCarried``, until traffic makes the connection.
    package static let isCarriedOnTraffic = InterfaceTraits(rawValue: 1 << 11)
    /// Drops IPv4 packets.
    package static let dropsIPv4 = InterfaceTraits(rawValue: 1 << 12)
    /// Drops IPv6 packets.
    package static let dropsIPv6 = InterfaceTraits(rawValue: 1 << 13)
    /// Drops packets behind labels (MPLS).
    package static let dropsLabels = InterfaceTraits(rawValue: 1 << 14)
    /// WireGuard without a peer for the packets.
    ///
    /// Added from the interface's peers.
    package static let hasNoPeer = InterfaceTraits(rawValue: 1 << 15)
    /// The loopback interface.
    package static let isLoopback = InterfaceTraits(rawValue: 1 << 16)
}

extension InterfaceTraits {
    /// Derives the traits from the facts.
    ///
    /// All lower layers count, because some drivers leave the upper interface "up" when a lower one goes down.
    init(of link: Link, above lowers: [Link], isCellularDevice: Bool, hasPlaceholderAddresses: Bool) {
        var traits = link.blocker
        if traits.isEmpty, let lower = lowers.firstBlocked {
            traits.insert(lower.blocker == .isDown ? .lowerIsDown : .lowerHasNoCarrier)
        }
        if link.operationalState == .dormant { traits.insert(.isDormant) }
        if link.isPointToPoint { traits.insert(.isPointToPoint) }
        if link.isCellularKind || isCellularDevice { traits.insert(.isCellular) }
        if hasPlaceholderAddresses { traits.insert(.isNotDialled) }
        if link.isTunnel {
            traits.insert(.isTunnel)
            let payloads = link.payloads
            if !payloads.contains(.ipv4) { traits.insert(.dropsIPv4) }
            if !payloads.contains(.ipv6) { traits.insert(.dropsIPv6) }
            if !payloads.contains(.labels) { traits.insert(.dropsLabels) }
        }
        if link.flags.contains(.loopback) { traits.insert(.isLoopback) }
        let isEthernetThroughout = link.isPlainEthernet && lowers.allSatisfy(\.isPlainEthernet)
        if isEthernetThroughout, traits.isDisjoint(with: [.isPointToPoint, .isCellular]) {
            traits.insert(.isLocalNetwork)
        }
        self = traits
    }
}

extension Link {
    /// Why the interface cannot send: at most one trait.
    ///
    /// IFF_RUNNING is ignored, because it lags behind and the operational state is more precise.
    fileprivate var blocker: InterfaceTraits {
        guard flags.contains(.up) else { return .isDown }
        return hasCarrier ? [] : .hasNoCarrier
    }

    /// Whether the interface can send and receive, as far as it alone decides that.
    package var canSend: Bool { blocker.isEmpty }

    /// Whether packets pass while the interface is up: it has a carrier, and its operational state is not a down
    /// state.
    package var hasCarrier: Bool {
        flags.contains(.lowerUp) && carrier != false && !operationalState.isDown
    }

    /// Whether the interface has exactly one peer at its other end.
    package var isPointToPoint: Bool {
        if flags.contains(.pointToPoint) { return true }
        switch hardwareType {
        case .ppp, .slip, .tunnel, .tunnel6, .sit, .gre, .gre6, .none, .rawIP: return true
        default: return kindTraits.contains(.isPointToPoint)
        }
    }

    /// Whether the interface is Ethernet, or presents itself as Ethernet, and is not a modem.
    fileprivate var isPlainEthernet: Bool {
        hardwareType == .ethernet && !flags.contains(.loopback) && !isCellularKind
    }
}

extension [Link] {
    /// The nearest interface that cannot send, from the nearest down.
    fileprivate var firstBlocked: Link? { first { !$0.canSend } }
}

extension OperationalState {
    /// Whether packets cannot pass.
    ///
    /// Unknown counts as up, because many drivers never report another state (RFC 2863).
    fileprivate var isDown: Bool {
        switch self {
        case .down, .lowerLayerDown, .notPresent, .testing: true
        default: false
        }
    }
}

/// The facts about an interface, and their detail.
package struct InterfaceReading: Sendable {
    package let facts: InterfaceFacts
    private let detail: QueryDetail

    /// Wraps facts that were queried with a detail.
    package init(_ facts: InterfaceFacts, _ detail: QueryDetail) {
        self.facts = facts
        self.detail = detail
    }

    /// Whether the facts contain the detail that another query needs.
    package func suffices(for wanted: QueryDetail) -> Bool {
        wanted == .flags || detail != .flags
    }
}

// MARK: - Sources of facts

/// The tables from which facts about interfaces are derived.
///
/// The live kernel and snapshots conform to it. ``gatherFacts(about:isCellularDevice:detail:)`` derives everything
/// else in one place.
package protocol LinkDirectory {
    /// Returns an interface; `nil` if no interface has that index.
    func link(_ index: UInt32) throws(ReachabilityError) -> Link?
    /// Lists every interface.
    func links() throws(ReachabilityError) -> [Link]
    /// The indices of the interfaces that nl80211 lists as Wi-Fi; empty if they are not known.
    var wirelessIndexes: Set<UInt32> { get }
    /// The IPv4 addresses of an interface.
    func ipv4Addresses(ofInterface index: UInt32) throws(ReachabilityError) -> [InterfaceAddress]
}

extension LinkDirectory {
    /// Gathers the facts about an interface.
    ///
    /// - Parameters:
    ///   - link: The interface.
    ///   - isCellularDevice: Whether sysfs reports the interface as a cellular modem.
    ///   - detail: How much to find out.
    /// - Returns: The facts.
    /// - Throws: An error if a table cannot be read.
    package func gatherFacts(
        about link: Link,
        isCellularDevice: Bool,
        detail: QueryDetail
    ) throws(ReachabilityError) -> InterfaceFacts {
        let mayHaveType = detail != .flags && link.mayBeWireless
        return InterfaceFacts(
            link: link,
            lowers: try lowers(of: link),
            ports: mayHaveType && link.hasPorts ? try ports(of: link) : [],
            isCellularDevice: isCellularDevice && link.mayBeModem,
            wirelessIndexes: mayHaveType ? wirelessIndexes : [],
            hasPlaceholderAddresses: link.hardwareType == .ppp
                ? try ipv4Addresses(ofInterface: link.index).contains(where: \.isDialPlaceholder) : false
        )
    }

    /// Lists the lower interfaces along IFLA_LINK.
    ///
    /// Real stacks have few layers (MAX_NEST_DEV). The limit ends the walk if there is a loop.
    package func lowers(of link: Link) throws(ReachabilityError) -> [Link] {
        var lowers: [Link] = []
        var next = link.lowerHere
        while let index = next, lowers.count < 16, let lower = try self.link(index) {
            lowers.append(lower)
            next = lower.lowerHere
        }
        return lowers
    }

    /// The ports of this interface, by index.
    private func ports(of link: Link) throws(ReachabilityError) -> [Link] {
        try links().filter { $0.master == link.index }.sorted { $0.index < $1.index }
    }
}
