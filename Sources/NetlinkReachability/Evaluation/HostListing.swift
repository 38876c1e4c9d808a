// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// What a round finds out about the host besides its questions, each once: addresses, interfaces, and name servers.
///
/// Few rounds need any of it, so the planner makes this for the first question that does.
final class HostListing {
    private let facts: NetworkFacts
    private var allAddresses: Result<[InterfaceAddress], ReachabilityError>?
    private var allLinks: Result<[Link], ReachabilityError>?
    private var delivered: [RouteQuery: Bool] = [:]
    private var allNameservers: [IPAddress]??

    init(_ facts: NetworkFacts) {
        self.facts = facts
    }

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

    /// Whether a `local` route takes a packet: many sockets of a round can have the same address.
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

extension NetworkFacts {
    /// The interface with an index; `nil` when there is none.
    func link(_ index: UInt32) throws(ReachabilityError) -> Link? {
        try routing.facts(aboutInterface: index, detail: .flags)?.link
    }
}
