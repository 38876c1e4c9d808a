// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// A local address, and the interface that its socket is bound to.
struct LocalEnd {
    /// The address as it was given, with its zone.
    let given: IPAddress
    var interfaceIndex: UInt32?

    var address: IPAddress { given.withoutZone }
}

/// An interface that a socket is bound to.
struct BoundInterface {
    let index: UInt32
    /// The name as the caller gave it, which can be an alternative one.
    let name: String
    /// Whether packets to loopback addresses leave through it: those of the loopback interface, and of one with
    /// `route_localnet`.
    let takesLoopback: Bool

    fileprivate init(_ index: UInt32, _ name: String, _ link: Link?) {
        (self.index, self.name) = (index, name)
        takesLoopback = link?.flags.contains(.loopback) == true || link?.settings.routesLoopback == true
    }
}

extension Known {
    /// Finds an interface that a caller names.
    ///
    /// - Returns: The interface; `nil` if there is none.
    mutating func interface(
        _ reference: InterfaceReference,
        of destination: IPAddress
    ) throws(Interruption) -> BoundInterface? {
        if let name = reference.name, let index = try hostByName.indices.get(name) {
            // Only the loopback addresses need to know.
            return BoundInterface(index, name, destination.isLoopback ? try link(index) : nil)
        }
        // One that is missing can appear.
        reading.host.insert(.names)
        guard let index = reference.index, let link = try link(index) else { return nil }
        return BoundInterface(index, link.name, link)
    }

    /// The interface with an index; `nil` when there is none.
    mutating func link(_ index: UInt32) throws(Interruption) -> Link? {
        try interfaces.facts(aboutInterface: index, .flags)?.link
    }

    /// The VRF that an interface is, or belongs to; `nil` for none.
    mutating func vrf(ofInterface index: UInt32) throws(Interruption) -> UInt32? {
        guard let link = try link(index) else { return nil }
        if link.isVRF { return index }
        guard let master = link.master else { return nil }
        return try self.link(master)?.isVRF == true ? master : nil
    }

    /// The source addresses that the kernel can select for a packet that a route puts around others with a routing
    /// header: it does so by the interface of that route, before it looks up (`set_tun_src`).
    ///
    /// What it cannot know: an address that `ip sr tunsrc` has set.
    mutating func outerSources(
        for destination: IPAddress,
        through answer: RouteAnswer
    ) throws(Interruption) -> [IPAddress] {
        var sources: [IPAddress] = []
        for index in Set(answer.nexthops.map(\.interfaceIndex)).sorted() {
            let domain = try vrf(ofInterface: index)
            var addresses: [InterfaceAddress] = []
            for address in try host.addresses.get() where address.address.family == .v6 {
                if try vrf(ofInterface: address.interfaceIndex) == domain { addresses.append(address) }
            }
            let found = SourceAddressSelection.candidates(
                for: destination, among: addresses, outgoingInterface: index)
            sources += found.filter { !sources.contains($0) }
        }
        return sources
    }
}

// Which local addresses a socket can have.
extension Known {
    /// Why a socket cannot have a local address; `nil` if it can: queries accept foreign IPv6 sources silently.
    ///
    /// - Parameters:
    ///   - end: The local address.
    ///   - entry: What the tables have for an IPv4 address; `nil` for an IPv6 address.
    ///   - query: The packet, which shows what bind(2) takes beyond the addresses of the host.
    ///   - isConnected: Whether the socket is connected: it has the address already.
    /// - Returns: The refusal.
    /// - Throws: An ``Interruption`` if it needs more, or the kernel does not answer.
    mutating func refusal(
        of end: LocalEnd,
        _ entry: RoutingResult?,
        _ query: RouteQuery,
        isConnected: Bool
    ) throws(Interruption) -> ReachabilityReason? {
        if try takes(end, entry) { return nil }
        if isConnected {
            if try isDelivered(end) { return nil }
        } else if try entry.map({ (entry) throws(Interruption) in try value(of: entry).type?.isOfGroup })
            != true,
            case .connects? = try unnotified.connections.get(query)
        {
            // The kernel of the socket connects from a foreign address, as with the setting `ip_nonlocal_bind`. bind(2)
            // takes a broadcast address too, and the kernel then selects another one.
            return nil
        }
        return ReachabilityReason(.notOwnAddress, end.given.description, other: try state(of: end))
    }

    /// Whether bind(2) takes a local address without further settings.
    ///
    /// IPv4 also takes what the local table holds, such as all of 127.0.0.0/8; a socket in a VRF takes what the table
    /// of the VRF holds, and nothing else.
    private mutating func takes(_ end: LocalEnd, _ entry: RoutingResult?) throws(Interruption) -> Bool {
        let domain = if let bound = end.interfaceIndex { try vrf(ofInterface: bound) } else { UInt32?.none }
        if let entry {
            let isInLocalTable = try value(of: entry).type == .local
            if isInLocalTable, domain == nil { return true }
            // A query in a VRF finds the local table, too.
            if !isInLocalTable, let bound = end.interfaceIndex {
                let query = RouteQuery(destination: end.address, outputInterface: bound)
                if try isDelivered(query) { return true }
            }
        }
        return try isAssigned(end, domain: domain)
    }

    /// Whether packets to an IPv6 address that no interface has are delivered to this host, by a `local` route that a
    /// program added: an accepted socket can have such an address, although bind(2) does not take it.
    private mutating func isDelivered(_ end: LocalEnd) throws(Interruption) -> Bool {
        guard end.address.family == .v6, try owners(of: end).isEmpty else { return false }
        return try isDelivered(RouteQuery(destination: end.address, outputInterface: end.interfaceIndex ?? 0))
    }

    /// Whether an interface of a VRF, or of none, has an address: `ipv6_chk_addr`.
    private mutating func isAssigned(_ end: LocalEnd, domain: UInt32?) throws(Interruption) -> Bool {
        for address in try owners(of: end) where address.isAssigned && end.isOn(address.interfaceIndex) {
            if try vrf(ofInterface: address.interfaceIndex) == domain { return true }
        }
        return false
    }

    /// The entries of the list of addresses that have a local address.
    private mutating func owners(of end: LocalEnd) throws(Interruption) -> [InterfaceAddress] {
        try host.addresses.get().filter { $0.address.withoutZone == end.address }
    }

    /// Why an address of the host cannot be that of the socket, in words; empty for a foreign address.
    private mutating func state(of end: LocalEnd) throws(Interruption) -> String {
        let owners = try owners(of: end)
        guard let owner = owners.first(where: { end.isOn($0.interfaceIndex) }) ?? owners.first else {
            return ""
        }
        if let state = owner.detection { return state }
        let name = try link(owner.interfaceIndex)?.name ?? "another interface"
        return "belongs to \(name)"
    }

    /// Finds the address that would become the source of IPv6 packets once duplicate address detection ends.
    ///
    /// - Parameters:
    ///   - destination: Where the packets go.
    ///   - index: The interface that they leave through; `nil` for any.
    /// - Returns: The address and its state, in words; empty for none, and where the addresses cannot be listed.
    /// - Throws: ``Interruption/missing`` as long as the addresses are missing.
    mutating func pendingSource(
        of destination: IPAddress,
        through index: UInt32?
    ) throws(Interruption) -> String {
        guard destination.family == .v6 else { return "" }
        guard let addresses = host.addresses.find() else { throw .missing }
        let pending = (addresses.answer ?? []).filter { own in
            own.address.family == .v6 && own.detection != nil
                && index.map { $0 == own.interfaceIndex } ?? true
                && (destination.isLinkScoped || !own.address.isLinkLocal)
        }
        let one = pending.first { !$0.flags.contains(.dadFailed) } ?? pending.first
        return one.map { "\($0.address.withoutZone) \($0.detection ?? "")" } ?? ""
    }
}

extension InterfaceAddress {
    /// What keeps an IPv6 address from being a source, in words; `nil` for nothing.
    fileprivate var detection: String? {
        if flags.contains(.dadFailed) { return "failed duplicate address detection" }
        return isAssigned ? nil : "is tentative until duplicate address detection ends"
    }
}

extension LocalEnd {
    /// Whether the address of an interface can be this one: link-local addresses and ::1 belong to one interface.
    fileprivate func isOn(_ index: UInt32) -> Bool {
        guard address.isLinkLocal || address.isLoopback, let bound = interfaceIndex else { return true }
        return bound == index
    }
}
