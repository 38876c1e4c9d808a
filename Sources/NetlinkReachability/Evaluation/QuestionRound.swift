// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// Asks the planned questions together, and what has to be asked again in a further round: the second step.
enum QuestionRound {
    /// What the source said besides the answers to the questions.
    struct Replies {
        /// What the tables have for the local addresses, in their order.
        var locals: [RoutingResult] = []
        /// The facts that came with the answers, the newest first: a later round can be about the same interface.
        var interfaces: [InterfaceReading] = []
    }

    /// Asks the questions that are planned, and about the local addresses which sockets are bound to.
    static func ask(
        _ questions: [Question],
        locals addresses: [IPAddress] = [],
        _ facts: NetworkFacts
    ) -> Replies {
        var replies = Replies()
        var queries = addresses.map { RouteQuery(destination: $0) }
        queries.reserveCapacity(addresses.count + questions.count)
        for question in questions { question.appendFirst(to: &queries) }
        var next = addresses.count
        while !queries.isEmpty {
            let results = answers(to: queries, facts, &replies)
            if next > 0 { replies.locals = Array(results.prefix(next)) }
            for question in questions {
                for index in next..<next + question.openQueries {
                    question.take(results[index], to: queries[index], facts)
                }
                next += question.openQueries
            }
            queries.removeAll(keepingCapacity: true)
            for question in questions { question.appendNext(to: &queries) }
            next = 0
        }
        return replies
    }

    private static func answers(
        to queries: [RouteQuery],
        _ facts: NetworkFacts,
        _ replies: inout Replies
    ) -> [RoutingResult] {
        do {
            let answers = try facts.routing.answers(to: queries)
            replies.interfaces =
                replies.interfaces.isEmpty ? answers.facts : answers.facts + replies.interfaces
            return answers.results
        } catch {
            return queries.map { _ in .failure(error) }
        }
    }
}

// MARK: - Steps of a question

/// How a question is asked.
///
/// A socket gets other answers than a plain question. A socket without a source address selects one: IPv4 sockets look
/// up again with it (`ip_route_connect`), IPv6 sockets only where the first lookup is rejected (`ip6_dst_lookup_tail`).
extension Question {
    typealias Answered = (answer: RouteAnswer, query: RouteQuery)

    /// What the answers to the open queries are for.
    enum Step {
        /// The source address of the packet; the query of ``first`` follows.
        case packetSource
        /// The route, with the source address that the question has, or with none.
        case first
        /// The route with each of the source addresses that the kernel can select.
        indirect case selecting(Selection)
    }

    /// The answers with each source address that the kernel can select.
    struct Selection {
        /// The answer without a source address.
        let first: Answered
        /// The answer so far.
        var found: Answered?
        /// How many source addresses have no answer yet.
        var remaining: Int
    }

    /// Adds the first queries of a planned question.
    fileprivate func appendFirst(to queries: inout [RouteQuery]) {
        openQueries = 0
        guard case .planned = state else { return }
        isAsked = true
        step = .first
        // Before the question itself, which can need the source address.
        if detail.hasSource, query.source == nil {
            step = .packetSource
            queries.append(query.forPacket)
            openQueries = 1
        }
        queries.append(query.ofSocket)
        openQueries += 1
    }

    /// Adds what has to be asked after the answers so far.
    fileprivate func appendNext(to queries: inout [RouteQuery]) {
        openQueries = next.count
        guard !next.isEmpty else { return }
        queries += next
        next = []
    }

    fileprivate func take(_ result: RoutingResult, to query: RouteQuery, _ facts: NetworkFacts) {
        if case .packetSource = step {
            step = .first
            switch result {
            case .success(.taken(let match)): packetSource = .success(match.source)
            case .success(.rejected): break
            case .failure(let fault): packetSource = .failure(fault)
            }
            return
        }
        switch result {
        case .failure(let fault): fail(fault)
        case .success(.rejected(.noRoute)) where query.isBoundGroup && !query.selectsNexthop,
            .success(.rejected(.unreachable)) where query.isBoundGroup && !query.selectsNexthop:
            // The kernel picks the device of a group without a route, and an entry is all that it rejects.
            var query = query
            query.selectsNexthop = true
            next.append(query)
        case .success(let answer):
            if case .taken(let match) = answer, let lifetime = match.lifetime {
                self.lifetime = min(self.lifetime ?? lifetime, lifetime)
            }
            if case .selecting(var selection) = step {
                takeSelected(answer, query, &selection)
                step = .selecting(selection)
            } else {
                takeFirst(answer, query, facts)
            }
        }
    }

    /// Takes the answer without a source address, and looks up again where the one that the socket selects matters.
    ///
    /// An IPv6 socket whose first lookup is accepted keeps that route, and only needs an address to send from.
    private func takeFirst(_ given: RouteAnswer, _ query: RouteQuery, _ facts: NetworkFacts) {
        let isIPv6 = query.destination.family == .v6
        guard query.source == nil, given.dependsOnSource(isIPv6) else { return settle(given, query) }
        do {
            let chosen = given.isRejected ? nil : try? packetSource.get()
            let sources =
                if let chosen { [chosen] } else {
                    try facts.routing.sourceAddresses(for: query, after: given)
                }
            if isIPv6, !given.isRejected {
                return settle(sources.isEmpty ? .rejected(.noSourceAddress) : given, query)
            }
            guard !sources.isEmpty else { return settle(given, query) }
            hasSeveralSources = sources.count > 1
            step = .selecting(Selection(first: (given, query), remaining: sources.count))
            for source in sources {
                var query = query
                query.source = source
                next.append(query.ofSocket)
            }
        } catch {
            fail(error)
        }
    }

    /// Takes the answer with one of the source addresses that the kernel can select.
    private func takeSelected(_ given: RouteAnswer, _ query: RouteQuery, _ selection: inout Selection) {
        let isIPv6 = query.destination.family == .v6
        // The first rejection says more.
        let next: Answered = isIPv6 && given.isRejected ? selection.first : (given, query)
        if let found = selection.found, found.answer.path != next.answer.path {
            // Each nexthop of an IPv4 route has a source: the rules judge the interfaces of all of them.
            guard !isIPv6, let both = found.answer.merged(with: next.answer) else {
                return fail(.undecidedSource(query))
            }
            selection.found?.answer = both
        } else if selection.found == nil {
            selection.found = next
        }
        selection.remaining -= 1
        if selection.remaining == 0, let found = selection.found { settle(found.answer, found.query) }
    }

    private func fail(_ error: ReachabilityError) {
        guard case .planned = state else { return }
        state = .failed(error)
    }

    private func settle(_ answer: RouteAnswer, _ query: RouteQuery) {
        guard case .planned = state else { return }
        state = .answered(
            query.outputInterface == 0 ? answer : answer.bound(toInterface: query.outputInterface))
        if self.query.source == nil { selectedSource = query.source }
    }
}

extension RouteAnswer {
    /// Whether a source address can change the answer: a rejection is the last word in IPv4 alone.
    fileprivate func dependsOnSource(_ isIPv6: Bool) -> Bool {
        switch self {
        case .taken(let match): match.dependsOnSource
        case .rejected: isIPv6
        }
    }
}

extension ReachabilityError {
    /// The kernel can select several source addresses, and the answers differ in kind.
    fileprivate static func undecidedSource(_ query: RouteQuery) -> ReachabilityError {
        ReachabilityError(
            .undecided,
            operation: "select a source address",
            message:
                "the kernel can select \(query.source?.description ?? "none") or another source address for "
                + "\(query.destination), and they take different routes"
        )
    }
}

extension RouteQuery {
    /// The query with the strictness of a bound IPv6 socket that has a source address.
    fileprivate var ofSocket: RouteQuery {
        var query = self
        query.isStrict = source != nil && outputInterface != 0 && destination.family == .v6
        return query
    }

    /// Whether a bound socket asks about an IPv4 group or the limited broadcast address.
    fileprivate var isBoundGroup: Bool {
        (outputInterface != 0 || source != nil) && destination.isIPv4Group
    }
}
