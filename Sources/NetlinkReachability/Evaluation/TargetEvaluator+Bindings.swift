// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

extension TargetEvaluator {
    /// Evaluates one candidate, for a socket that is bound to a local address or to none.
    func evaluate(
        _ candidate: Candidate,
        from local: IPAddress?,
        detail: EvaluationDetail
    ) throws(ReachabilityError) -> Evaluation {
        let destination = candidate.destination
        guard admits(destination, from: local) else {
            return Evaluation(settled: nothingAdmitted(from: local))
        }
        let bound = try binding(for: destination, from: local)
        var query = RouteQuery(destination: destination.withoutZone)
        options.apply(to: &query)
        query.outputInterface = bound?.index ?? 0
        // The packets of a socket that is bound to another interface than the loopback never arrive.
        if destination.isLoopback, let bound, try link(bound.index)?.flags.contains(.loopback) != true {
            return Evaluation(settled: ReachabilityReason(.noRouteOutOfInterface, bound.name), candidate)
        }
        if destination.needsZone, bound == nil {
            return Evaluation(
                settled: ReachabilityReason(.needsInterface, destination.description), candidate)
        }
        if let local {
            guard try isOwn(local, bound: bound) else {
                return Evaluation(settled: ReachabilityReason(.notOwnAddress, local.description), candidate)
            }
            query.source = local.withoutZone
        }
        return try evaluate(candidate, query, boundInterface: bound?.name, detail: detail)
    }

    /// Whether bind(2) takes an address: questions accept foreign IPv6 sources silently.
    ///
    /// IPv4 also takes what the local table holds, such as all of 127.0.0.0/8; a socket in a VRF takes what the table
    /// of the VRF holds, and nothing else.
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
        if link.isVRF { return index }
        guard let master = link.master else { return nil }
        let domain = try facts.routing.facts(aboutInterface: master, detail: .flags)?.link
        return domain?.isVRF == true ? master : nil
    }
}

// MARK: - Bindings

extension TargetEvaluator {
    /// The interface that a question is bound to.
    private struct Binding {
        var index: UInt32
        var name: String
    }

    /// The interface of the address's zone, else of the options, else of the local address's zone.
    ///
    /// An interface can be called by a number: a name comes before an index.
    private func binding(
        for destination: IPAddress,
        from local: IPAddress?
    ) throws(ReachabilityError) -> Binding? {
        let zone = destination.zone ?? (options.interface == nil ? local?.zone : nil)
        guard let name = zone?.description ?? options.interface else { return nil }
        let named = try ask { () throws(RoutingFault) in try facts.routing.interfaceIndex(named: name) }
        if let named { return Binding(index: named, name: name) }
        guard let index = zone?.index else { throw unknownInterface("there is no interface \"\(name)\"") }
        guard let link = try link(index) else {
            throw unknownInterface("no interface has the index \(index)")
        }
        return Binding(index: index, name: link.name)
    }

    private func link(_ index: UInt32) throws(ReachabilityError) -> Link? {
        try ask { () throws(RoutingFault) in
            try facts.routing.facts(aboutInterface: index, detail: .flags)?.link
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
