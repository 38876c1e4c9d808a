// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// What a round finds out about the host besides its questions, each once: addresses, interfaces, and name servers.
///
/// Few rounds need any of it, so the planner makes this for the first question that does.
final class HostListing {
    private let facts: NetworkFacts
    private var allAddresses: Result<[InterfaceAddress], ReachabilityError>?
    private var allLinks: Result<[Link], ReachabilityError>?
    private var allNameservers: [IPAddress]??

    init(_ facts: NetworkFacts) {
        self.facts = facts
    }

    // MARK: Lists

    /// The addresses of the host.
    func addresses() throws(ReachabilityError) -> [InterfaceAddress] {
        try Self.once(&allAddresses) { () throws(ReachabilityError) in try facts.routing.addresses() }
    }

    /// The interfaces of the host.
    func links() throws(ReachabilityError) -> [Link] {
        try Self.once(&allLinks) { () throws(ReachabilityError) in try facts.routing.links() }
    }

    /// The name servers; `nil` if none are known.
    func nameservers() -> [IPAddress]? {
        if let allNameservers { return allNameservers }
        let found = facts.nameservers()
        allNameservers = .some(found)
        return found
    }

    private static func once<Value>(
        _ known: inout Result<Value, ReachabilityError>?,
        _ find: () throws(ReachabilityError) -> Value
    ) throws(ReachabilityError) -> Value {
        let result = known ?? Result(catching: find)
        known = result
        return try result.get()
    }

    // MARK: Local addresses

    /// Whether bind(2) takes a local address.
    ///
    /// IPv4 also takes what the local table holds, such as all of 127.0.0.0/8; a socket in a VRF takes what the table
    /// of the VRF holds, and nothing else.
    ///
    /// - Parameters:
    ///   - end: The local address.
    ///   - entry: What the tables have for an IPv4 address; `nil` for an IPv6 address.
    func takes(_ end: LocalEnd, _ entry: RoutingResult?) throws(ReachabilityError) -> Bool {
        let domain = if let bound = end.interfaceIndex { try vrf(ofInterface: bound) } else { UInt32?.none }
        if let entry {
            let isInLocalTable = try entry.get().type == .local
            if isInLocalTable, domain == nil { return true }
            // A question in a VRF finds the local table, too.
            if !isInLocalTable, let bound = end.interfaceIndex {
                let query = RouteQuery(destination: end.address, outputInterface: bound)
                if try facts.routing.answer(to: query).type == .local { return true }
            }
        }
        return try isAssigned(end, domain: domain)
    }

    /// Whether an interface of a VRF, or of none, has an address: `ipv6_chk_addr`.
    private func isAssigned(_ end: LocalEnd, domain: UInt32?) throws(ReachabilityError) -> Bool {
        for address in try addresses()
        where address.address.withoutZone == end.address && address.isAssigned {
            // Link-local addresses and ::1 belong to one interface.
            let isOnOneInterface = end.address.isLinkLocal || end.address.isLoopback
            if isOnOneInterface, let bound = end.interfaceIndex, bound != address.interfaceIndex { continue }
            if try vrf(ofInterface: address.interfaceIndex) == domain { return true }
        }
        return false
    }

    private func vrf(ofInterface index: UInt32) throws(ReachabilityError) -> UInt32? {
        guard let link = try facts.link(index) else { return nil }
        if link.isVRF { return index }
        guard let master = link.master else { return nil }
        return try facts.link(master)?.isVRF == true ? master : nil
    }
}

extension NetworkFacts {
    /// The interface with an index; `nil` when there is none.
    func link(_ index: UInt32) throws(ReachabilityError) -> Link? {
        try routing.facts(aboutInterface: index, detail: .flags)?.link
    }
}
