// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import RoutingModel

/// The routing source of a simulated network: answers each question from the current tables.
struct SimulatedRouting: ForwardingSource {
    /// Returns the tables; throws when questions fail.
    let tables: @Sendable () throws(ReachabilityError) -> any RoutingSource

    var base: any RoutingSource {
        get throws(ReachabilityError) { try tables() }
    }

    func answers(to queries: [RouteQuery]) throws(ReachabilityError) -> RoutingAnswers {
        let tables = try tables()
        var answers = try tables.answers(to: queries)
        for (index, query) in queries.enumerated() where query.selectsNexthop {
            guard let answer = try? answers.results[index].get(), let match = answer.match,
                match.source == nil
            else {
                continue
            }
            answers.results[index] = Result { () throws(ReachabilityError) in
                let selected =
                    if let source = query.source { [source] } else {
                        try tables.sourceAddresses(for: query, after: answer)
                    }
                return answer.with { $0.source = selected.first }
            }
        }
        return answers
    }
}

extension SimulatedFailures.Failure {
    /// The error of a request that fails so.
    func fault(_ operation: String) -> ReachabilityError {
        ReachabilityError(operation: operation, number: rawValue)
    }
}
