// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// Turns candidates into questions: the first step of a round.
///
/// Most candidates need nothing for that. A binding to an interface or a local address has to be looked up: a local
/// address once for all candidates that have it, and an IPv4 address together with the questions.
struct QuestionPlanner {
    let facts: NetworkFacts
    private var listing: HostListing?

    init(_ facts: NetworkFacts) {
        self.facts = facts
    }

    /// What the round knows about the host.
    var host: HostListing {
        mutating get {
            if let listing { return listing }
            let made = HostListing(facts)
            listing = made
            return made
        }
    }

    /// Plans a question, for a socket that is bound to a local address or to none, and adds it to the round.
    mutating func plan(
        _ question: consuming Question,
        from local: IPAddress?,
        _ options: ReachabilityOptions,
        in round: inout QuestionRound
    ) {
        let destination = question.candidate.destination
        var query = RouteQuery(destination: destination.withoutZone)
        options.apply(to: &query)
        query.wantsEntry = question.detail == .full
        let isBound = local != nil || destination.zone != nil || options.interface != nil
        guard isBound || destination.needsZone else {
            return round.add(question, query)
        }
        do {
            try bind(&question, &query, from: local, options)
            if let local = question.binding?.value.local?.address, local.family == .v4 {
                question.localQuery = round.append(local: local)
            }
        } catch {
            question.state = .failed(error)
        }
        round.add(question, query)
    }

    /// Looks up the interface and the local address of a socket.
    private mutating func bind(
        _ question: inout Question,
        _ query: inout RouteQuery,
        from local: IPAddress?,
        _ options: ReachabilityOptions
    ) throws(ReachabilityError) {
        let destination = question.candidate.destination
        let bound = try binding(for: destination, from: local, options)
        question.binding = Box(SocketBinding(interface: bound?.name))
        query.outputInterface = bound?.index ?? 0
        // The packets of a socket that is bound to another interface than the loopback never arrive.
        if destination.isLoopback, let bound, try facts.link(bound.index)?.flags.contains(.loopback) != true {
            question.state = .settled(ReachabilityReason(.noRouteOutOfInterface, bound.name))
        } else if destination.needsZone, bound == nil {
            question.state = .settled(ReachabilityReason(.needsInterface, destination.description))
        } else if let local {
            let end = LocalEnd(given: local, interfaceIndex: bound?.index)
            query.source = end.address
            question.binding = Box(SocketBinding(interface: bound?.name, local: end))
            if local.family == .v6, let refusal = refusal(of: end, nil, isConnected: question.isConnected) {
                question.state = refusal
            }
        }
    }

    /// Takes the results of a round, and settles the questions of sockets that cannot be bound.
    mutating func check(_ round: inout QuestionRound) {
        for index in round.questions.indices {
            guard let entry = round.localResult(of: index),
                let end = round.questions[index].binding?.value.local,
                let refusal = refusal(of: end, entry, isConnected: round.questions[index].isConnected)
            else { continue }
            round.settle(index, as: refusal)
        }
    }

    /// What becomes of a question if bind(2) does not take its local address: queries accept foreign IPv6 sources
    /// silently.
    private mutating func refusal(
        of end: LocalEnd,
        _ entry: RoutingResult?,
        isConnected: Bool
    ) -> Question.State? {
        do {
            var isOwn = try takes(end, entry)
            if !isOwn, isConnected { isOwn = try isDelivered(end) }
            return isOwn ? nil : .settled(ReachabilityReason(.notOwnAddress, end.given.description))
        } catch {
            return .failed(error)
        }
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
        guard let link = try facts.link(index) else {
            throw unknownInterface("no interface has the index \(index)")
        }
        return Binding(index: index, name: link.name)
    }

    private func unknownInterface(_ what: String) -> ReachabilityError {
        ReachabilityError(
            .unknownInterface,
            operation: "find an interface",
            message: "\(what): give one that `ip link` lists"
        )
    }
}
