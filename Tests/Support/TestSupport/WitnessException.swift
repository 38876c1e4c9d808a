// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// The cases in which the flags say "not reachable" on purpose although a socket connects: `docs/flag-rules.md`.
///
/// There is no exception in the other direction: where the flags say "reachable", a socket must connect.
package enum WitnessException: String, Hashable, Sendable, CaseIterable {
    /// Every nexthop leads out of an interface that is down or has no carrier.
    case deadLink
    /// An IPv4 unicast destination of a bound socket that no route matches: the kernel looks for it by ARP.
    case boundWithoutRoute
    /// A loopback destination of a socket bound to another interface: its packets never arrive.
    case loopbackElsewhere

    /// Finds the exception that a negative answer falls under.
    ///
    /// - Parameters:
    ///   - query: The question.
    ///   - reason: The code of the answer's reason.
    package init?(_ query: RouteQuery, reason: String) {
        let destination = query.destination.unmapped
        switch reason {
        case "interfaceDown", "noCarrier", "lowerInterfaceDown", "lowerNoCarrier":
            self = .deadLink
        case _ where destination.isLoopback && query.outputInterface != 0:
            self = .loopbackElsewhere
        case "noRouteOutOfInterface" where destination.family == .v4 && !destination.isMulticast:
            self = .boundWithoutRoute
        default:
            return nil
        }
    }
}
