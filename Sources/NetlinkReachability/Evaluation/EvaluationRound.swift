// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// A round of evaluations: targets go in, are asked about together, and come out with flags and reasons.
///
/// Everything that asks does it so: a handle in a round of one; a burst of the monitor, a list of addresses, or a path
/// in a round of several. ``QuestionPlanner`` turns a target into questions, ``QuestionRound`` asks them, and
/// ``ReachabilityRules`` judge the answers.
struct EvaluationRound: ~Copyable {
    /// The most targets that share a round: more would take memory, and gain no time.
    static let limit = 256

    /// What is known of a target before it is asked about.
    private enum Exception {
        /// There is no candidate, or no address of a name, whose default path is asked about instead.
        case unreachable(ReachabilityReason)
        /// Nothing could be planned.
        case failed(ReachabilityError)
    }

    /// The number of targets.
    private(set) var count = 0
    /// What is known of the names of the targets that are added; `nil` to resolve them.
    var resolution: ResolvedName?
    private var planner: QuestionPlanner
    /// The questions about the candidates, target after target.
    private var questions: [Question] = []
    private var exceptions: [(target: Int, Exception)] = []
    /// The facts about interfaces: those that came with the answers, and those that were fetched since.
    private var interfaces: [InterfaceReading] = []
    /// The interfaces of the host, for paths.
    private var allLinks: Result<[Link], ReachabilityError>?
    /// The name servers, for paths.
    private var allNameservers: [IPAddress]??

    init(_ facts: NetworkFacts, _ resolution: ResolvedName? = nil) {
        self.resolution = resolution
        planner = QuestionPlanner(facts)
    }

    var facts: NetworkFacts { planner.facts }
}

// MARK: - Plan

extension EvaluationRound {
    /// Adds a target; a name is resolved here.
    mutating func add(_ target: ReachabilityTarget, _ options: ReachabilityOptions, _ detail: QueryDetail) {
        let local = options.localAddress
        switch target.kind {
        // The common case needs no list of candidates.
        case .address(let address)
        where !address.unmapped.isUnspecified && options.admits(address.unmapped, from: local):
            add(planner.plan(.address(address.unmapped), from: local, options, detail))
        case .address(let address):
            add(Candidate.candidates(for: address), from: local, options, detail)
        case .defaultPath:
            add(Candidate.candidates(for: .anyV4), from: local, options, detail)
        case .pair(let own, let remote):
            add(Candidate.candidates(for: remote), from: own, options, detail)
        case .host(let name):
            do {
                let result =
                    if let resolution { try resolution.get() } else {
                        try facts.resolver.resolve(
                            name, families: options.families, timeout: options.resolutionTimeout)
                    }
                add(result, of: name, options, detail)
            } catch {
                exceptions.append((count, .failed(error)))
                count += 1
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
        let addresses = if case .addresses(let found) = resolution { found } else { [IPAddress.anyV4] }
        add(
            addresses.flatMap(Candidate.candidates), from: options.localAddress, options, detail,
            resolution.failure(of: name))
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
            append(planner.plan(candidate, from: local, options, detail))
        }
        let isEmpty = questions.count == first
        if let known = reason ?? (isEmpty ? options.nothingAdmitted(from: local) : nil) {
            exceptions.append((count, .unreachable(known)))
        }
        count += 1
    }

    /// Adds a question that is planned already.
    mutating func add(_ question: Question) {
        append(question)
        count += 1
    }

    private mutating func append(_ question: Question) {
        question.target = count
        questions.append(question)
    }

    /// The indices of the questions about a target, which are sorted by target.
    private func indices(of target: Int) -> Range<Int> {
        let first = questions.partitioningIndex { $0.target >= target }
        var end = first
        while end < questions.count, questions[end].target == target { end += 1 }
        return first..<end
    }

    private func exception(_ target: Int) -> Exception? {
        exceptions.first { $0.target == target }?.1
    }

    /// The question about the first candidate of a target; `nil` if it has none.
    func question(_ index: Int) -> Question? {
        indices(of: index).first.map { questions[$0] }
    }

    /// The name servers, listed once a round; `nil` if none are known.
    mutating func nameservers() -> [IPAddress]? {
        if let allNameservers { return allNameservers }
        let found = facts.nameservers()
        allNameservers = .some(found)
        return found
    }

    /// The addresses of the host, listed once a round.
    mutating func addresses() throws(ReachabilityError) -> [InterfaceAddress] {
        try planner.addresses()
    }

    /// The interface that has an IPv4 address, where the local table shows it: ``QuestionPlanner/localInterface(of:)``.
    func localInterface(of address: IPAddress) -> UInt32? {
        planner.localInterface(of: address)
    }

    /// The interfaces of the host, listed once a round.
    mutating func links() throws(ReachabilityError) -> [Link] {
        if let allLinks { return try allLinks.get() }
        let links = Result { () throws(ReachabilityError) in try facts.routing.links() }
        allLinks = links
        return try links.get()
    }
}

// MARK: - Ask and judge

extension EvaluationRound {
    /// Asks about all targets that were added.
    mutating func ask() {
        let replies = QuestionRound.ask(questions, locals: planner.locals, facts)
        interfaces = replies.interfaces
        planner.take(replies.locals, questions)
    }

    /// What the answers about some targets depend on.
    func dependencies(of targets: Range<Int>) -> RouteDependencies {
        var dependencies = RouteDependencies()
        for target in targets {
            for question in questions[indices(of: target)] { question.note(in: &dependencies) }
        }
        return dependencies
    }

    /// The flags of a target.
    mutating func flags(_ index: Int) throws(ReachabilityError) -> ReachabilityFlags {
        try best(index)?.verdict.flags ?? []
    }

    /// The evaluation of a target.
    mutating func evaluation(_ index: Int) throws(ReachabilityError) -> Evaluation {
        guard let best = try best(index) else {
            guard case .unreachable(let reason)? = exception(index) else {
                return Evaluation(Verdict([], .interfaceGone))
            }
            return Evaluation(settled: reason)
        }
        let isFull = questions[best.question].detail == .full
        return try evaluation(of: best, all: isFull ? all(indices(of: index)) : [])
    }

    private typealias Judged = (question: Int, verdict: Verdict)

    /// Judges each candidate of a target alone: the first of the highest rank gives the flags whole.
    ///
    /// A candidate whose question fails does not hide one that is reachable.
    ///
    /// - Parameter index: The target.
    /// - Returns: The candidate that decides; `nil` where that was known before.
    /// - Throws: `ReachabilityError` if a question could not be answered, and no other candidate is reachable.
    private mutating func best(_ index: Int) throws(ReachabilityError) -> Judged? {
        let exception = exception(index)
        if case .failed(let error)? = exception { throw error }
        var best: Judged?
        var failure: ReachabilityError?
        for question in indices(of: index) {
            do {
                let next = try judge(question)
                if next.flags.rank == 2 { return exception == nil ? (question, next) : nil }
                if best.map({ next.replaces($0.verdict) }) ?? true { best = (question, next) }
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        // Rank 1: a connection has to be made first, and then the name can have addresses.
        return exception == nil || best?.verdict.flags.rank == 1 ? best : nil
    }

    /// The evaluations of all candidates but those whose question failed.
    private mutating func all(_ questions: Range<Int>) -> [Evaluation] {
        var all: [Evaluation] = []
        for question in questions {
            guard let verdict = try? judge(question), let next = try? evaluation(of: (question, verdict))
            else {
                continue
            }
            if all.last?.isSameDefaultPath(as: next) != true { all.append(next) }
        }
        return all
    }

    /// Judges the answer about a candidate.
    ///
    /// Where the interface went away between the answer and its facts, and the route with it, the question is asked
    /// again, once.
    private mutating func judge(_ index: Int) throws(ReachabilityError) -> Verdict {
        let verdict = try judgeOnce(questions[index])
        guard verdict.kind == .interfaceGone else { return verdict }
        (questions[index].state, questions[index].selectedSource) = (.planned, nil)
        questions[index].hasSeveralSources = false
        interfaces = QuestionRound.ask([questions[index]], facts).interfaces + interfaces
        return try judgeOnce(questions[index])
    }

    private mutating func judgeOnce(_ question: Question) throws(ReachabilityError) -> Verdict {
        switch question.state {
        case .answered(let answer):
            var verdict = try ReachabilityRules.judge(
                answer, of: question.candidate, isBound: question.query.outputInterface != 0
            ) { (index) throws(ReachabilityError) in
                try facts(aboutInterface: index, question.detail)
            }
            // `__mkroute_output` lets packets from 127.0.0.1 leave through the loopback interface alone (EINVAL).
            if verdict.kind == .blackhole, question.leavesFromLoopback { verdict.kind = .loopbackSource }
            return verdict
        case .settled(let reason): return Verdict([], reason.kind)
        case .failed(let error): throw error
        case .planned: preconditionFailure("a question was not asked")
        }
    }

    /// Describes a verdict with what it follows from.
    private mutating func evaluation(
        of judged: Judged,
        all: [Evaluation] = []
    ) throws(ReachabilityError) -> Evaluation {
        let question = questions[judged.question]
        guard case .answered(let answer) = question.state else {
            guard case .settled(let reason) = question.state else { return Evaluation(judged.verdict) }
            return Evaluation(settled: reason, question.candidate)
        }
        var verdict = judged.verdict
        if question.detail != .flags, verdict.facts == nil, let nexthop = verdict.nexthop {
            // The flags of an own address do not depend on its interface, but a report names it.
            verdict.facts = try facts(aboutInterface: nexthop.interfaceIndex, question.detail)
        }
        let hasSource = question.detail.hasSource && !verdict.flags.isEmpty
        let source = hasSource ? try question.sourceAddress : nil
        return Evaluation(verdict, question, answer, from: source, all: all)
    }

    /// The facts about an interface, those that came with the answers if there are any; `nil` when it is gone.
    mutating func facts(
        aboutInterface index: UInt32,
        _ detail: QueryDetail
    ) throws(ReachabilityError) -> InterfaceFacts? {
        for known in interfaces where known.facts.index == index && known.suffices(for: detail) {
            return known.facts
        }
        let found = try facts.routing.facts(aboutInterface: index, detail: detail)
        if let found { interfaces.append(InterfaceReading(found, detail)) }
        return found
    }
}

extension Question {
    /// The source address that the packet gets; `nil` when it is unknown.
    fileprivate var sourceAddress: IPAddress? {
        get throws(ReachabilityError) {
            if let source = query.source ?? (hasSeveralSources ? nil : selectedSource) { return source }
            return try packetSource.get()
        }
    }

    /// Whether the packet has an IPv4 loopback source and another destination.
    fileprivate var leavesFromLoopback: Bool {
        guard query.destination.family == .v4, let source = query.source ?? selectedSource else {
            return false
        }
        return source.isLoopback && !query.destination.isLoopback
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
