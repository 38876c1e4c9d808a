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
    private var round = QuestionRound()
    private var interfaces: RoundInterfaces
    private var exceptions: [(target: Int, Exception)] = []

    init(_ facts: NetworkFacts, _ resolution: ResolvedName? = nil) {
        self.resolution = resolution
        planner = QuestionPlanner(facts)
        interfaces = RoundInterfaces(facts)
    }

    var facts: NetworkFacts { planner.facts }
}

// MARK: - Plan

extension EvaluationRound {
    /// Adds a target; a name is resolved here.
    mutating func add(_ target: ReachabilityTarget, _ options: ReachabilityOptions, _ detail: QueryDetail) {
        let local = options.localAddress
        // The common case needs no list of candidates.
        if let address = target.address?.unmapped, !address.isUnspecified,
            options.admits(address, from: local)
        {
            return add(.address(address), from: local, options, detail)
        }
        switch target.kind {
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

    /// Adds a candidate that the options admit.
    ///
    /// - Parameters:
    ///   - candidate: The candidate.
    ///   - local: The local address that the socket is bound to; `nil` for none.
    ///   - options: The options of the socket.
    ///   - detail: How much to find out.
    ///   - isConnected: Whether the socket is connected.
    mutating func add(
        _ candidate: Candidate,
        from local: IPAddress?,
        _ options: ReachabilityOptions,
        _ detail: QueryDetail,
        isConnected: Bool = false
    ) {
        let question = Question(candidate, detail, of: count, isConnected: isConnected)
        planner.plan(question, from: local, options, in: &round)
        count += 1
    }

    /// Adds candidates, of which the best counts.
    mutating func add(
        _ candidates: [Candidate],
        from local: IPAddress?,
        _ options: ReachabilityOptions,
        _ detail: QueryDetail,
        _ reason: ReachabilityReason? = nil
    ) {
        let admitted = candidates.filter { options.admits($0.destination, from: local) }
        for candidate in admitted {
            planner.plan(Question(candidate, detail, of: count), from: local, options, in: &round)
        }
        if let known = reason ?? (admitted.isEmpty ? options.nothingAdmitted(from: local) : nil) {
            exceptions.append((count, .unreachable(known)))
        }
        count += 1
    }

    /// Adds the question about a candidate as a socket sees it that is bound to an interface.
    mutating func add(_ candidate: Candidate, _ query: RouteQuery, boundTo interface: String) {
        var question = Question(candidate, .full, of: count)
        question.binding = Box(SocketBinding(interface: interface))
        round.add(question, query)
        count += 1
    }

    /// The indices of the questions about a target, which are sorted by target.
    private func indices(of target: Int) -> Range<Int> {
        let first = round.questions.partitioningIndex { $0.target >= target }
        var end = first
        while end < round.questions.count, round.questions[end].target == target { end += 1 }
        return first..<end
    }

    private func exception(_ target: Int) -> Exception? {
        exceptions.first { $0.target == target }?.1
    }

    /// The question about the first candidate of a target; `nil` if it has none.
    func question(_ index: Int) -> Question? {
        indices(of: index).first.map { round.questions[$0] }
    }

    /// What the round knows about the host.
    var host: HostListing {
        mutating get { planner.host }
    }

    /// The VRF that an interface is, or belongs to; `nil` for none.
    func vrf(ofInterface index: UInt32) throws(ReachabilityError) -> UInt32? {
        try planner.vrf(ofInterface: index)
    }
}

// MARK: - Ask and judge

extension EvaluationRound {
    /// Asks about all targets that were added.
    mutating func ask() {
        round.ask(&interfaces)
        planner.check(&round)
    }

    /// What the answers about some targets depend on.
    func dependencies(of targets: Range<Int>) -> RouteDependencies {
        var dependencies = RouteDependencies()
        for target in targets {
            for index in indices(of: target) { round.questions[index].note(in: &dependencies) }
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
        let isFull = round.questions[best.question].detail == .full
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
            do throws(ReachabilityError) {
                let next = try judge(question)
                guard best.map({ next.replaces($0.verdict) }) ?? true else { continue }
                best = (question, next)
                if next.flags.rank == 2 { return exception == nil ? best : nil }
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
        let verdict = try judgeOnce(index)
        guard verdict.kind == .interfaceGone else { return verdict }
        round.askAgain(index, &interfaces)
        return try judgeOnce(index)
    }

    private mutating func judgeOnce(_ index: Int) throws(ReachabilityError) -> Verdict {
        switch round.questions[index].state {
        case .answered: break
        case .settled(let reason): return Verdict([], reason.kind)
        case .failed(let error): throw error
        case .open: preconditionFailure("a question was not asked")
        }
        return try EvaluationRound.judge(
            &round.lookups[round.questions[index].answered], of: round.questions[index].candidate,
            round.questions[index].detail, &interfaces)
    }

    /// Judges an answer, where it is: a copy of it takes longer than the rules.
    private static func judge(
        _ lookup: inout RouteLookup,
        of candidate: Candidate,
        _ detail: QueryDetail,
        _ interfaces: inout RoundInterfaces
    ) throws(ReachabilityError) -> Verdict {
        let isBound = lookup.query.outputInterface != 0
        var verdict = try ReachabilityRules.judge(try lookup.result.get(), of: candidate, isBound: isBound) {
            (index) throws(ReachabilityError) in
            try interfaces.traits(ofInterface: index, detail)
        }
        // `__mkroute_output` lets packets from 127.0.0.1 leave through the loopback interface alone (EINVAL).
        if verdict.kind == .blackhole, lookup.query.leavesFromLoopback { verdict.kind = .loopbackSource }
        return verdict
    }

    /// Describes a verdict with what it follows from.
    private mutating func evaluation(
        of judged: Judged,
        all: [Evaluation] = []
    ) throws(ReachabilityError) -> Evaluation {
        let question = round.questions[judged.question]
        if case .settled(let reason) = question.state {
            return Evaluation(settled: reason, question.candidate)
        }
        let hasSource = question.detail.hasSource && !judged.verdict.flags.isEmpty
        let basis = Evaluation.Basis(
            candidate: question.candidate,
            query: round.answeredQuery(of: judged.question),
            boundInterface: question.boundInterface,
            answer: try round.lookups[question.answered].result.get(),
            sourceAddress: hasSource ? try round.sourceAddress(of: judged.question) : nil,
            all: all
        )
        guard let nexthop = judged.verdict.nexthop else { return Evaluation(judged.verdict, nil, basis) }
        let facts = try facts(aboutInterface: nexthop.interfaceIndex, question.detail)
        return Evaluation(judged.verdict, facts, basis)
    }

    /// The interface that the local table has the local IPv4 address of a target for.
    ///
    /// `nil` also for a route that a program added: such a route does not show which interface has the address.
    func localInterface(of target: Int) -> UInt32? {
        guard let question = indices(of: target).first,
            case .success(.taken(let match))? = round.localResult(of: question), match.type == .local,
            !match.dependsOnSource
        else { return nil }
        return match.nexthop?.interfaceIndex
    }

    /// The facts about an interface, those that came with the answers if there are any; `nil` when it is gone.
    mutating func facts(
        aboutInterface index: UInt32,
        _ detail: QueryDetail
    ) throws(ReachabilityError) -> InterfaceFacts? {
        try interfaces.facts(aboutInterface: index, detail)
    }
}

extension RouteQuery {
    /// Whether the packet has an IPv4 loopback source and another destination.
    fileprivate var leavesFromLoopback: Bool {
        guard destination.family == .v4, let source else { return false }
        return source.isLoopback && !destination.isLoopback
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
