// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// What an answer depends on.
struct RouteDependencies: Sendable {
    /// The destinations of the queries.
    var addresses = SmallSet<IPAddress>()
    /// The shortest lifetime of a route among the answers, in ticks from now.
    var lifetime: Int32?
}
