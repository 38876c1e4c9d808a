// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// What to ask about one candidate.
enum QueryPlan: Hashable, Sendable {
    /// Ask this, bound to the interface named.
    case ask(RouteQuery, boundInterface: String?)
    /// No question is needed.
    case settled(ReachabilityReason)
}

extension TargetEvaluator {
    /// Plans the question about one candidate, for a socket that is bound to a local address or to none.
    func plan(for candidate: Candidate, from local: IPAddress?) throws(ReachabilityError) -> QueryPlan {
        let destination = candidate.destination
        let bound = try binding(for: destination, from: local)
        var query = RouteQuery(destination: destination.withoutZone)
        options.apply(to: &query)
        if destination.isLoopback {
            // The packets of a socket that is bound to another interface never arrive.
            if let bound, try !isLoopback(bound) {
                return .settled(ReachabilityReason(.noRouteOutOfInterface, bound.name))
            }
        } else {
            query.outputInterface = bound?.index ?? 0
            if destination.needsZone, bound == nil {
                return .settled(ReachabilityReason(.needsInterface, destination.description))
            }
        }
        if let local {
            guard try isOwn(local, bound: bound) else {
                return .settled(ReachabilityReason(.notOwnAddress, local.description))
            }
            query.source = local.withoutZone
        }
        return .ask(query, boundInterface: query.outputInterface == 0 ? nil : bound?.name)
    }

    /// Whether an address belongs to this host: the kernel accepts foreign IPv6 sources silently.
    ///
    /// The addresses of a VRF's interfaces are in the VRF's own table, which only a bound question sees.
    private func isOwn(_ local: IPAddress, bound: Binding?) throws(ReachabilityError) -> Bool {
        // bind(2) takes ::1 only on its own interface (IFA_HOST in `ipv6_chk_addr_and_flags`).
        if local == .loopbackV6, let bound, try !isLoopback(bound) { return false }
        if !local.needsZone, try isLocal(local, outputInterface: 0) { return true }
        guard let bound else { return false }
        return try isLocal(local, outputInterface: bound.index)
    }

    private func isLocal(_ local: IPAddress, outputInterface: UInt32) throws(ReachabilityError) -> Bool {
        let query = RouteQuery(destination: local.withoutZone, outputInterface: outputInterface)
        return try ask { () throws(RoutingFault) in
            try facts.routing.lookUp(query, detail: .summary).summary.type == .local
        }
    }
}

// MARK: - Bindings

extension TargetEvaluator {
    /// The interface that a question is bound to.
    struct Binding: Hashable, Sendable {
        var index: UInt32
        var name: String
    }

    /// The interface of the address's zone, else of the options, else of the local address's zone.
    private func binding(
        for destination: IPAddress,
        from local: IPAddress?
    ) throws(ReachabilityError) -> Binding? {
        if let zone = destination.zone { return try binding(zone) }
        if let name = options.interface { return try binding(interface: name) }
        if let zone = local?.zone { return try binding(zone) }
        return nil
    }

    /// An interface can be called by a number: a name comes before an index.
    private func binding(_ zone: ZoneIdentifier) throws(ReachabilityError) -> Binding {
        guard let index = zone.index else { return try binding(interface: zone.description) }
        if let named = try findInterface(named: zone.description) { return named }
        let found = try interface(index)
        guard let found else { throw unknownInterface("no interface has the index \(index)") }
        return Binding(index: index, name: found.link.name)
    }

    private func binding(interface name: String) throws(ReachabilityError) -> Binding {
        guard let binding = try findInterface(named: name) else {
            throw unknownInterface("there is no interface \"\(name)\"")
        }
        return binding
    }

    private func findInterface(named name: String) throws(ReachabilityError) -> Binding? {
        let index = try ask { () throws(RoutingFault) in try facts.routing.interfaceIndex(named: name) }
        return index.map { Binding(index: $0, name: name) }
    }

    private func isLoopback(_ bound: Binding) throws(ReachabilityError) -> Bool {
        try interface(bound.index)?.link.flags.contains(.loopback) ?? false
    }

    private func interface(_ index: UInt32) throws(ReachabilityError) -> InterfaceFacts? {
        try ask { () throws(RoutingFault) in
            try facts.routing.facts(aboutInterface: index, detail: .flags)
        }
    }

    private func unknownInterface(_ what: String) -> ReachabilityError {
        ReachabilityError(
            .unknownInterface,
            operation: "find an interface",
            message: "\(what): give one that `ip link` lists"
        )
    }
}
