// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// Asks the planned questions together, and what has to be asked again in a further round: the second step.
///
/// A socket gets other answers than a plain question. A socket without a source address selects one: IPv4 sockets look
/// up again with it (`ip_route_connect`), IPv6 sockets only where the first lookup is rejected (`ip6_dst_lookup_tail`).
struct QuestionRound {
    /// A lookup that a question needs.
    private struct Lookup {
        enum Purpose {
            /// With the source address that the question has, or with none.
            case first
            /// With a source address that the kernel can select.
            case fromSource
            /// For the source address of the packet.
            case packetSource
            /// For the entry of a local address.
            case local
        }

        /// The index of the question, or of the local address.
        let question: Int
        let purpose: Purpose
    }

    private typealias Answered = (answer: RouteAnswer, query: RouteQuery)

    /// The answers with each source address that the kernel can select for a question.
    private struct Selection {
        /// The answer without a source address.
        let first: Answered
        /// The answer so far.
        var found: Answered?
        /// How many source addresses have no answer yet.
        var remaining: Int
    }

    private let facts: NetworkFacts
    private let questions: [Question]
    /// What the tables have for the local addresses, in their order.
    private(set) var locals: [RoutingResult] = []
    private var lookups: [Lookup] = []
    /// The query of each lookup.
    private var queries: [RouteQuery] = []
    private var selections: [Int: Selection] = [:]

    init(_ questions: [Question], _ facts: NetworkFacts) {
        self.facts = facts
        self.questions = questions
    }

    /// Asks the questions that are planned, and about local addresses.
    ///
    /// - Parameter addresses: The local addresses, which sockets are bound to.
    /// - Returns: The facts that came with the answers.
    mutating func ask(locals addresses: [IPAddress] = []) -> [InterfaceReading] {
        lookups.reserveCapacity(questions.count)
        queries.reserveCapacity(questions.count)
        for (index, address) in addresses.enumerated() {
            add(RouteQuery(destination: address), index, .local)
        }
        for (index, question) in questions.enumerated() {
            guard case .planned = question.state else { continue }
            question.isAsked = true
            // Before the question itself, which can need the source address.
            if question.detail.hasSource, question.query.source == nil {
                add(question.query.forPacket, index, .packetSource)
            }
            add(question.query, index, .first)
        }
        var readings: [InterfaceReading] = []
        while !lookups.isEmpty {
            let (asked, queries) = (lookups, queries)
            (lookups, self.queries) = ([], [])
            do {
                let answers = try facts.routing.answers(to: queries)
                // The newest first: a later round can be about the same interface.
                readings.insert(contentsOf: answers.facts, at: 0)
                for (index, lookup) in asked.enumerated() {
                    take(answers.results[index], to: lookup, queries[index])
                }
            } catch {
                for (index, lookup) in asked.enumerated() {
                    take(.failure(error), to: lookup, queries[index])
                }
            }
        }
        return readings
    }

    private mutating func add(_ query: RouteQuery, _ question: Int, _ purpose: Lookup.Purpose) {
        queries.append(query)
        if query.source != nil, query.outputInterface != 0, query.destination.family == .v6 {
            queries[queries.count - 1].isStrict = true
        }
        lookups.append(Lookup(question: question, purpose: purpose))
    }

    private func fail(_ question: Int, _ fault: RoutingFault) {
        guard case .planned = questions[question].state else { return }
        questions[question].state = .failed(ReachabilityError(fault))
    }

    private func answer(_ question: Int, _ answer: RouteAnswer, _ query: RouteQuery) {
        guard case .planned = questions[question].state else { return }
        questions[question].state = .answered(answer.bound(toInterface: query.outputInterface))
        if questions[question].query.source == nil { questions[question].selectedSource = query.source }
    }

    // MARK: Answers

    private mutating func take(_ result: RoutingResult, to lookup: Lookup, _ query: RouteQuery) {
        if lookup.purpose == .local { return locals.append(result) }
        let question = questions[lookup.question]
        if lookup.purpose == .packetSource {
            switch result {
            case .success(.taken(let match)): question.packetSource = .success(match.source)
            case .success(.rejected): break
            case .failure(let fault): question.packetSource = .failure(fault)
            }
            return
        }
        switch result {
        case .failure(let fault): fail(lookup.question, fault)
        case .success(.rejected(.noRoute)) where query.isBoundGroup && !query.selectsNexthop,
            .success(.rejected(.unreachable)) where query.isBoundGroup && !query.selectsNexthop:
            // The kernel picks the device of a group without a route, and an entry is all that it rejects.
            var query = query
            query.selectsNexthop = true
            queries.append(query)
            lookups.append(lookup)
        case .success(let answer):
            if case .taken(let match) = answer, let lifetime = match.lifetime {
                question.lifetime = min(question.lifetime ?? lifetime, lifetime)
            }
            if lookup.purpose == .first {
                takeFirst(answer, query, lookup.question)
            } else {
                takeSelected(answer, query, lookup.question)
            }
        }
    }

    /// Takes the answer without a source address, and looks up again where the one that the socket selects matters.
    ///
    /// An IPv6 socket whose first lookup is accepted keeps that route, and only needs an address to send from.
    private mutating func takeFirst(_ given: RouteAnswer, _ query: RouteQuery, _ question: Int) {
        let isIPv6 = query.destination.family == .v6
        guard query.source == nil, given.dependsOnSource(isIPv6) else {
            return answer(question, given, query)
        }
        do {
            let chosen = given.isRejected ? nil : try? questions[question].packetSource.get()
            let sources =
                if let chosen { [chosen] } else {
                    try facts.routing.sourceAddresses(for: query, after: given)
                }
            if isIPv6, !given.isRejected {
                return answer(question, sources.isEmpty ? .rejected(.noSourceAddress) : given, query)
            }
            guard !sources.isEmpty else { return answer(question, given, query) }
            questions[question].hasSeveralSources = sources.count > 1
            selections[question] = Selection(first: (given, query), remaining: sources.count)
            for source in sources {
                var query = query
                query.source = source
                add(query, question, .fromSource)
            }
        } catch {
            fail(question, error)
        }
    }

    /// Takes the answer with one of the source addresses that the kernel can select.
    private mutating func takeSelected(_ given: RouteAnswer, _ query: RouteQuery, _ question: Int) {
        guard var selection = selections[question] else { return }
        let isIPv6 = query.destination.family == .v6
        // The first rejection says more.
        let next: Answered = isIPv6 && given.isRejected ? selection.first : (given, query)
        if let found = selection.found, found.answer.path != next.answer.path {
            // Each nexthop of an IPv4 route has a source: the rules judge the interfaces of all of them.
            guard !isIPv6, let both = found.answer.merged(with: next.answer) else {
                return fail(question, .undecidedSource(query))
            }
            selection.found?.answer = both
        } else if selection.found == nil {
            selection.found = next
        }
        selection.remaining -= 1
        selections[question] = selection
        if selection.remaining == 0, let found = selection.found {
            answer(question, found.answer, found.query)
        }
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

extension RoutingFault {
    /// The kernel can select several source addresses, and the answers differ in kind.
    fileprivate static func undecidedSource(_ query: RouteQuery) -> RoutingFault {
        RoutingFault(
            kind: .undecided,
            operation: "select a source address",
            text:
                "the kernel can select \(query.source?.description ?? "none") or another source address for "
                + "\(query.destination), and they take different routes"
        )
    }
}

extension RouteQuery {
    /// Whether a bound socket asks about an IPv4 group or the limited broadcast address.
    fileprivate var isBoundGroup: Bool {
        (outputInterface != 0 || source != nil) && destination.isIPv4Group
    }
}
