// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// The questions of a round, their queries, and the answers of the source: the second step.
///
/// A socket gets other answers than a plain query. A socket without a source address selects one: IPv4 sockets look
/// up again with it (`ip_route_connect`), IPv6 sockets only where the first lookup is rejected (`ip6_dst_lookup_tail`).
/// What a question has to ask again is added to the queries and asked together with that of the others.
struct QuestionRound {
    private(set) var questions: [Question] = []
    /// The queries, in the order in which they are asked, and their results.
    var lookups: [RouteLookup] = []
    /// How many of the queries have been asked.
    private var asked = 0

    /// Adds a question, and its queries if it is open.
    mutating func add(_ question: consuming Question, _ query: RouteQuery) {
        let isOpen = if case .open = question.state { true } else { false }
        questions.append(question)
        if isOpen { open(questions.count - 1, query) }
    }

    /// Adds a query.
    ///
    /// - Parameter query: The query.
    /// - Returns: Its index.
    mutating func append(_ query: RouteQuery) -> Int {
        // As many as a connection has.
        if lookups.isEmpty { lookups.reserveCapacity(4) }
        lookups.append(RouteLookup(query))
        return lookups.count - 1
    }

    /// Adds a query for the local IPv4 address of a question that is still to be added.
    ///
    /// - Parameter address: The address.
    /// - Returns: Its index; another question about the address can have added it.
    mutating func append(local address: IPAddress) -> Int {
        let other = questions.last { $0.binding?.value.local?.address == address }
        return other?.localQuery ?? append(RouteQuery(destination: address))
    }

    private mutating func open(_ question: Int, _ query: RouteQuery) {
        if questions[question].detail.hasSource, query.source == nil {
            questions[question].packetQuery = append(query.forPacket)
        }
        questions[question].query = append(query.ofSocket)
    }

    /// Asks all queries that were added, and those that follow from the answers.
    mutating func ask(_ interfaces: inout RoundInterfaces) {
        while asked < lookups.count {
            askNext(&interfaces)
            for question in questions.indices { advance(question, &interfaces) }
        }
    }

    /// Asks a question again from the start.
    mutating func askAgain(_ question: Int, _ interfaces: inout RoundInterfaces) {
        guard let query = questions[question].query else { return }
        questions[question].state = .open
        questions[question].sourceQueries = []
        open(question, lookups[query].query.asPlanned)
        ask(&interfaces)
    }

    /// Settles a question without an answer of the kernel.
    mutating func settle(_ question: Int, as state: Question.State) {
        questions[question].state = state
    }

    private mutating func askNext(_ interfaces: inout RoundInterfaces) {
        let first = asked
        asked = lookups.count
        do {
            try interfaces.answer(&lookups, from: first)
        } catch {
            for index in first..<asked { lookups[index].result = .failure(error) }
        }
    }

    // MARK: - Steps of a question

    /// Takes the answers that an open question has waited for.
    private mutating func advance(_ question: Int, _ interfaces: inout RoundInterfaces) {
        guard case .open = questions[question].state, let query = questions[question].query else { return }
        if questions[question].sourceQueries.isEmpty {
            takeFirst(question, query, &interfaces)
        } else {
            takeSelected(question, query)
        }
    }

    /// What follows from the answer without a source address.
    private enum Step {
        /// The answer counts.
        case settle
        /// The source address that the socket selects matters.
        case selectSource
        /// The kernel chooses what the entry does not show: the nexthop of a connected socket, or the device of a group
        /// without a route.
        case askForChoice
    }

    /// Takes the answer without a source address.
    private mutating func takeFirst(_ question: Int, _ index: Int, _ interfaces: inout RoundInterfaces) {
        do {
            switch try Self.step(&questions[question], &lookups[index]) {
            case .settle: settle(question, index)
            case .selectSource: try select(question, index, interfaces.facts.routing)
            case .askForChoice: questions[question].query = askForChoice(index)
            }
        } catch {
            questions[question].state = .failed(error)
        }
    }

    /// Reads an answer where it is: a copy of it takes longer.
    private static func step(
        _ question: inout Question,
        _ lookup: inout RouteLookup
    ) throws(ReachabilityError) -> Step {
        switch lookup.result {
        case .failure(let error): throw error
        case .success(.rejected(let rejection)):
            if lookup.query.asksForChoice(after: rejection) { return .askForChoice }
            // A rejection is the last word in IPv4 alone.
            return lookup.query.source == nil && lookup.query.destination.family == .v6
                ? .selectSource : .settle
        case .success(.taken(let match)):
            question.lifetime.shorten(to: match.lifetime)
            if match.dependsOnSource && lookup.query.source == nil { return .selectSource }
            return question.isConnected && lookup.isOpenToChoice ? .askForChoice : .settle
        }
    }

    /// Looks up with the source addresses that the socket can select.
    ///
    /// An IPv6 socket whose first lookup is accepted keeps that route, and only needs an address to send from.
    private mutating func select(
        _ question: Int,
        _ index: Int,
        _ routing: any RoutingSource
    ) throws(ReachabilityError) {
        let query = lookups[index].query
        let answer = try lookups[index].result.get()
        let chosen = answer.isRejected ? nil : try? packetSource(of: question)
        let sources =
            if let chosen { [chosen] } else { try routing.sourceAddresses(for: query, after: answer) }
        let keepsRoute = query.destination.family == .v6 && !answer.isRejected
        if keepsRoute, sources.isEmpty { lookups[index].result = .success(.rejected(.noSourceAddress)) }
        guard !keepsRoute, !sources.isEmpty else { return settle(question, index) }
        for source in sources {
            var query = query
            query.source = source
            questions[question].sourceQueries.append(append(query.ofSocket))
        }
    }

    /// Takes the answers with the source addresses that the kernel can select.
    private mutating func takeSelected(_ question: Int, _ first: Int) {
        let isIPv6 = lookups[first].query.destination.family == .v6
        var found: (index: Int, answer: RouteAnswer)?
        var isOpen = false
        for (number, index) in questions[question].sourceQueries.enumerated() {
            do throws(ReachabilityError) {
                var next = (index: index, answer: try lookups[index].result.get())
                if case .rejected(let rejection) = next.answer {
                    if lookups[index].query.asksForChoice(after: rejection) {
                        questions[question].sourceQueries[number] = askForChoice(index)
                        isOpen = true
                    } else if isIPv6 {
                        // The first rejection says more.
                        next = (first, try lookups[first].result.get())
                    }
                }
                questions[question].lifetime.shorten(to: next.answer.match?.lifetime)
                guard let known = found else {
                    found = next
                    continue
                }
                guard known.answer.path != next.answer.path, !isOpen else { continue }
                // Each nexthop of an IPv4 route has a source: the rules judge the interfaces of all of them.
                guard !isIPv6, let both = known.answer.merged(with: next.answer) else {
                    throw ReachabilityError.undecidedSource(lookups[index].query)
                }
                found?.answer = both
            } catch {
                questions[question].state = .failed(error)
                return
            }
        }
        guard !isOpen, let found else { return }
        lookups[found.index].result = .success(found.answer)
        settle(question, found.index)
    }

    /// Asks a query again, for the kernel's choice and not for an entry.
    ///
    /// - Parameter index: The query.
    /// - Returns: The index of the new query.
    private mutating func askForChoice(_ index: Int) -> Int {
        var query = lookups[index].query
        query.selectsNexthop = true
        return append(query)
    }

    private mutating func settle(_ question: Int, _ index: Int) {
        let interface = lookups[index].query.outputInterface
        if interface != 0 {
            lookups[index].result = lookups[index].result.map { $0.bound(toInterface: interface) }
        }
        questions[question].answered = index
        questions[question].state = .answered
    }

    // MARK: - What was answered

    /// What the tables have for the local IPv4 address of a question; `nil` if it has none.
    func localResult(of question: Int) -> RoutingResult? {
        guard let query = questions[question].localQuery else { return nil }
        return lookups[query].result
    }

    /// The packet that the answer to a question is about.
    func answeredQuery(of question: Int) -> RouteQuery {
        lookups[questions[question].answered].query.asPlanned
    }

    /// The source address that a packet gets; `nil` when it is unknown.
    func sourceAddress(of question: Int) throws(ReachabilityError) -> IPAddress? {
        let source = lookups[questions[question].answered].query.source
        if let source, questions[question].sourceQueries.count < 2 { return source }
        return try packetSource(of: question)
    }

    /// The source address that the kernel chooses for the packet; `nil` for none, and where that was not asked for.
    private func packetSource(of question: Int) throws(ReachabilityError) -> IPAddress? {
        guard let query = questions[question].packetQuery else { return nil }
        return try lookups[query].result.get().match?.source
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

extension RouteLookup {
    /// Whether the kernel chooses among several nexthops, which the answer does not show.
    fileprivate var isOpenToChoice: Bool {
        guard !query.selectsNexthop, case .success(let answer) = result else { return false }
        return answer.bound(toInterface: query.outputInterface).match?.hasSeveralNexthops == true
    }
}

extension RouteQuery {
    /// The query with the strictness of a bound IPv6 socket that has a source address.
    fileprivate var ofSocket: RouteQuery {
        var query = self
        query.isStrict = source != nil && outputInterface != 0 && destination.family == .v6
        return query
    }

    /// The query without what a step of its question changed, but with the source address that was selected.
    fileprivate var asPlanned: RouteQuery {
        var query = self
        (query.isStrict, query.selectsNexthop) = (false, false)
        return query
    }

    /// Whether a bound socket asks about an IPv4 group or the limited broadcast address, for which there is no entry.
    fileprivate func asksForChoice(after rejection: RouteRejection) -> Bool {
        destination.isIPv4Group && !selectsNexthop && (outputInterface != 0 || source != nil)
            && (rejection == .noRoute || rejection == .unreachable)
    }
}
