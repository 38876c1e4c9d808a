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

    /// The ends of the packets that a tunnel sends around those to a destination, if that decides; `nil` for a tunnel
    /// with ends of its own, and where they are not known.
    func peerEnds(of tunnel: Link, to destination: IPAddress) throws(ReachabilityError) -> TunnelEnds? {
        guard tunnel.kind == "wireguard" else { return nil }
        return try Self.once(&wireGuards[tunnel.index]) { () throws(ReachabilityError) in
            try facts.routing.wireGuardPeers(ofInterface: tunnel.index)
        }?.ends(to: destination)
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
