// SPDX-License-Identifier: Apache-2.0

/// Turns names into addresses.
package protocol HostResolver: Sendable {
    /// Resolves a name within a time.
    ///
    /// - Returns: What became of it; also a failure of the name is an answer.
    /// - Throws: A fault when the resolver could not be run at all.
    func resolve(
        _ name: String,
        families: ReachabilityOptions.Families,
        timeout: Duration
    ) throws(RoutingFault) -> HostResolution

    /// The same for a monitor, which may count it as under way: a resolver that hangs on purpose takes itself
    /// out meanwhile.
    func resolve(
        _ name: String,
        families: ReachabilityOptions.Families,
        timeout: Duration,
        countedBy work: InFlightCounter?
    ) throws(RoutingFault) -> HostResolution
}

extension HostResolver {
    /// Resolves a name, however long that takes.
    package func resolve(
        _ name: String,
        families: ReachabilityOptions.Families,
        timeout: Duration,
        countedBy work: InFlightCounter?
    ) throws(RoutingFault) -> HostResolution {
        try resolve(name, families: families, timeout: timeout)
    }
}

/// What became of a name.
package enum HostResolution: Hashable, Sendable {
    /// Its addresses in the resolver's order, at least one.
    case addresses([IPAddress])
    /// There is no such name, or it has no addresses of the families asked for.
    case notFound
    /// It cannot be told now: a server failed or could not be reached.
    case failed(String)
    /// The time was over first.
    case timedOut
}
