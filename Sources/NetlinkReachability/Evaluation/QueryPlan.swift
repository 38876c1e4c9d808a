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
        query.outputInterface = bound?.index ?? 0
        // The packets of a socket that is bound to another interface than the loopback never arrive.
        if destination.isLoopback, let bound, try !isLoopback(bound) {
            return .settled(ReachabilityReason(.noRouteOutOfInterface, bound.name))
        }
        if destination.needsZone, bound == nil {
            return .settled(ReachabilityReason(.needsInterface, destination.description))
        }
        if let local {
            guard try isOwn(local, bound: bound) else {
                return .settled(ReachabilityReason(.notOwnAddress, local.description))
            }
            query.source = local.withoutZone
        }
        return .ask(query, boundInterface: query.outputInterface == 0 ? nil : bound?.name)
    }

    /// Whether bind(2) takes an address: questions accept foreign IPv6 sources silently.
    ///
    /// IPv4 also takes what the local table holds, such as all of 127.0.0.0/8; a socket in a VRF takes what the table of
    /// the VRF holds, and nothing else.
    private func isOwn(_ local: IPAddress, bound: Binding?) throws(ReachabilityError) -> Bool {
        try ask { () throws(RoutingFault) in
            let domain = try bound.flatMap { (bound) throws(RoutingFault) in try vrf(ofInterface: bound.index)
            }
            if local.family == .v4 {
                let isInLocalTable = try isLocal(local, outputInterface: 0)
                if isInLocalTable, domain == nil { return true }
                // A question in a VRF finds the local table, too.
                if !isInLocalTable, let bound, try isLocal(local, outputInterface: bound.index) {
                    return true
                }
            }
            return try isAssigned(local, bound: bound?.index, domain: domain)
        }
    }

    private func isLocal(_ address: IPAddress, outputInterface: UInt32) throws(RoutingFault) -> Bool {
        let query = RouteQuery(destination: address.withoutZone, outputInterface: outputInterface)
        return try facts.routing.lookUp(query, detail: .summary).summary.type == .local
    }

    /// Whether an interface of a VRF, or of none, has an address: `ipv6_chk_addr`.
    private func isAssigned(
        _ local: IPAddress,
        bound: UInt32?,
        domain: UInt32?
    ) throws(RoutingFault) -> Bool {
        for address in try facts.routing.addresses()
        where address.address.withoutZone == local.withoutZone && address.isAssigned {
            // Link-local addresses and ::1 belong to one interface.
            let isOnOneInterface = local.isLinkLocal || local.isLoopback
            if isOnOneInterface, let bound, bound != address.interfaceIndex { continue }
            if try vrf(ofInterface: address.interfaceIndex) == domain { return true }
        }
        return false
    }

    private func vrf(ofInterface index: UInt32) throws(RoutingFault) -> UInt32? {
        guard let link = try facts.routing.facts(aboutInterface: index, detail: .flags)?.link else {
            return nil
        }
        if link.kind == "vrf" { return index }
        guard let master = link.master else { return nil }
        let isVRF = try facts.routing.facts(aboutInterface: master, detail: .flags)?.link.kind == "vrf"
        return isVRF ? master : nil
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
