// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// What an answer depends on.
struct RouteDependencies: Hashable, Sendable {
    /// The addresses that the kernel was asked about.
    var addresses = SmallSet<IPAddress>()
    /// The shortest lifetime of a route among the answers, in ticks from now.
    var lifetime: Int32?

    /// Adds the lifetime of a route.
    mutating func note(lifetime other: Int32?) {
        if let other { lifetime = min(lifetime ?? other, other) }
    }
}
