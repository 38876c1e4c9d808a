// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// Where evaluations get their facts: routing tables, addresses of names, and name servers.
///
/// The monitor of a ``NetworkSource`` holds and watches these facts.
package struct NetworkFacts: Sendable {
    /// Answers questions about routes and interfaces.
    package var routing: any RoutingSource
    /// Resolves names.
    package var resolver: any HostResolver
    /// Lists the name servers that the resolver asks.
    package var nameservers: Nameservers.Source
}

extension NetworkFacts {
    /// Finds the flags of one target, in a round of its own.
    func flags(
        of target: ReachabilityTarget,
        _ options: ReachabilityOptions
    ) throws(ReachabilityError) -> ReachabilityFlags {
        var round = EvaluationRound(self)
        round.add(target, options, .flags)
        round.ask()
        return try round.flags(0)
    }

    /// Makes the report on one target, in a round of its own.
    func report(
        on target: ReachabilityTarget,
        _ options: ReachabilityOptions,
        _ detail: ReachabilityReport.Detail
    ) throws(ReachabilityError) -> ReachabilityReport {
        var round = EvaluationRound(self)
        round.add(target, options, detail.evaluation)
        round.ask()
        return try round.report(0, on: target, options)
    }
}
