// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// What a batch finds out about the host besides routes, each once: addresses, interfaces, and name servers.
///
/// Few batches need any of it, and nothing is asked before it is needed.
final class HostListing {
    let facts: NetworkFacts
    private var allAddresses: Result<[InterfaceAddress], ReachabilityError>?
    private var allLinks: Result<[Link], ReachabilityError>?
    private var allRules: Result<[Rule], ReachabilityError>?
    private var allPeers: [IPAddress]?
    private var wireGuards: [UInt32: Result<WireGuardPeers?, ReachabilityError>] = [:]
    private var delivered: [RouteQuery: Bool] = [:]
    private var allNameservers: [IPAddress]??

    init(_ facts: NetworkFacts) {
        self.facts = facts
    }

    /// The addresses of the host.
    func addresses() throws(ReachabilityError) -> [InterfaceAddress] {
        try Self.once(&allAddresses) { () throws(ReachabilityError) in try facts.routing.addresses() }
    }

    /// The addresses of the host, if they were asked for; none otherwise.
    var listedAddresses: [InterfaceAddress] { (try? allAddresses?.get()) ?? [] }

    /// The interfaces of the host.
    func links() throws(ReachabilityError) -> [Link] {
        try Self.once(&allLinks) { () throws(ReachabilityError) in try facts.routing.links() }
    }

    /// The policy rules of both families.
    func rules() throws(ReachabilityError) -> [Rule] {
        try Self.once(&allRules) { () throws(ReachabilityError) in try facts.routing.rules() }
    }

    /// Whether some packets of a tunnel can leave in another way than by its ends.
    ///
    /// The forwarding table of a vxlan, which learns, has ends for each address of the link inside. If it cannot be
    /// listed, it can have others.
    func leadsElsewhere(_ tunnel: Link, than ends: TunnelEnds) -> Bool {
        guard tunnel.kind == "vxlan" else { return false }
        guard let others = try? facts.routing.forwardingEnds(ofInterface: tunnel.index) else { return true }
        return others.contains { other in
            (ends.remote != nil && other.remote != ends.remote)
                || (other.link != 0 && other.link != ends.link)
        }
    }

    /// The source addresses that the kernel can select for a packet that a route puts around others with a routing
    /// header: it does so by the interface of that route, before it looks up (`set_tun_src`).
    ///
    /// What it cannot know: an address that `ip sr tunsrc` has set.
    func outerSources(
        for destination: IPAddress, through answer: RouteAnswer
    ) throws(ReachabilityError) -> [IPAddress] {
        var sources: [IPAddress] = []
        for index in Set(answer.nexthops.map(\.interfaceIndex)).sorted() {
            let domain = try vrf(ofInterface: index)
            var addresses: [InterfaceAddress] = []
            for address in try self.addresses() where address.address.family == .v6 {
                if try vrf(ofInterface: address.interfaceIndex) == domain { addresses.append(address) }
            }
            let found = SourceAddressSelection.candidates(
                for: destination, among: addresses, outgoingInterface: index)
            sources += found.filter { !sources.contains($0) }
        }
        return sources
    }

    /// Where a tunnel sends packets to a destination, if that decides; `nil` for a tunnel with ends of its own, and
    /// where its peers are not known.
    func peerExit(
        of tunnel: Link, to destination: IPAddress
    ) throws(ReachabilityError) -> WireGuardPeers.Exit? {
        guard tunnel.kind == "wireguard" else { return nil }
        return try Self.once(&wireGuards[tunnel.index]) { () throws(ReachabilityError) in
            try facts.routing.wireGuardPeers(ofInterface: tunnel.index)
        }?.exit(to: destination)
    }

    /// The remote addresses of connected sockets; none where they are not known.
    func connectedPeers() -> [IPAddress] {
        if let allPeers { return allPeers }
        let found = facts.routing.connectedPeers()
        allPeers = found
        return found
    }

    /// The name servers; `nil` if none are known.
    func nameservers() -> [IPAddress]? {
        if let allNameservers { return allNameservers }
        let found = facts.nameservers()
        allNameservers = .some(found)
        return found
    }

    /// Whether a `local` route takes a packet: many sockets of a batch can have the same address.
    func isDelivered(_ query: RouteQuery) throws(ReachabilityError) -> Bool {
        if let known = delivered[query] { return known }
        let isLocal = try facts.routing.answer(to: query).type == .local
        delivered[query] = isLocal
        return isLocal
    }

    private static func once<Value>(
        _ known: inout Result<Value, ReachabilityError>?,
        _ find: () throws(ReachabilityError) -> Value
    ) throws(ReachabilityError) -> Value {
        let result = known ?? Result(catching: find)
        known = result
        return try result.get()
    }
}

extension HostListing {
    /// Finds an interface that a caller names.
    ///
    /// - Returns: The interface; `nil` if there is none.
    func interface(
        _ reference: InterfaceReference,
        of destination: IPAddress
    ) throws(ReachabilityError) -> BoundInterface? {
        if let name = reference.name, let index = try facts.routing.interfaceIndex(named: name) {
            // Only the loopback addresses need to know.
            let link = destination.isLoopback ? try link(index) : nil
            let isLoopback = link?.flags.contains(.loopback) == true
            return BoundInterface(index: index, name: name, isLoopback: isLoopback)
        }
        guard let index = reference.index, let link = try link(index) else { return nil }
        return BoundInterface(index: index, name: link.name, isLoopback: link.flags.contains(.loopback))
    }

    /// The interface with an index; `nil` when there is none.
    func link(_ index: UInt32) throws(ReachabilityError) -> Link? {
        try facts.routing.facts(aboutInterface: index, detail: .flags)?.link
    }

    /// The VRF that an interface is, or belongs to; `nil` for none.
    func vrf(ofInterface index: UInt32) throws(ReachabilityError) -> UInt32? {
        guard let link = try link(index) else { return nil }
        if link.isVRF { return index }
        guard let master = link.master else { return nil }
        return try self.link(master)?.isVRF == true ? master : nil
    }
}

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
