// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// Turns candidates into questions: the first step of a round.
///
/// Most candidates need nothing for that. A binding to an interface or a local address has to be looked up: a local
/// address once for all candidates that have it, and an IPv4 address together with the questions.
struct QuestionPlanner: Sendable {
    let facts: NetworkFacts
    /// The local IPv4 addresses to ask about, each once.
    private(set) var locals: [IPAddress] = []
    /// Whether the local table has them, in the same order.
    private var localAnswers: [RoutingResult] = []
    private var ownAddresses: [LocalEnd: Result<Bool, ReachabilityError>] = [:]
    private var allAddresses: Result<[InterfaceAddress], ReachabilityError>?

    init(_ facts: NetworkFacts) {
        self.facts = facts
    }

    /// Plans the question about a candidate, for a socket that is bound to a local address or to none.
    mutating func plan(
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
    private mutating func bind(
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
            let end = LocalEnd(given: local, interfaceIndex: bound?.index)
            question.query.source = end.address
            guard local.family == .v4 else { return try check(end, question) }
            question.localEnd = end
            if !locals.contains(end.address) { locals.append(end.address) }
        }
    }

    // MARK: Local addresses

    /// The addresses of the host.
    mutating func addresses() throws(ReachabilityError) -> [InterfaceAddress] {
        if let allAddresses { return try allAddresses.get() }
        let addresses = Result { () throws(ReachabilityError) in try facts.routing.addresses() }
        allAddresses = addresses
        return try addresses.get()
    }

    /// The interface that the local table has an IPv4 address for, if a question of the round is bound to the address.
    ///
    /// `nil` also for a route that a program added: such a route does not show which interface has the address.
    func localInterface(of address: IPAddress) -> UInt32? {
        guard let index = locals.firstIndex(of: address), index < localAnswers.count,
            case .success(.taken(let match)) = localAnswers[index],
            match.type == .local, !match.dependsOnSource
        else { return nil }
        return match.nexthop?.interfaceIndex
    }

    /// Takes the answers about ``locals``, and settles the questions of sockets that cannot be bound.
    mutating func take(_ answers: [RoutingResult], _ questions: [Question]) {
        localAnswers = answers
        for question in questions {
            guard let end = question.localEnd else { continue }
            do {
                try check(end, question)
            } catch {
                question.state = .failed(error)
            }
        }
    }

    /// Settles a question if bind(2) does not take its local address: questions accept foreign IPv6 sources silently.
    private mutating func check(_ end: LocalEnd, _ question: Question) throws(ReachabilityError) {
        let result = ownAddresses[end] ?? Result { () throws(ReachabilityError) in try takes(end) }
        ownAddresses[end] = result
        guard try !result.get() else { return }
        question.state = .settled(ReachabilityReason(.notOwnAddress, end.given.description))
    }

    /// IPv4 also takes what the local table holds, such as all of 127.0.0.0/8; a socket in a VRF takes what the table
    /// of the VRF holds, and nothing else.
    private mutating func takes(_ end: LocalEnd) throws(ReachabilityError) -> Bool {
        let domain = if let bound = end.interfaceIndex { try vrf(ofInterface: bound) } else { UInt32?.none }
        if let index = locals.firstIndex(of: end.address) {
            let isInLocalTable = try localAnswers[index].get().type == .local
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
    private mutating func isAssigned(_ end: LocalEnd, domain: UInt32?) throws(ReachabilityError) -> Bool {
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
        guard let link = try self.link(index) else { return nil }
        if link.isVRF { return index }
        guard let master = link.master else { return nil }
        return try self.link(master)?.isVRF == true ? master : nil
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
        if let named = try facts.routing.interfaceIndex(named: name) {
            return Binding(index: named, name: name)
        }
        guard let index = zone?.index else { throw unknownInterface("there is no interface \"\(name)\"") }
        guard let link = try link(index) else {
            throw unknownInterface("no interface has the index \(index)")
        }
        return Binding(index: index, name: link.name)
    }

    private func link(_ index: UInt32) throws(ReachabilityError) -> Link? {
        try facts.routing.facts(aboutInterface: index, detail: .flags)?.link
    }

    private func unknownInterface(_ what: String) -> ReachabilityError {
        ReachabilityError(
            .unknownInterface,
            operation: "find an interface",
            message: "\(what): give one that `ip link` lists"
        )
    }
}
