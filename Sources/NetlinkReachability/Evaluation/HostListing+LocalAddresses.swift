// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// Which local addresses a socket can have.
extension HostListing {
    /// Why a socket cannot have a local address; `nil` if it can: queries accept foreign IPv6 sources silently.
    ///
    /// - Parameters:
    ///   - end: The local address.
    ///   - entry: What the tables have for an IPv4 address; `nil` for an IPv6 address.
    ///   - query: The packet, which shows what bind(2) takes beyond the addresses of the host.
    ///   - isConnected: Whether the socket is connected: it has the address already.
    /// - Returns: The refusal.
    /// - Throws: An error if the kernel does not answer.
    func refusal(
        of end: LocalEnd,
        _ entry: RoutingResult?,
        _ query: RouteQuery,
        isConnected: Bool
    ) throws(ReachabilityError) -> ReachabilityReason? {
        if try takes(end, entry) { return nil }
        if isConnected {
            if try isDelivered(end) { return nil }
        } else if try entry?.get().type?.isOfGroup != true, try isTaken(query) {
            // bind(2) takes a broadcast address too, and the kernel then selects another one.
            return nil
        }
        return ReachabilityReason(.notOwnAddress, end.given.description, other: try state(of: end))
    }

    /// Whether bind(2) takes a local address without further settings.
    ///
    /// IPv4 also takes what the local table holds, such as all of 127.0.0.0/8; a socket in a VRF takes what the table
    /// of the VRF holds, and nothing else.
    private func takes(_ end: LocalEnd, _ entry: RoutingResult?) throws(ReachabilityError) -> Bool {
        let domain = if let bound = end.interfaceIndex { try vrf(ofInterface: bound) } else { UInt32?.none }
        if let entry {
            let isInLocalTable = try entry.get().type == .local
            if isInLocalTable, domain == nil { return true }
            // A query in a VRF finds the local table, too.
            if !isInLocalTable, let bound = end.interfaceIndex {
                let query = RouteQuery(destination: end.address, outputInterface: bound)
                if try isDelivered(query) { return true }
            }
        }
        return try isAssigned(end, domain: domain)
    }

    /// Whether a socket of this kernel connects from a foreign address, as with the setting `ip_nonlocal_bind`.
    private func isTaken(_ query: RouteQuery) throws(ReachabilityError) -> Bool {
        if case .connects? = try facts.routing.connect(query) { true } else { false }
    }

    /// Whether packets to an IPv6 address that no interface has are delivered to this host, by a `local` route that a
    /// program added: an accepted socket can have such an address, although bind(2) does not take it.
    private func isDelivered(_ end: LocalEnd) throws(ReachabilityError) -> Bool {
        guard end.address.family == .v6, try owners(of: end).isEmpty else { return false }
        return try isDelivered(RouteQuery(destination: end.address, outputInterface: end.interfaceIndex ?? 0))
    }

    /// Whether an interface of a VRF, or of none, has an address: `ipv6_chk_addr`.
    private func isAssigned(_ end: LocalEnd, domain: UInt32?) throws(ReachabilityError) -> Bool {
        for address in try owners(of: end) where address.isAssigned && end.isOn(address.interfaceIndex) {
            if try vrf(ofInterface: address.interfaceIndex) == domain { return true }
        }
        return false
    }

    /// The entries of the list of addresses that have a local address.
    private func owners(of end: LocalEnd) throws(ReachabilityError) -> [InterfaceAddress] {
        try addresses().filter { $0.address.withoutZone == end.address }
    }

    /// Why an address of the host cannot be that of the socket, in words; empty for a foreign address.
    private func state(of end: LocalEnd) throws(ReachabilityError) -> String {
        let owners = try owners(of: end)
        guard let owner = owners.first(where: { end.isOn($0.interfaceIndex) }) ?? owners.first else {
            return ""
        }
        if let state = owner.detection { return state }
        let name = try link(owner.interfaceIndex)?.name ?? "another interface"
        return "belongs to \(name)"
    }

    /// Finds the address that would be the source of IPv6 packets but for duplicate address detection.
    ///
    /// - Parameters:
    ///   - destination: Where the packets go.
    ///   - index: The interface that they leave through; `nil` for any.
    /// - Returns: The address and its state, in words; empty for none, and where the addresses were not listed.
    func pendingSource(of destination: IPAddress, through index: UInt32?) -> String {
        let pending = listedAddresses.filter { own in
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
