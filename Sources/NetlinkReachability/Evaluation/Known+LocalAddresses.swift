// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import RoutingModel

/// A local address, and the interface that its socket is bound to.
struct LocalEnd {
    /// The address as the caller gave it, with its zone.
    let given: IPAddress
    var interfaceIndex: UInt32?
    /// Whether bind(2) has yet to take the address: not for a tunnel or a connected socket, which have it.
    let isBinding: Bool

    var address: IPAddress { given.withoutZone }
}

/// An interface that a socket is bound to.
struct BoundInterface {
    let index: UInt32
    /// The name as the caller gave it, which can be an alternative name.
    let name: String
}

extension Known {
    /// Finds the interface that a caller refers to.
    ///
    /// - Returns: The interface; `nil` if it does not exist.
    mutating func interface(
        _ reference: InterfaceReference
    ) throws(Interruption) -> BoundInterface? {
        if let name = reference.name, let index = try hostByName.indices.get(name) {
            return BoundInterface(index: index, name: name)
        }
        // An interface that does not exist can still appear.
        reading.host.insert(.names)
        guard let index = reference.index, let link = try link(index) else { return nil }
        return BoundInterface(index: index, name: link.name)
    }

    /// Finds an interface that a caller names, and without which there is no answer.
    mutating func interface(
        _ reference: InterfaceReference,
        neededTo operation: String
    ) throws(Interruption) -> BoundInterface {
        guard let found = try interface(reference) else {
            throw .failed(
                ReachabilityError(
                    operation: operation, number: ENODEV, message: reference.absence.description))
        }
        return found
    }

    /// Whether packets to loopback addresses can leave through an interface: the loopback interface, or one with
    /// `route_localnet`, its own or that of all interfaces.
    mutating func takesLoopback(_ interface: BoundInterface) throws(Interruption) -> Bool {
        guard let link = try link(interface.index) else { return false }
        if link.flags.contains(.loopback) || link.settings.routesLoopback == true { return true }
        return try unnotified.inputSettings.get(link.index)?.routesLoopback == true
    }

    mutating func link(_ index: UInt32) throws(Interruption) -> Link? {
        try interfaces.facts(aboutInterface: index, .flags)?.link
    }

    /// The VRF that an interface is, or is a port of; `nil` for none.
    mutating func vrf(ofInterface index: UInt32) throws(Interruption) -> UInt32? {
        guard let link = try link(index) else { return nil }
        if link.isVRF { return index }
        guard let master = link.master else { return nil }
        return try self.link(master)?.isVRF == true ? master : nil
    }

    /// The source addresses that the kernel can select for an outer packet with a routing header.
    ///
    /// It selects one on the inner route's interface before it looks up the outer route (`set_tun_src`).
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
                for: destination, among: addresses, outgoingInterface: index,
                onInterfaceAlone: try link(index)?.settings.ipv6SelectsOnInterface == true)
            sources += found.filter { !sources.contains($0) }
        }
        return sources
    }
}

// The local addresses that a socket can have.
extension Known {
    /// Why a socket cannot have a local address; `nil` if it can.
    ///
    /// Needed because queries do not check IPv6 sources.
    ///
    /// - Parameters:
    ///   - end: The local address.
    ///   - entry: The routing result for an IPv4 address; `nil` for an IPv6 address.
    ///   - query: The packet, which shows which addresses bind(2) accepts beyond those of the host.
    ///   - isConnected: Whether the socket is connected, so that it has the address already.
    /// - Returns: The refusal.
    /// - Throws: An ``Interruption`` if a fact is missing, or if the kernel does not answer.
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
            // The kernel lets such a socket send from a foreign address, as with the setting `ip_nonlocal_bind`.
            // bind(2) also accepts a broadcast address, and the kernel then selects another source.
            return nil
        }
        return ReachabilityReason(.notOwnAddress, end.given.description, other: try state(of: end))
    }

    /// Whether bind(2) accepts a local address without further settings.
    ///
    /// IPv4 also accepts the addresses in the local table, such as all of 127.0.0.0/8. A socket in a VRF accepts only
    /// the addresses in the table of the VRF.
    private mutating func takes(_ end: LocalEnd, _ entry: RoutingResult?) throws(Interruption) -> Bool {
        let domain = try domain(of: end)
        if let entry {
            let isInLocalTable = try value(of: entry).type == .local
            if isInLocalTable, domain == nil { return true }
            // A query in a VRF also finds entries of the local table.
            if !isInLocalTable, let bound = end.interfaceIndex {
                let query = RouteQuery(destination: end.address, outputInterface: bound)
                if try isDelivered(query) { return true }
            }
        }
        guard try isAssigned(end, domain: domain) else { return false }
        guard entry != nil, domain == nil, end.isBinding else { return true }
        // A rule leads queries past the local table, at which bind(2) looks alone (`inet_addr_type_table`).
        let query = TableQuery(table: Route.localTable, address: end.address)
        return try host.routes.get(query).contains { $0.type == .local }
    }

    /// The VRF in which bind(2) looks for a local address; `nil` for none.
    private mutating func domain(of end: LocalEnd) throws(Interruption) -> UInt32? {
        guard let bound = end.interfaceIndex else { return nil }
        return try vrf(ofInterface: bound)
    }

    /// Whether a `local` route that a program added delivers packets to an IPv6 address that no interface has; an
    /// accepted socket can have such an address, although bind(2) does not accept it.
    private mutating func isDelivered(_ end: LocalEnd) throws(Interruption) -> Bool {
        guard end.address.family == .v6, try owners(of: end).isEmpty else { return false }
        return try isDelivered(RouteQuery(destination: end.address, outputInterface: end.interfaceIndex ?? 0))
    }

    /// Whether an interface in a VRF, or in none, has an address: `ipv6_chk_addr`.
    private mutating func isAssigned(_ end: LocalEnd, domain: UInt32?) throws(Interruption) -> Bool {
        for address in try owners(of: end) where address.isAssigned && end.isOn(address.interfaceIndex) {
            if try vrf(ofInterface: address.interfaceIndex) == domain { return true }
        }
        return false
    }

    /// The interface addresses that are equal to a local address.
    private mutating func owners(of end: LocalEnd) throws(Interruption) -> [InterfaceAddress] {
        try host.addresses.get().filter { $0.address.withoutZone == end.address }
    }

    /// Why the socket cannot use an address of the host, in words; empty for a foreign address.
    private mutating func state(of end: LocalEnd) throws(Interruption) -> String {
        let owners = try owners(of: end)
        guard let owner = owners.first(where: { end.isOn($0.interfaceIndex) }) ?? owners.first else {
            return ""
        }
        if let state = owner.detection { return state }
        if end.address.family == .v4, try domain(of: end) == vrf(ofInterface: owner.interfaceIndex) {
            return "has no route in the local table"
        }
        let name = try link(owner.interfaceIndex)?.name ?? "another interface"
        return "belongs to \(name)"
    }

    /// Finds the address that would become the source of IPv6 packets once duplicate address detection ends.
    ///
    /// - Parameters:
    ///   - destination: The destination of the packets.
    ///   - index: The interface through which the packets leave; `nil` for any.
    /// - Returns: The address and its state, in words; empty if there is none, or if addresses cannot be listed.
    /// - Throws: ``Interruption/missing`` while the addresses are not known.
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
    /// Why an IPv6 address cannot be a source, in words; `nil` if it can.
    fileprivate var detection: String? {
        if flags.contains(.dadFailed) { return "failed duplicate address detection" }
        return isAssigned ? nil : "is tentative until duplicate address detection ends"
    }
}

extension LocalEnd {
    /// Whether the address of an interface can be this one.
    ///
    /// Link-local addresses and ::1 belong to one interface.
    fileprivate func isOn(_ index: UInt32) -> Bool {
        guard address.isLinkLocal || address.isLoopback, let bound = interfaceIndex else { return true }
        return bound == index
    }
}
