// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// Where evaluations get their facts: routing tables, addresses of names, and name servers.
///
/// The monitor of a ``NetworkSource`` holds and watches these facts.
package final class NetworkFacts: Sendable {
    /// Answers questions about routes and interfaces.
    package let routing: any RoutingSource
    /// Resolves names.
    package let resolver: any HostResolver
    /// Lists the name servers that the resolver asks.
    package let nameservers: Nameservers.Source
    /// Returns the policy that orders addresses.
    package let addressPolicy: AddressPolicy.Source

    /// Collects the sources.
    package init(
        routing: any RoutingSource,
        resolver: any HostResolver,
        nameservers: @escaping Nameservers.Source,
        addressPolicy: @escaping AddressPolicy.Source
    ) {
        self.routing = routing
        self.resolver = resolver
        self.nameservers = nameservers
        self.addressPolicy = addressPolicy
    }
}

extension NetworkFacts {
    /// Finds the flags of one target, in a round of its own.
    ///
    /// - Parameters:
    ///   - target: The target.
    ///   - options: The socket.
    ///   - resolution: What is known of the name of the target; `nil` to resolve it.
    /// - Returns: The flags.
    /// - Throws: `ReachabilityError` if the question could not be answered.
    func flags(
        of target: ReachabilityTarget,
        _ options: ReachabilityOptions,
        _ resolution: ResolvedName? = nil
    ) throws(ReachabilityError) -> ReachabilityFlags {
        var round = EvaluationRound(self, resolution)
        round.add(target, options, .flags)
        round.ask()
        return try round.flags(0)
    }

    /// Makes the report on one target, in a round of its own, as `flags` does.
    func report(
        on target: ReachabilityTarget,
        _ options: ReachabilityOptions,
        _ detail: ReachabilityReport.Detail,
        _ resolution: ResolvedName? = nil
    ) throws(ReachabilityError) -> ReachabilityReport {
        var round = EvaluationRound(self, resolution)
        round.add(target, options, detail.evaluation)
        round.ask()
        return try round.report(0, on: target, options)
    }
}
