// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// Which local addresses bind(2) takes.
extension QuestionPlanner {
    /// Whether bind(2) takes a local address.
    ///
    /// IPv4 also takes what the local table holds, such as all of 127.0.0.0/8; a socket in a VRF takes what the table
    /// of the VRF holds, and nothing else.
    ///
    /// - Parameters:
    ///   - end: The local address.
    ///   - entry: What the tables have for an IPv4 address; `nil` for an IPv6 address.
    /// - Returns: Whether it takes it.
    /// - Throws: An error if the kernel does not answer.
    mutating func takes(_ end: LocalEnd, _ entry: RoutingResult?) throws(ReachabilityError) -> Bool {
        let domain = if let bound = end.interfaceIndex { try vrf(ofInterface: bound) } else { UInt32?.none }
        if let entry {
            let isInLocalTable = try entry.get().type == .local
            if isInLocalTable, domain == nil { return true }
            // A question in a VRF finds the local table, too.
            if !isInLocalTable, let bound = end.interfaceIndex {
                let query = RouteQuery(destination: end.address, outputInterface: bound)
                if try host.isDelivered(query) { return true }
            }
        }
        return try isAssigned(end, domain: domain)
    }

    /// Whether packets to an IPv6 address that no interface has are delivered to this host, by a `local` route that a
    /// program added: an accepted socket can have such an address, although bind(2) does not take it.
    mutating func isDelivered(_ end: LocalEnd) throws(ReachabilityError) -> Bool {
        let addresses = try host.addresses()
        guard end.address.family == .v6, !addresses.contains(where: { $0.address.withoutZone == end.address })
        else { return false }
        return try host.isDelivered(
            RouteQuery(destination: end.address, outputInterface: end.interfaceIndex ?? 0))
    }

    /// Whether an interface of a VRF, or of none, has an address: `ipv6_chk_addr`.
    private mutating func isAssigned(_ end: LocalEnd, domain: UInt32?) throws(ReachabilityError) -> Bool {
        for address in try host.addresses()
        where address.address.withoutZone == end.address && address.isAssigned {
            // Link-local addresses and ::1 belong to one interface.
            let isOnOneInterface = end.address.isLinkLocal || end.address.isLoopback
            if isOnOneInterface, let bound = end.interfaceIndex, bound != address.interfaceIndex { continue }
            if try vrf(ofInterface: address.interfaceIndex) == domain { return true }
        }
        return false
    }

    /// The VRF that an interface is, or belongs to; `nil` for none.
    func vrf(ofInterface index: UInt32) throws(ReachabilityError) -> UInt32? {
        guard let link = try facts.link(index) else { return nil }
        if link.isVRF { return index }
        guard let master = link.master else { return nil }
        return try facts.link(master)?.isVRF == true ? master : nil
    }
}
