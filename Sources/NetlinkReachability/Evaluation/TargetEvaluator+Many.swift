// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// Many targets at once: their plain questions go to the kernel together, each for about two thirds of a question alone.

extension TargetEvaluator {
    /// Returns the flags of addresses, in their order.
    func flags(of addresses: some Sequence<IPAddress>) throws(ReachabilityError) -> [ReachabilityFlags] {
        var flags: [ReachabilityFlags] = []
        flags.reserveCapacity(addresses.underestimatedCount)
        var run = PlainRun()
        for address in addresses {
            if options.isPlain, let destination = address.plainDestination {
                run.add(destination, at: flags.count)
                flags.append([])
                if run.isFull { try ask(&run, &flags) }
            } else {
                flags.append(try self.flags(of: .address(address)))
            }
        }
        try ask(&run, &flags)
        return flags
    }

    private func ask(_ run: inout PlainRun, _ flags: inout [ReachabilityFlags]) throws(ReachabilityError) {
        let unanswered = try ask(run, detail: .flags) { place, destination, answer in
            flags[place] = ReachabilityRules.flags(answer, of: destination)
        }
        for (place, destination) in unanswered {
            flags[place] = try evaluate(.address(destination), detail: .flags).flags
        }
        run.removeAll()
    }

    /// Makes brief reports on targets, in their order.
    func briefReports(
        on targets: [ReachabilityTarget]
    ) -> [Result<ReachabilityReport, ReachabilityError>] {
        var reports: [Result<ReachabilityReport, ReachabilityError>?] = Array(
            repeating: nil, count: targets.count)
        var run = PlainRun()
        func askRun() {
            // What stays without an answer is asked alone below, and has the error.
            _ = try? ask(run, detail: .report) { place, destination, answer in
                let evaluation = ReachabilityRules.evaluate(answer, of: destination)
                reports[place] = .success(
                    ReachabilityReport(targets[place], evaluation, sourceAddress: nil))
            }
            run.removeAll()
        }
        // One target alone gains nothing, and often finds nothing cached.
        for (place, target) in targets.enumerated() where options.isPlain && targets.count > 1 {
            guard case .address(let address) = target.kind, let destination = address.plainDestination else {
                continue
            }
            run.add(destination, at: place)
            if run.isFull { askRun() }
        }
        askRun()
        return zip(targets, reports).map { target, report in
            report ?? Result { () throws(ReachabilityError) in try self.report(on: target, .brief) }
        }
    }

    /// Asks plain questions; returns those without an answer, which have to be asked alone.
    private func ask(
        _ run: PlainRun,
        detail: InterfaceDetail,
        _ body: (Int, IPAddress, PlainAnswer) -> Void
    ) throws(ReachabilityError) -> [(place: Int, destination: IPAddress)] {
        guard !run.destinations.isEmpty else { return [] }
        var unanswered: [(Int, IPAddress)] = []
        var next = 0
        try ask { () throws(RoutingFault) in
            try facts.routing.plainAnswers(about: run.destinations, detail: detail) { answer in
                let (place, destination) = (run.places[next], run.destinations[next])
                next += 1
                if let answer {
                    body(place, destination, answer)
                } else {
                    unanswered.append((place, destination))
                }
            }
        }
        return unanswered
    }
}

/// Plain questions that are asked together, each with the place of its answer.
private struct PlainRun {
    private(set) var destinations: [IPAddress] = []
    private(set) var places: [Int] = []

    var isFull: Bool { destinations.count == plainQuestionLimit }

    mutating func add(_ destination: IPAddress, at place: Int) {
        destinations.append(destination)
        places.append(place)
    }

    mutating func removeAll() {
        destinations.removeAll(keepingCapacity: true)
        places.removeAll(keepingCapacity: true)
    }
}
