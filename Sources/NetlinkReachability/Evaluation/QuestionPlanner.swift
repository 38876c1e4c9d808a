// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// Turns candidates into questions: the first step of a round.
///
/// Most candidates need nothing for that. A binding to an interface or a local address has to be looked up.
struct QuestionPlanner: Sendable {
    let facts: NetworkFacts

    /// Plans the question about a candidate, for a socket that is bound to a local address or to none.
    func plan(
        _ candidate: Candidate,
        from local: IPAddress?,
        _ options: ReachabilityOptions,
        _ detail: QueryDetail
    ) -> Question {
        var query = RouteQuery(destination: candidate.destination.withoutZone)
        options.apply(to: &query)
        let question = Question(candidate, query, detail)
        let isBound = local != nil || candidate.destination.zone != nil || options.interface != nil
        guard isBound || candidate.destination.needsZone else { return question }
        do {
            try bind(question, from: local, options)
        } catch {
            question.state = .failed(error)
        }
        return question
    }

    /// Looks up the interface and the local address of a socket.
    private func bind(
        _ question: Question,
        from local: IPAddress?,
        _ options: ReachabilityOptions
    ) throws(ReachabilityError) {
        let destination = question.candidate.destination
        let bound = try binding(for: destination, from: local, options)
        question.boundInterface = bound?.name
        question.query.outputInterface = bound?.index ?? 0
        // The packets of a socket that is bound to another interface than the loopback never arrive.
        if destination.isLoopback, let bound, try link(bound.index)?.flags.contains(.loopback) != true {
            question.state = .settled(ReachabilityReason(.noRouteOutOfInterface, bound.name))
        } else if destination.needsZone, bound == nil {
            question.state = .settled(ReachabilityReason(.needsInterface, destination.description))
        } else if let local {
            if try isOwn(local, bound, question) {
                question.query.source = local.withoutZone
            } else {
                question.state = .settled(ReachabilityReason(.notOwnAddress, local.description))
            }
        }
    }

    // MARK: Local addresses

    /// Whether bind(2) takes an address: questions accept foreign IPv6 sources silently.
    ///
    /// IPv4 also takes what the local table holds, such as all of 127.0.0.0/8; a socket in a VRF takes what the table
    /// of the VRF holds, and nothing else.
    private func isOwn(
        _ local: IPAddress,
        _ bound: Binding?,
        _ question: Question
    ) throws(ReachabilityError) -> Bool {
        do {
            let domain = if let bound { try vrf(ofInterface: bound.index) } else { UInt32?.none }
            if local.family == .v4 {
                question.localAddress = local.withoutZone
                let isInLocalTable = try isLocal(local, outputInterface: 0)
                if isInLocalTable, domain == nil { return true }
                // A question in a VRF finds the local table, too.
                if !isInLocalTable, let bound, try isLocal(local, outputInterface: bound.index) {
                    return true
                }
            }
            return try isAssigned(local, bound: bound?.index, domain: domain)
        } catch {
            throw ReachabilityError(error)
        }
    }

    private func isLocal(_ address: IPAddress, outputInterface: UInt32) throws(RoutingFault) -> Bool {
        let query = RouteQuery(destination: address.withoutZone, outputInterface: outputInterface)
        return try facts.routing.answer(to: query).type == .local
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

    // MARK: Interfaces

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
        from local: IPAddress?,
        _ options: ReachabilityOptions
    ) throws(ReachabilityError) -> Binding? {
        let zone = destination.zone ?? (options.interface == nil ? local?.zone : nil)
        guard let name = zone?.description ?? options.interface else { return nil }
        do {
            if let named = try facts.routing.interfaceIndex(named: name) {
                return Binding(index: named, name: name)
            }
        } catch {
            throw ReachabilityError(error)
        }
        guard let index = zone?.index else { throw unknownInterface("there is no interface \"\(name)\"") }
        guard let link = try link(index) else {
            throw unknownInterface("no interface has the index \(index)")
        }
        return Binding(index: index, name: link.name)
    }

    private func link(_ index: UInt32) throws(ReachabilityError) -> Link? {
        do {
            return try facts.routing.facts(aboutInterface: index, detail: .flags)?.link
        } catch {
            throw ReachabilityError(error)
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
