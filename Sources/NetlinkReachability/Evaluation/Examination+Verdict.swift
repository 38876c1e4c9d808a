// SPDX-License-Identifier: Apache-2.0

extension Examination {
    /// An address and the verdict over it.
    struct Examined: Hashable, Sendable {
        var subject: Subject
        var judgement: Judgement
    }

    /// The verdict over a target.
    struct Verdict: Sendable {
        /// The one that counts; `nil` when there was no address to ask about.
        var subject: Subject?
        var judgement: Judgement
        /// Everything that was looked at, in order.
        var examined: [Examined]
    }

    /// Judges every address of a target, and says why.
    func verdict(on target: ReachabilityTarget) throws(ReachabilityError) -> Verdict {
        switch try subjects(of: target) {
        case .these(let subjects, let local):
            return try verdict(on: subjects, from: local)
        case .unresolved(let reason):
            // Where a connection has to be made first, the resolver's silence says nothing about the name.
            if case .these(let probes, let local) = defaultPath {
                let path = try verdict(on: probes, from: local)
                if path.judgement.flags.contains(.connectionRequired) { return path }
            }
            return Verdict(subject: nil, judgement: Judgement([], reason), examined: [])
        }
    }

    /// Judges each address alone; the first with the highest rank gives the verdict whole.
    ///
    /// An address that cannot be asked about does not hide one that can be reached, and is not among the
    /// findings then.
    private func verdict(on subjects: [Subject], from local: IPAddress?) throws(ReachabilityError) -> Verdict
    {
        var examined: [Examined] = []
        var trouble: ReachabilityError?
        for subject in subjects {
            do {
                let judgement = try judgement(on: subject, from: local)
                examined.append(Examined(subject: subject, judgement: judgement))
            } catch {
                trouble = trouble ?? error
            }
        }
        if let trouble, !examined.contains(where: { $0.judgement.flags.rank == 2 }) { throw trouble }
        guard var best = examined.first else {
            return Verdict(subject: nil, judgement: Judgement([], nothingAdmitted(from: local)), examined: [])
        }
        for next in examined where next.judgement.flags.rank > best.judgement.flags.rank {
            best = next
        }
        return Verdict(subject: best.subject, judgement: best.judgement, examined: examined)
    }

    /// Judges one address.
    func judgement(on subject: Subject, from local: IPAddress?) throws(ReachabilityError) -> Judgement {
        switch try step(for: subject, from: local) {
        case .settled(let reason):
            return Judgement([], reason)
        case .ask(let query, let boundInterface):
            var judgement = try judge(query, subject, boundInterface)
            // The interface went away between the two questions: the route has too, so ask once more.
            if judgement.reason.kind == .interfaceGone {
                judgement = try judge(query, subject, boundInterface)
            }
            return judgement
        }
    }

    /// Judges the answer to one question.
    func judge(
        _ query: RouteQuery,
        _ subject: Subject,
        _ boundInterface: String?
    ) throws(ReachabilityError) -> Judgement {
        try ask { () throws(RoutingFault) in
            let lookup = try source.routing.lookUp(query, detail: .entry)
                .bound(toInterface: query.outputInterface)
            return try ReachabilityRules.judge(lookup, subject: subject, boundInterface: boundInterface) {
                (index) throws(RoutingFault) in
                try source.routing.facts(aboutInterface: index, detail: .report)
            }
        }
    }

    /// The source address that the kernel chooses for a packet that the verdict is about; `nil` when it does
    /// not say.
    func sourceAddress(_ verdict: Verdict, from target: ReachabilityTarget) throws(ReachabilityError)
        -> IPAddress?
    {
        guard !verdict.judgement.flags.isEmpty, let subject = verdict.subject else { return nil }
        var local = options.source
        if case .pair(let own, _) = target.kind { local = own }
        guard case .ask(let query, _) = try step(for: subject, from: local) else { return nil }
        if let source = query.source { return source }
        guard
            let choice = try ask({ () throws(RoutingFault) in
                try source.routing.lookUp(query, detail: .choice)
            }).route
        else { return nil }
        return choice.preferredSource
    }
}
