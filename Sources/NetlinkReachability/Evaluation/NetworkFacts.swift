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
