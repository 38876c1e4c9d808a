// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// Many targets at once: their plain questions go to the kernel together, each for about two thirds of a question alone.

/// What was found out about a target.
///
/// A `Result` would need its metadata made at run time, which takes longer than the first question.
package enum ReportOutcome: Hashable, Sendable {
    /// A report.
    case report(ReachabilityReport)
    /// Why there is none.
    case failure(ReachabilityError)

    package init(_ result: Result<ReachabilityReport, ReachabilityError>) {
        switch result {
        case .success(let report): self = .report(report)
        case .failure(let error): self = .failure(error)
        }
    }
}

extension TargetEvaluator {
    /// Returns the flags of addresses, in their order.
    func flags(of addresses: [IPAddress]) throws(ReachabilityError) -> [ReachabilityFlags] {
        var flags: [ReachabilityFlags] = []
        flags.reserveCapacity(addresses.count)
        var run = PlainRun(limit: facts.routing.plainAnswerLimit)
        for address in addresses {
            if options.isPlain, address.plainDestination != nil {
                run.add(address, at: flags.count)
                flags.append([])
                if run.isFull { try ask(&run, &flags) }
            } else {
                flags.append(try evaluate(.address(address), detail: .flags).flags)
            }
        }
        try ask(&run, &flags)
        return flags
    }

    private func ask(_ run: inout PlainRun, _ flags: inout [ReachabilityFlags]) throws(ReachabilityError) {
        var unanswered: [Int] = []
        try ask(run, detail: nil) { index, answer, _ in
            if let answer {
                flags[run.places[index]] = ReachabilityRules.flags(answer, of: run.destinations[index])
            } else {
                unanswered.append(index)
            }
        }
        for index in unanswered {
            let destination = run.destinations[index]
            flags[run.places[index]] = try evaluate(.address(destination), detail: .flags).flags
        }
        run.removeAll()
    }

    /// Makes reports on targets, and passes them to the body in the order of the targets.
    func reports(
        on targets: [ReachabilityTarget],
        _ detail: EvaluationDetail,
        _ body: (ReportOutcome) -> Void
    ) {
        // One target alone gains nothing, and often finds nothing cached.
        guard options.isPlain, detail != .full, targets.count > 1 else {
            for target in targets { body(outcome(of: target, detail)) }
            return
        }
        var run = PlainRun(limit: facts.routing.plainAnswerLimit)
        for (place, target) in targets.enumerated() {
            if case .address(let address) = target.kind, address.plainDestination != nil {
                run.add(address, at: place)
                if run.isFull { report(&run, targets, detail, body) }
            } else {
                report(&run, targets, detail, body)
                body(outcome(of: target, detail))
            }
        }
        report(&run, targets, detail, body)
    }

    private func outcome(
        of target: ReachabilityTarget,
        _ detail: EvaluationDetail
    ) -> ReportOutcome {
        do {
            return .report(try report(on: target, detail))
        } catch {
            return .failure(error)
        }
    }

    /// Makes reports on the addresses of a run.
    ///
    /// One without a plain answer is asked about alone, once the socket has no more answers; the reports after it wait.
    private func report(
        _ run: inout PlainRun,
        _ targets: [ReachabilityTarget],
        _ detail: EvaluationDetail,
        _ body: (ReportOutcome) -> Void
    ) {
        var passed = 0
        var waiting: [ReportOutcome?] = []
        // A failure shows again when what is left is asked about alone.
        try? ask(run, detail: detail.interface) { index, answer, facts in
            let outcome = answer.map { answer in
                let evaluation = ReachabilityRules.evaluate(answer, facts, of: run.destinations[index])
                return ReportOutcome.report(
                    ReachabilityReport(targets[run.places[index]], evaluation))
            }
            if let outcome, index == passed {
                body(outcome)
                passed += 1
            } else {
                waiting.append(outcome)
            }
        }
        for (index, place) in run.places.enumerated().dropFirst(passed) {
            let known = index - passed < waiting.count ? waiting[index - passed] : nil
            body(known ?? outcome(of: targets[place], detail))
        }
        run.removeAll()
    }

    /// Asks plain questions, and passes each answer to the body, in order; `nil` where it has to be asked alone.
    private func ask(
        _ run: PlainRun,
        detail: InterfaceDetail?,
        _ body: (Int, PlainAnswer?, Box<InterfaceFacts>?) -> Void
    ) throws(ReachabilityError) {
        guard !run.destinations.isEmpty else { return }
        var next = 0
        try ask { () throws(RoutingFault) in
            try facts.routing.plainAnswers(about: run.destinations, detail: detail) { answer, facts in
                body(next, answer, facts)
                next += 1
            }
        }
    }
}

/// Plain questions that are asked together, each with the place of its answer.
private struct PlainRun {
    private(set) var destinations: [IPAddress] = []
    private(set) var places: [Int] = []

    let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    var isFull: Bool { destinations.count == limit }

    /// Adds an address that has a plain destination.
    ///
    /// Copies the stored value; rebuilding it first causes a store-forwarding stall.
    mutating func add(_ address: IPAddress, at place: Int) {
        destinations.append(address)
        if address.isIPv4Mapped { destinations[destinations.count - 1] = address.unmapped }
        places.append(place)
    }

    mutating func removeAll() {
        destinations.removeAll(keepingCapacity: true)
        places.removeAll(keepingCapacity: true)
    }
}
