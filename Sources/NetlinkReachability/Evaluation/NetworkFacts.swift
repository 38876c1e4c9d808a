// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// The sources of facts for evaluations: routing tables, addresses of names, and name servers.
///
/// The monitor of a ``NetworkSource`` holds and watches these facts.
package final class NetworkFacts: Sendable {
    /// Answers queries about routes and interfaces.
    package let routing: any RoutingSource
    /// Resolves names.
    package let resolver: any HostResolver
    /// Lists the name servers of the resolver.
    package let nameservers: Nameservers.Source
    /// Returns the policy that orders addresses.
    let addressPolicy: AddressPolicy.Source
    /// The clock for facts that have an age.
    let clock: any MonitorClock

    /// Creates the facts from their sources.
    package init(
        routing: any RoutingSource,
        resolver: any HostResolver,
        nameservers: @escaping Nameservers.Source,
        addressPolicy: @escaping AddressPolicy.Source,
        clock: (any MonitorClock)? = nil
    ) {
        self.routing = routing
        self.resolver = resolver
        self.nameservers = nameservers
        self.addressPolicy = addressPolicy
        self.clock = clock ?? SystemClock()
    }
}
