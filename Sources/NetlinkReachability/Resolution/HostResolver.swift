// SPDX-License-Identifier: Apache-2.0

/// Turns names into addresses.
package protocol HostResolver: Sendable {
    /// Resolves a name within a time.
    ///
    /// - Returns: The resolution; a name that fails to resolve is one too.
    /// - Throws: A fault when the resolver cannot run, which says nothing about the name.
    func resolve(
        _ name: String,
        families: ReachabilityOptions.Families,
        timeout: Duration
    ) throws(RoutingFault) -> HostResolution

    /// Resolves a name for a monitor that counts calls in flight.
    ///
    /// A simulated resolver that hangs on purpose stops counting meanwhile.
    func resolve(
        _ name: String,
        families: ReachabilityOptions.Families,
        timeout: Duration,
        countedBy work: InFlightCounter?
    ) throws(RoutingFault) -> HostResolution
}

extension HostResolver {
    /// Resolves a name without counting.
    package func resolve(
        _ name: String,
        families: ReachabilityOptions.Families,
        timeout: Duration,
        countedBy work: InFlightCounter?
    ) throws(RoutingFault) -> HostResolution {
        try resolve(name, families: families, timeout: timeout)
    }
}

/// The resolution of a name.
package enum HostResolution: Hashable, Sendable {
    /// The addresses in the resolver's order, at least one.
    case addresses([IPAddress])
    /// The name does not exist, or has no address of the families asked for.
    case notFound
    /// A temporary failure: a server failed or could not be reached.
    case failed(String)
    /// The timeout came first.
    case timedOut
}
