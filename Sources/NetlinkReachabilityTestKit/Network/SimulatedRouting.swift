// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel
internal import SystemSupport

/// The routing source of a simulated network: answers each query from the current tables.
struct SimulatedRouting: RoutingSource {
    let state: Locked<SimulatedNetwork.State>
    let clock: ManualClock

    func answer<Answer>(_ query: HostQuery<Answer>) throws(ReachabilityError) -> Answer {
        if case .answerRecord(let give) = query {
            return give(state.withLock { $0.answers(at: clock.now) })
        }
        return try tables().answer(query)
    }

    private func tables() throws(ReachabilityError) -> any RoutingSource {
        try state.withLock { (state) throws(ReachabilityError) in try state.tables(at: clock.now) }
    }

    func answer(
        _ lookups: inout [RouteLookup],
        from first: Int
    ) throws(ReachabilityError) -> [InterfaceReading] {
        let tables = try tables()
        let facts = try tables.answer(&lookups, from: first)
        for index in first..<lookups.count where lookups[index].query.selectsNexthop {
            let lookup = lookups[index]
            guard let answer = try? lookup.result.get(), let match = answer.match, match.source == nil else {
                continue
            }
            lookups[index].result = Result { () throws(ReachabilityError) in
                let selected =
                    if let source = lookup.query.source { [source] } else {
                        try tables.sourceAddresses(for: lookup.query, after: answer)
                    }
                return answer.with { $0.source = selected.first }
            }
        }
        return facts
    }
}

extension SimulatedFailures.Failure {
    /// The error of a request that fails with this errno.
    func error(_ operation: String) -> ReachabilityError {
        ReachabilityError(operation: operation, number: rawValue)
    }
}
