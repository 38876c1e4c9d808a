// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// A round of evaluations: targets go in, are asked about together, and come out with flags and reasons.
///
/// Everything that asks does it so: a handle in a round of one, a burst of the monitor, a list of addresses, a path or a
/// report in a round of several. ``QuestionPlanner`` turns a target into questions, ``QuestionRound`` asks them, and
/// ``ReachabilityRules`` judge the answers.
struct EvaluationRound {
    /// The most targets that share a round: more would take memory, and gain no time.
    static let limit = 256

    /// A target of the round.
    private struct Entry {
        let detail: QueryDetail
        /// The candidates of the target.
        let questions: Range<Int>
        /// Why there is no candidate, or no address of a name, whose default path is asked about instead.
        var reason: ReachabilityReason?
        /// Why nothing could be planned.
        var failure: ReachabilityError?
    }

    /// Facts about an interface; `nil` for one that is gone.
    private struct Known {
        let index: UInt32
        let detail: QueryDetail
        let facts: InterfaceFacts?
    }

    let facts: NetworkFacts
    /// Resolves the names of the targets that are added.
    var resolver: any HostResolver
    private let planner: QuestionPlanner
    private var entries: [Entry] = []
    private var questions: [Question] = []
    /// The facts about interfaces are fetched once, after the answers.
    private var interfaces: [Known] = []
    /// The interfaces of the host, for paths.
    private var allLinks: Result<[Link], RoutingFault>?
    /// The name servers, for paths.
    private var allNameservers: [IPAddress]??

    init(_ facts: NetworkFacts) {
        self.facts = facts
        resolver = facts.resolver
        planner = QuestionPlanner(routing: facts.routing)
    }

    /// The number of targets.
    var count: Int { entries.count }
}

// MARK: - Plan

extension EvaluationRound {
    /// Adds a target; a name is resolved here.
    mutating func add(_ target: ReachabilityTarget, _ options: ReachabilityOptions, _ detail: QueryDetail) {
        let local = options.localAddress
        switch target.kind {
        case .address(let address):
            add(Candidate.candidates(for: address), from: local, options, detail)
        case .defaultPath:
            add(Candidate.candidates(for: .anyV4), from: local, options, detail)
        case .pair(let own, let remote):
            add(Candidate.candidates(for: remote), from: own, options, detail)
        case .host(let name):
            do {
                let result = try resolver.resolve(
                    name, families: options.families, timeout: options.resolutionTimeout)
                add(result, of: name, options, detail)
            } catch {
                let none = questions.count..<questions.count
                entries.append(
                    Entry(detail: detail, questions: none, failure: ReachabilityError(resolver: error)))
            }
        }
    }

    /// Adds the addresses of a name.
    ///
    /// A name without addresses is not a result yet where a connection has to be made first: the default path shows it.
    private mutating func add(
        _ resolution: HostResolution,
        of name: String,
        _ options: ReachabilityOptions,
        _ detail: QueryDetail
    ) {
        let reason: ReachabilityReason? =
            switch resolution {
            case .addresses: nil
            case .notFound: ReachabilityReason(.nameNotFound, name)
            case .failed(let message): ReachabilityReason(.nameNotResolved, name, other: message)
            case .timedOut: ReachabilityReason(.nameTimedOut, name)
            }
        let addresses = if case .addresses(let found) = resolution { found } else { [IPAddress.anyV4] }
        add(addresses.flatMap(Candidate.candidates), from: options.localAddress, options, detail, reason)
    }

    /// Adds candidates, of which the best counts.
    mutating func add(
        _ candidates: [Candidate],
        from local: IPAddress?,
        _ options: ReachabilityOptions,
        _ detail: QueryDetail,
        _ reason: ReachabilityReason? = nil
    ) {
        let first = questions.count
        for candidate in candidates where options.admits(candidate.destination, from: local) {
            questions.append(planner.plan(candidate, from: local, options, detail))
        }
        let isEmpty = questions.count == first
        entries.append(
            Entry(
                detail: detail,
                questions: first..<questions.count,
                reason: reason ?? (isEmpty ? options.nothingAdmitted(from: local) : nil)
            ))
    }

    /// Adds a question that is planned already.
    mutating func add(_ question: Question) {
        questions.append(question)
        entries.append(Entry(detail: question.detail, questions: questions.count - 1..<questions.count))
    }

    /// The question about the first candidate of a target; `nil` if it has none.
    func question(_ index: Int) -> Question? {
        entries[index].questions.first.map { questions[$0] }
    }

    /// The name servers, listed once a round; `nil` if none are known.
    mutating func nameservers() -> [IPAddress]? {
        if let allNameservers { return allNameservers }
        let found = facts.nameservers()
        allNameservers = .some(found)
        return found
    }

    /// The interfaces of the host, listed once a round.
    mutating func links() throws(RoutingFault) -> [Link] {
        if let allLinks { return try allLinks.get() }
        let links = Result { () throws(RoutingFault) in try facts.routing.links() }
        allLinks = links
        return try links.get()
    }
}

// MARK: - Ask and judge

extension EvaluationRound {
    /// Asks about all targets that were added.
    mutating func ask() {
        QuestionRound.ask(&questions, facts.routing)
        interfaces.removeAll(keepingCapacity: true)
    }

    /// What the answers about some targets depend on.
    func dependencies(of indices: Range<Int>) -> RouteDependencies {
        guard let first = indices.first, let last = indices.last else { return RouteDependencies() }
        let range = entries[first].questions.lowerBound..<entries[last].questions.upperBound
        guard range.count != 1 else { return questions[range.lowerBound].dependencies }
        return questions[range].reduce(into: RouteDependencies()) { $0.formUnion($1.dependencies) }
    }

    /// The evaluation of a target: each candidate alone, and the first of the highest rank gives the flags whole.
    ///
    /// A candidate whose question fails does not hide one that is reachable, and is not among ``Evaluation/all`` then.
    mutating func evaluation(_ index: Int) throws(ReachabilityError) -> Evaluation {
        let entry = entries[index]
        if let failure = entry.failure { throw failure }
        var best: Evaluation?
        var all: [Evaluation] = []
        var failure: ReachabilityError?
        for question in entry.questions {
            do {
                let next = try judge(question)
                if entry.detail == .full, all.last?.isSameDefaultPath(as: next) != true { all.append(next) }
                if best.map(next.replaces) ?? true { best = next }
                if entry.detail != .full, next.rank == 2 { break }
            } catch {
                failure = failure ?? error
            }
        }
        if let failure, best?.rank != 2 { throw failure }
        best?.all = all
        if let reason = entry.reason, best?.flags.contains(.connectionRequired) != true {
            return Evaluation(settled: reason)
        }
        return best ?? Evaluation([], .interfaceGone)
    }

    /// Judges the answer about a candidate.
    ///
    /// Where the interface went away between the answer and its facts, and the route with it, the question is asked
    /// again, once.
    private mutating func judge(_ index: Int) throws(ReachabilityError) -> Evaluation {
        let evaluation = try judgeOnce(questions[index])
        guard evaluation.kind == .interfaceGone else { return evaluation }
        var again = [questions[index]]
        again[0].state = .planned
        QuestionRound.ask(&again, facts.routing)
        questions[index] = again[0]
        interfaces.removeAll(keepingCapacity: true)
        return try judgeOnce(again[0])
    }

    private mutating func judgeOnce(_ question: Question) throws(ReachabilityError) -> Evaluation {
        let answer: RouteAnswer
        let query: RouteQuery
        switch question.state {
        case .answered(let given, let asked): (answer, query) = (given, asked)
        case .settled(let reason): return Evaluation(settled: reason, question.candidate)
        case .failed(let error): throw error
        case .planned: preconditionFailure("a question was not asked")
        }
        let bound = answer.bound(toInterface: query.outputInterface)
        var evaluation = try ReachabilityRules.evaluate(
            bound, of: question.candidate, isBound: question.boundInterface != nil
        ) { (index) throws(ReachabilityError) in
            try facts(aboutInterface: index, question.detail, bound)
        }
        if question.detail != .flags, evaluation.facts == nil, let nexthop = evaluation.nexthop {
            // The flags of an own address do not depend on its interface, but a report names it.
            evaluation.facts = try facts(aboutInterface: nexthop.interfaceIndex, question.detail, bound)
        }
        // `__mkroute_output` lets packets from 127.0.0.1 leave through the loopback interface alone (EINVAL).
        if evaluation.kind == .blackhole, query.leavesFromLoopback { evaluation.kind = .loopbackSource }
        evaluation.query = query
        evaluation.boundInterface = question.boundInterface
        if question.detail == .full, !evaluation.flags.isEmpty {
            evaluation.sourceAddress =
                if let source = query.source { source } else { try question.chosenSource }
        }
        return evaluation
    }

    /// The facts about an interface, those that came with an answer if there are any; `nil` when it is gone.
    mutating func facts(
        aboutInterface index: UInt32,
        _ detail: QueryDetail,
        _ answer: RouteAnswer? = nil
    ) throws(ReachabilityError) -> InterfaceFacts? {
        if case .taken(let match)? = answer, let facts = match.facts, facts.index == index,
            match.factsDetail != .flags || detail == .flags
        {
            return facts
        }
        if let known = interfaces.first(where: {
            $0.index == index && ($0.detail != .flags || detail == .flags)
        }) {
            return known.facts
        }
        do {
            let found = try facts.routing.facts(aboutInterface: index, detail: detail)
            interfaces.append(Known(index: index, detail: detail, facts: found))
            return found
        } catch {
            throw ReachabilityError(error)
        }
    }
}

extension Question {
    /// The source address that the kernel selects for the packet; `nil` when it is unknown.
    fileprivate var chosenSource: IPAddress? {
        get throws(ReachabilityError) {
            do {
                return try choice?.get().match?.source
            } catch {
                throw ReachabilityError(error)
            }
        }
    }
}

extension RouteQuery {
    /// Whether the packet has an IPv4 loopback source and another destination.
    fileprivate var leavesFromLoopback: Bool {
        destination.family == .v4 && !destination.isLoopback && source?.isLoopback == true
    }
}

extension ReachabilityOptions {
    /// Whether the options want an address of this family, and the local address can be its source.
    ///
    /// The kernel takes the bytes of an IPv4 address as an IPv6 source silently.
    fileprivate func admits(_ destination: IPAddress, from local: IPAddress?) -> Bool {
        admits(destination.family) && (local?.family ?? destination.family) == destination.family
    }

    /// Why no candidate is left to ask about.
    fileprivate func nothingAdmitted(from local: IPAddress?) -> ReachabilityReason {
        if let local, admits(local.family) {
            return ReachabilityReason(.excludedFamily, local.family.description, other: local.description)
        }
        let wanted: IPAddress.Family = families == .v6 ? .v6 : .v4
        return ReachabilityReason(.excludedFamily, wanted.description)
    }
}
